"""Intel's server cores: Skylake and Cascade Lake, Ice Lake, Sapphire Rapids."""

from glow.lowering.target.core import Figure, barrier, like, make_core

KIB, MIB = 1024, 1024**2

MANUAL = "Intel 64 and IA-32 Architectures Optimization Reference Manual (248966)"
SKYLAKE_CACHES = f"{MANUAL}, Skylake Server: cache comparison"
LATENCIES = "https://github.com/nviennot/core-to-core-latency"
STREAM = "https://www.anandtech.com/show/11544: 12 GB/s of a thread, at about 3.5 GHz"
CHANNELS = (
    "https://www.advancedhpc.com/blogs/adams-blog/"
    "memory-configuration-and-performance-on-scalable-processors"
)
SIZES = (
    "https://computerbase.de/2021-07/"
    "fruehes-intel-cpu-sample-sapphire-rapids-erhaelt-deutlich-mehr-l2-cache"
)
SAPPHIRE = "https://chipsandcheese.com/p/a-peek-at-sapphire-rapids"

SKYLAKE_X = make_core(
    "skylake-x",
    "Intel Skylake-SP, Cascade Lake, Cooper Lake",
    ("skylake-avx512", "cascadelake", "cooperlake"),
    clock_hertz=Figure(3.5e9, f"{LATENCIES}: Xeon 8275CL, as its 47 ns are converted"),
    vector_bytes=Figure(64, f"{MANUAL}, Skylake Server"),
    vector_registers=Figure(32, "AVX-512"),
    fma_pipes=Figure(2, f"{MANUAL}, Skylake Server: ports 0 and 5"),
    fma_pipe_bytes=Figure(64, f"{MANUAL}, Skylake Server"),
    fma_latency=Figure(4, "https://uops.info, VFMADD231PS on Skylake-X"),
    load_pipes=Figure(2, f"{SKYLAKE_CACHES}: 128 bytes a cycle"),
    load_pipe_bytes=Figure(64, SKYLAKE_CACHES),
    store_pipes=Figure(1, f"{SKYLAKE_CACHES}: 64 bytes a cycle"),
    store_pipe_bytes=Figure(64, SKYLAKE_CACHES),
    int8_speedup=Figure(4, "https://uops.info, VPDPBUSD on Cascade Lake: two a cycle"),
    bf16_speedup=Figure(2, "estimated: as zen5; Cooper Lake alone has it"),
    tile_row_cycles=Figure(1, "the instruction set: no such products"),
    mispredict_cycles=Figure(14, "LLVM X86SchedSkylakeServer.td, MispredictPenalty"),
    pause_cycles=Figure(140, f"{MANUAL}, Skylake: PAUSE takes up to 140 cycles"),
    l1_bytes=Figure(32 * KIB, SKYLAKE_CACHES),
    l1_ways=Figure(8, SKYLAKE_CACHES),
    l2_bytes=Figure(1 * MIB, SKYLAKE_CACHES),
    l3_bytes=Figure(33 * MIB, f"{SKYLAKE_CACHES}: 1.375 MiB a core, of 24"),
    l3_cores=Figure(24, f"{LATENCIES}: Xeon 8275CL"),
    l2_bytes_per_cycle=Figure(64, SKYLAKE_CACHES),
    l3_bytes_per_cycle=Figure(15, f"{SKYLAKE_CACHES}: sustained"),
    hidden_l3_reads=Figure(0, "estimated: nobody measured it, so that none are"),
    memory_bytes_per_cycle=Figure(3.5, STREAM),
    contended_l3_bytes_per_cycle=Figure(
        15, "estimated: as one core's, since each core has a slice of the cache"
    ),
    contended_memory_bytes_per_cycle=Figure(
        3.5,
        "estimated: as one core's, of which eight take 96 of the 128 GB/s of six "
        f"channels of DDR4-2666 ({CHANNELS})",
    ),
    shared_l3_latency=Figure(165, f"{LATENCIES}: 47 ns at 3.5 GHz"),
    split_l3_latency=Figure(470, f"{LATENCIES}: 134 ns between sockets"),
    barrier_cycles=barrier(165),
)

ICE_LAKE = like(
    SKYLAKE_X,
    "ice-lake",
    "Intel Ice Lake-SP",
    ("icelake-server",),
    fma_latency=Figure(4, "https://uops.info, VFMADD231PS on Ice Lake"),
    load_pipes=Figure(2, f"{MANUAL}, Ice Lake Client: ports 2 and 3"),
    store_pipes=Figure(1, f"{MANUAL}, Ice Lake Client: one of 64 bytes, or two"),
    mispredict_cycles=Figure(14, "LLVM X86SchedIceLake.td, MispredictPenalty"),
    l1_bytes=Figure(48 * KIB, f"{MANUAL}, Ice Lake Client: caches"),
    l1_ways=Figure(12, f"{MANUAL}, Ice Lake Client: caches"),
    l2_bytes=Figure(1280 * KIB, f"{SIZES}: 1.25 MiB"),
    l3_bytes=Figure(48 * MIB, f"{SIZES}: 1.5 MiB a core, of 32"),
    l3_cores=Figure(32, f"{LATENCIES}: Xeon 8375C"),
    shared_l3_latency=Figure(180, f"{LATENCIES}: 51 ns at 3.5 GHz"),
    split_l3_latency=Figure(380, f"{LATENCIES}: 108 ns between sockets"),
    barrier_cycles=barrier(180),
)

SAPPHIRE_RAPIDS = like(
    ICE_LAKE,
    "sapphire-rapids",
    "Intel Sapphire Rapids (Golden Cove)",
    ("sapphirerapids", "emeraldrapids"),
    fma_pipes=Figure(2, f"{SAPPHIRE}: two of 512 bits"),
    fma_latency=Figure(4, "LLVM X86SchedSapphireRapids.td, WriteFMAZ"),
    load_pipes=Figure(2, f"{MANUAL}, Golden Cove: two loads of 512 bits, or three"),
    bf16_speedup=Figure(2, "estimated: as zen5"),
    tile_row_cycles=Figure(1, f"{MANUAL}, AMX: TDPBUSD of 16 rows in 16 cycles"),
    mispredict_cycles=Figure(14, "LLVM X86SchedSapphireRapids.td, MispredictPenalty"),
    l2_bytes=Figure(2 * MIB, f"{SIZES}: 2 MiB"),
    l3_bytes=Figure(105 * MIB, "https://ark.intel.com: Xeon Platinum 8480+"),
    l3_cores=Figure(56, "https://ark.intel.com: Xeon Platinum 8480+"),
    split_l3_latency=Figure(
        485,
        "https://chipsandcheese.com/2024/07/22/arms-neoverse-v2-in-awss-graviton-4/: "
        "139 ns between sockets",
    ),
)

CORES = (SKYLAKE_X, ICE_LAKE, SAPPHIRE_RAPIDS)
