"""AMD Zen 2 to Zen 5.

The cost models were fitted on a Zen 5: numbers that are called fitted are those that its kernels
were tuned with.
"""

from glow.lowering.target.core import Figure, barrier, like, make_core

KIB, MIB = 1024, 1024**2

SOG5 = "AMD, Software Optimization Guide for the AMD Zen5 Microarchitecture (58455)"
SOG4 = "AMD, Software Optimization Guide for the AMD Zen4 Microarchitecture (57647)"
SOG3 = "AMD, Software Optimization Guide for AMD Family 19h Processors (56665)"
ZNVER3 = "LLVM X86ScheduleZnver3.td, which quotes AMD's optimization guide (56665)"
ZNVER2 = "LLVM X86ScheduleZnver2.td"
DESKTOP5 = "https://chipsandcheese.com/p/amds-ryzen-9950x-zen-5-on-desktop"
L2_RATES = (
    "https://www.tomshw.it/hardware/"
    "ryzen-5-9600x-i-benchmark-trapelati-mostrano-una-cache-raddoppiata-2024-06-10"
)
MILAN = "https://www.anandtech.com/show/16529/amd-epyc-milan-review/4"
ROME = "https://www.anandtech.com/show/14694/amd-rome-epyc-2nd-gen/7"
ISA = "AVX-512"
ZNVER4 = "LLVM X86ScheduleZnver4.td, which quotes AMD's optimization guide (57647)"
HOT_CHIPS = "AMD, Next Generation Zen 5 Core, Hot Chips 2024"
HERE = "measured: glow calibrate"
READER = "glow run --profile"
GENOA = (
    "https://www.tomshardware.com/news/amd-confirms-12-ddr5-memory-channels-on-genoa"
)

ZEN5 = make_core(
    "zen5",
    "AMD Zen 5 (EPYC 9005, Ryzen 9000)",
    ("znver5",),
    clock_hertz=Figure(4.1e9, "measured: glow calibrate, on an EPYC"),
    vector_bytes=Figure(64, f"{SOG5}, 2.11: data paths of 512 bits"),
    vector_registers=Figure(32, ISA),
    fma_pipes=Figure(2, f"{HERE}; pipes 0 and 1 in {SOG5}, 2.11.1"),
    fma_pipe_bytes=Figure(64, f"{SOG5}, 2.11"),
    fma_latency=Figure(4, HERE),
    load_pipes=Figure(2, f"{HERE}; of four loads two are of vectors, {SOG5}, 2.12"),
    load_pipe_bytes=Figure(64, f"{SOG5}, 2.12"),
    store_pipes=Figure(1, "LLVM X86ScheduleZnver5.td, Zn5FPSt"),
    store_pipe_bytes=Figure(64, f"{SOG5}, 2.12: two halves of 256 bits a cycle"),
    int8_speedup=Figure(4, f"{SOG5}, 2.11: VPDPBUSD in the pipes of multiply-adds"),
    bf16_speedup=Figure(2, f"fitted: bf16 products of ResNet-50, {READER}"),
    tile_row_cycles=Figure(1, "the instruction set: no such products"),
    mispredict_cycles=Figure(15, f"{SOG5}, 2.8: the common case"),
    pause_cycles=Figure(100, "measured: glow calibrate, 26 ns at 4 GHz"),
    l1_bytes=Figure(48 * KIB, f"{HOT_CHIPS}: 48 KB, 12-way"),
    l1_ways=Figure(12, f"{HOT_CHIPS}: 48 KB, 12-way"),
    l2_bytes=Figure(1 * MIB, f"{HOT_CHIPS}: 1 MB, 16-way"),
    l3_bytes=Figure(32 * MIB, DESKTOP5),
    l3_cores=Figure(8, DESKTOP5),
    l2_bytes_per_cycle=Figure(64, f"{HERE}, 63.7; fills of 64 bytes in {HOT_CHIPS}"),
    l3_bytes_per_cycle=Figure(
        29, "measured: docs/performance.md, 120 GB/s of a core at 4.1 GHz"
    ),
    hidden_l3_reads=Figure(
        1, "measured: docs/performance.md, products of rows that leave the second cache"
    ),
    memory_bytes_per_cycle=Figure(
        10, "measured: docs/performance.md, 41 GB/s of a core at 4.1 GHz"
    ),
    contended_l3_bytes_per_cycle=Figure(
        29, "estimated: as one core's, since each core has a slice of the cache"
    ),
    contended_memory_bytes_per_cycle=Figure(
        10, "measured: docs/performance.md, up to 9.3 of two cores: as one core's"
    ),
    shared_l3_latency=Figure(140, "measured: glow calibrate, a round trip of 70 ns"),
    split_l3_latency=Figure(800, "measured: glow calibrate, a round trip of 375 ns"),
    barrier_cycles=barrier(800),
)

