"""Cores of microcontrollers, RISC-V and virtual machines, most of them without vectors.

Their `vector_bytes` is that of one number, so that kernels have one lane. Memory without wait
states stands in the tables as a first cache that has no sets, and none behind it.
"""

from glow.lowering.target.core import Figure, barrier, like, make_core

KIB, MIB = 1024, 1024**2

M3 = "Arm Cortex-M3 Technical Reference Manual (100165)"
M4 = "Arm Cortex-M4 Technical Reference Manual (100166)"
M0PLUS = "Arm Cortex-M0+ Technical Reference Manual (DDI0484)"
M7 = "Arm Cortex-M7 Technical Reference Manual (DDI0489)"
M33 = "Arm Cortex-M33 Technical Reference Manual (100230)"
M55 = "Arm Cortex-M55 Technical Reference Manual (101051)"
M7_MODEL = "LLVM ARMScheduleM7.td"
M55_MODEL = "LLVM ARMScheduleM55.td"
U74 = "LLVM RISCVSchedSiFive7.td"

ISA = "the instruction set"
SCALAR = "the instruction set: no vectors"
SRAM = "estimated: memory on the chip, as near as a cache"
NO_SETS = "estimated: memory has no sets"
NO_CACHE = "the instruction set: no caches of that level"
ONE_CORE = "estimated: one core, so that nothing reads it"
PART = "estimated: a common part's clock"

CORTEX_M4 = make_core(
    "cortex-m4",
    "Arm Cortex-M4",
    (),
    clock_hertz=Figure(168e6, PART),
    vector_bytes=Figure(4, SCALAR),
    vector_registers=Figure(
        12, "the instruction set: r0 to r12 without what addresses take"
    ),
    fma_pipes=Figure(1, f"{M4}, VFMA"),
    fma_pipe_bytes=Figure(4, f"{M4}, single precision"),
    fma_latency=Figure(3, f"{M4}, VFMA: 3 cycles"),
    load_pipes=Figure(1, f"{M4}, LDR: pipelined"),
    load_pipe_bytes=Figure(4, f"{M4}, a bus of 32 bits"),
    store_pipes=Figure(1, f"{M4}, STR"),
    store_pipe_bytes=Figure(4, f"{M4}, a bus of 32 bits"),
    int8_speedup=Figure(2, f"{M4}, SMLAD: two products a cycle"),
    bf16_speedup=Figure(1, "the instruction set: no such products"),
    tile_row_cycles=Figure(1, "the instruction set: no such products"),
    mispredict_cycles=Figure(3, f"{M4}, pipeline refill: 1 to 3"),
    pause_cycles=Figure(1, ONE_CORE),
    l1_bytes=Figure(64 * KIB, SRAM),
    l1_ways=Figure(64, NO_SETS),
    l2_bytes=Figure(128 * KIB, SRAM),
    l3_bytes=Figure(0, NO_CACHE),
    l3_cores=Figure(0, NO_CACHE),
    l2_bytes_per_cycle=Figure(4, f"{M4}, a bus of 32 bits"),
    l3_bytes_per_cycle=Figure(4, f"{M4}, a bus of 32 bits"),
    hidden_l3_reads=Figure(0, NO_CACHE),
    memory_bytes_per_cycle=Figure(2, "estimated: flash with wait states"),
    contended_l3_bytes_per_cycle=Figure(4, ONE_CORE),
    contended_memory_bytes_per_cycle=Figure(2, ONE_CORE),
    shared_l3_latency=Figure(2, ONE_CORE),
    split_l3_latency=Figure(2, ONE_CORE),
    barrier_cycles=barrier(2),
)

CORTEX_M3 = like(
    CORTEX_M4,
    "cortex-m3",
    "Arm Cortex-M3",
    (),
    clock_hertz=Figure(72e6, PART),
    fma_latency=Figure(40, "estimated: functions of the compiler's runtime"),
    int8_speedup=Figure(20, f"{M3}, MLA: 2 cycles"),
)

CORTEX_M0PLUS = like(
    CORTEX_M3,
    "cortex-m0plus",
    "Arm Cortex-M0+",
    (),
    clock_hertz=Figure(48e6, PART),
    vector_registers=Figure(6, f"{M0PLUS}: r0 to r7 without what addresses take"),
    load_pipe_bytes=Figure(4, f"{M0PLUS}, LDR: 2 cycles"),
    mispredict_cycles=Figure(2, f"{M0PLUS}, a pipeline of two stages"),
    l1_bytes=Figure(16 * KIB, SRAM),
    l2_bytes=Figure(32 * KIB, SRAM),
)

CORTEX_M33 = like(
    CORTEX_M4,
    "cortex-m33",
    "Arm Cortex-M33",
    (),
    clock_hertz=Figure(150e6, PART),
    fma_latency=Figure(3, f"{M33}, FPU of single precision"),
)