ZEN4 = like(
    ZEN5,
    "zen4",
    "AMD Zen 4 (EPYC 9004, Ryzen 7000)",
    ("znver4",),
    clock_hertz=Figure(3.7e9, "measured: on the EPYC of its memory's rate"),
    vector_bytes=Figure(64, f"{SOG4}, 2.11: in two halves of 256 bits"),
    fma_pipes=Figure(2, f"{ZNVER4}, 2.11.1: pipes 0 and 1"),
    fma_pipe_bytes=Figure(32, f"{SOG4}, 2.11"),
    fma_latency=Figure(4, f"{SOG4}, table of latencies"),
    load_pipes=Figure(2, f"{SOG4}, 2.12: of three operations two are loads of vectors"),
    load_pipe_bytes=Figure(32, f"{SOG4}, 2.12"),
    store_pipes=Figure(1, f"{ZNVER4}, 2.11: stores from two pipes, one a cycle"),
    store_pipe_bytes=Figure(32, f"{SOG4}, 2.12"),
    mispredict_cycles=Figure(13, f"{ZNVER4}, 2.8: the common case"),
    l1_bytes=Figure(32 * KIB, f"{SOG4}, 2.6.2"),
    l1_ways=Figure(8, f"{SOG4}, 2.6.2"),
    l2_bytes=Figure(1 * MIB, f"{SOG4}, 2.6.3"),
    l2_bytes_per_cycle=Figure(32, f"{L2_RATES}: 1028 GB/s of six cores at 5.3 GHz"),
    memory_bytes_per_cycle=Figure(
        8, "measured: a matrix-vector product on an EPYC, 28 to 32 GB/s at 3.7 GHz"
    ),
    contended_memory_bytes_per_cycle=Figure(
        8, f"estimated: as one core's, an eighth of 460 GB/s of 12 channels ({GENOA})"
    ),
)

ZEN3 = like(
    ZEN4,
    "zen3",
    "AMD Zen 3 (EPYC 7003, Ryzen 5000)",
    ("znver3",),
    clock_hertz=Figure(3.2e9, f"{HERE}, on an EPYC"),
    vector_bytes=Figure(32, f"{SOG3}, 2.11: AVX2"),
    vector_registers=Figure(16, "the instruction set"),
    fma_pipes=Figure(2, f"{HERE}; pipes 0 and 1 in {ZNVER3}, 2.11.1"),
    fma_pipe_bytes=Figure(32, f"{SOG3}, 2.11"),
    fma_latency=Figure(4, f"{HERE}, and {ZNVER3}"),
    load_pipes=Figure(2, f"{HERE}; of three operations two are loads of vectors"),
    load_pipe_bytes=Figure(32, f"{ZNVER3}, 2.12"),
    store_pipes=Figure(1, f"{ZNVER3}, 2.11: two pipes, one store a cycle"),
    store_pipe_bytes=Figure(32, f"{ZNVER3}, 2.12"),
    mispredict_cycles=Figure(13, f"{ZNVER3}, 2.8: the common case"),
    pause_cycles=Figure(86, HERE),
    l1_bytes=Figure(32 * KIB, f"{HERE}, which asks the system"),
    l1_ways=Figure(8, f"{SOG3}, 2.6.2"),
    l2_bytes=Figure(512 * KIB, f"{HERE}, which asks the system"),
    l3_bytes=Figure(32 * MIB, MILAN),
    l3_cores=Figure(8, MILAN),
    l2_bytes_per_cycle=Figure(32, f"{HERE}, 32.0"),
    l3_bytes_per_cycle=Figure(21, f"{HERE}, most of ten times on a busy machine"),
    hidden_l3_reads=Figure(
        0, "measured: docs/performance.md, Strassen's product of 1500 rows"
    ),
    memory_bytes_per_cycle=Figure(
        6.4, f"{HERE}, most of ten times on a busy machine: 20 GB/s at 3.1 GHz"
    ),
    contended_l3_bytes_per_cycle=Figure(
        21, "estimated: as one core's, since each core has a slice of the cache"
    ),
    contended_memory_bytes_per_cycle=Figure(
        6.4, f"estimated: as one core's, an eighth of 204 GB/s of 8 channels ({GENOA})"
    ),
    shared_l3_latency=Figure(95, f"{HERE}, least of two times"),
    split_l3_latency=Figure(700, f"{HERE}, 660 to 724"),
    barrier_cycles=barrier(700),
)

ZEN2 = like(
    ZEN3,
    "zen2",
    "AMD Zen 2 (EPYC 7002, Ryzen 3000)",
    ("znver2",),
    fma_latency=Figure(5, f"{ZNVER2}, WriteFMA"),
    mispredict_cycles=Figure(17, f"{ZNVER2}, MispredictPenalty"),
    l3_bytes=Figure(16 * MIB, ROME),
    l3_cores=Figure(4, ROME),
)

CORES = (ZEN5, ZEN4, ZEN3, ZEN2)