CORTEX_M7 = like(
    CORTEX_M4,
    "cortex-m7",
    "Arm Cortex-M7",
    (),
    clock_hertz=Figure(480e6, PART),
    fma_latency=Figure(3, f"{M7_MODEL}, VFMA"),
    load_pipes=Figure(2, f"{M7_MODEL}, M7UnitLoad"),
    mispredict_cycles=Figure(7, f"{M7_MODEL}, MispredictPenalty"),
    l1_bytes=Figure(16 * KIB, f"{M7}, caches of 4 to 64 KiB"),
    l1_ways=Figure(4, f"{M7}, the data cache: 4-way"),
    l2_bytes=Figure(256 * KIB, SRAM),
)

CORTEX_M55 = like(
    CORTEX_M7,
    "cortex-m55",
    "Arm Cortex-M55, with Helium",
    (),
    clock_hertz=Figure(160e6, PART),
    vector_bytes=Figure(16, "the instruction set: Q0 to Q7"),
    vector_registers=Figure(8, "the instruction set: Q0 to Q7"),
    fma_pipe_bytes=Figure(8, f"{M55}: two beats of 32 bits a cycle"),
    fma_latency=Figure(4, f"{M55_MODEL}, VFMA"),
    load_pipes=Figure(1, f"{M55_MODEL}, M55UnitLoadStore"),
    load_pipe_bytes=Figure(8, f"{M55}: two beats of 32 bits a cycle"),
    store_pipe_bytes=Figure(8, f"{M55}: two beats of 32 bits a cycle"),
    int8_speedup=Figure(4, f"{M55}, VMLADAV: 16 products in two cycles"),
    mispredict_cycles=Figure(3, "estimated: a pipeline of four or five stages"),
    l1_bytes=Figure(16 * KIB, f"{M55}, caches of up to 64 KiB"),
)

GENERIC_RISCV = like(
    CORTEX_M7,
    "generic-riscv",
    "any RISC-V core with floats",
    (),
    clock_hertz=Figure(1.5e9, PART),
    vector_registers=Figure(24, "the instruction set: 32, less what addresses take"),
    fma_pipe_bytes=Figure(8, f"{U74}: double precision"),
    fma_latency=Figure(5, f"{U74}, FMADD.S"),
    load_pipes=Figure(1, f"{U74}, SiFive7PipeA"),
    load_pipe_bytes=Figure(8, ISA),
    store_pipe_bytes=Figure(8, ISA),
    int8_speedup=Figure(1, "the instruction set: no such products"),
    mispredict_cycles=Figure(3, f"{U74}, MispredictPenalty"),
    l1_bytes=Figure(32 * KIB, "estimated: the least of cores that run Linux"),
    l1_ways=Figure(4, "estimated: the least of cores that run Linux"),
    l2_bytes=Figure(256 * KIB, "estimated: the least of cores that run Linux"),
    l2_bytes_per_cycle=Figure(8, ISA),
    l3_bytes_per_cycle=Figure(4, "estimated: half of that of the second cache"),
)

GENERIC_RISCV_V = like(
    GENERIC_RISCV,
    "generic-riscv-v",
    "any RISC-V core with vectors of 128 bits or more",
    (),
    vector_bytes=Figure(16, "the instruction set: V has at least 128 bits"),
    vector_registers=Figure(32, ISA),
    fma_pipe_bytes=Figure(16, "estimated: a unit for the least vectors"),
    load_pipe_bytes=Figure(16, "estimated: a unit for the least vectors"),
    store_pipe_bytes=Figure(16, "estimated: a unit for the least vectors"),
    l2_bytes_per_cycle=Figure(16, "estimated: a vector of the least size"),
)

GENERIC_RISCV32 = like(
    CORTEX_M3,
    "generic-riscv32",
    "any RISC-V core of 32 bits without floats",
    (),
    clock_hertz=Figure(160e6, PART),
    vector_registers=Figure(20, "the instruction set: 32, less what addresses take"),
)

GENERIC_WASM = like(
    GENERIC_RISCV,
    "generic-wasm",
    "WebAssembly without vectors",
    (),
    clock_hertz=Figure(3e9, "estimated: a desktop's core under load"),
    vector_registers=Figure(12, "estimated: those of x86-64, less an engine's"),
    fma_pipes=Figure(2, "estimated: a desktop's core"),
    load_pipes=Figure(2, "estimated: a desktop's core"),
    mispredict_cycles=Figure(15, "estimated: a desktop's core"),
)

GENERIC_WASM_SIMD = like(
    GENERIC_WASM,
    "generic-wasm-simd",
    "WebAssembly with vectors of 128 bits",
    (),
    vector_bytes=Figure(16, "the instruction set: v128"),
    vector_registers=Figure(14, "estimated: those of x86-64, less an engine's"),
    fma_pipe_bytes=Figure(16, "the instruction set: v128"),
    load_pipe_bytes=Figure(16, "the instruction set: v128"),
    store_pipe_bytes=Figure(16, "the instruction set: v128"),
    l2_bytes_per_cycle=Figure(32, "estimated: a desktop's core"),
)

CORES = (
    CORTEX_M0PLUS,
    CORTEX_M3,
    CORTEX_M4,
    CORTEX_M7,
    CORTEX_M33,
    CORTEX_M55,
    GENERIC_RISCV,
    GENERIC_RISCV_V,
    GENERIC_RISCV32,
    GENERIC_WASM,
    GENERIC_WASM_SIMD,
)
