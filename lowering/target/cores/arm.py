"""Arm's Neoverse-N1, Neoverse-V1 and Cortex-A72, with vectors of 128 bits."""

from glow.lowering.target.core import Figure, barrier, like, make_core

KIB, MIB = 1024, 1024**2

N1 = "Arm Neoverse N1 Software Optimization Guide"
V1 = "Arm Neoverse V1 Software Optimization Guide"
A72 = "Arm Cortex-A72 Software Optimization Guide (UAN 0016A)"
A72_MANUAL = "Arm Cortex-A72 MPCore Technical Reference Manual (100095)"
N1_MODEL = "LLVM AArch64SchedNeoverseN1.td"
V1_MODEL = "LLVM AArch64SchedNeoverseV1.td"
BANDWIDTH = (
    "https://learn.arm.com/learning-paths/servers-and-cloud-computing/"
    "memory-subsystem/streaming-bandwidth"
)
ALL_CORES = (
    "https://learn.arm.com/learning-paths/servers-and-cloud-computing/"
    "memory-subsystem/multicore-bandwidth"
)
CACHES = (
    "https://learn.arm.com/learning-paths/servers-and-cloud-computing/"
    "memory-subsystem/cache-hierarchy"
)
LATENCIES = "https://github.com/nviennot/core-to-core-latency"
GRAVITON1 = "https://chipsandcheese.com/p/arms-cortex-a72-aarch64-for-the-masses"
NO_DOT = "estimated: kernels use no such products of Arm, so that nothing reads it"
DOT = "ASIMD dot product: as many a cycle as multiply-adds, of four times the elements"
GEM5 = "https://github.com/gem5/gem5, Cortex-A72's FMADD: 7, forwarded 3"

NEOVERSE_N1 = make_core(
    "neoverse-n1",
    "Arm Neoverse-N1 (Graviton 2, Altra), Cortex-A76",
    ("neoverse-n1", "cortex-a76"),
    clock_hertz=Figure(2.5e9, f"{LATENCIES}: Graviton 2"),
    vector_bytes=Figure(16, "Advanced SIMD"),
    vector_registers=Figure(32, "Advanced SIMD"),
    fma_pipes=Figure(2, f"{N1_MODEL}, N1UnitV"),
    fma_pipe_bytes=Figure(16, f"{N1}, 2.1"),
    fma_latency=Figure(2, f"{N1}, ASIMD FP multiply accumulate: 4, forwarded 2"),
    load_pipes=Figure(2, f"{N1_MODEL}, N1UnitL"),
    load_pipe_bytes=Figure(16, f"{N1}, ASIMD loads"),
    store_pipes=Figure(2, f"{N1_MODEL}, N1UnitD"),
    store_pipe_bytes=Figure(16, f"{N1}, ASIMD stores"),
    int8_speedup=Figure(4, f"{N1}, {DOT}"),
    bf16_speedup=Figure(2, NO_DOT),
    tile_row_cycles=Figure(1, "the instruction set: no such products"),
    mispredict_cycles=Figure(11, f"{N1_MODEL}, MispredictPenalty"),
    pause_cycles=Figure(4, f"{N1_MODEL}: YIELD does nothing; LoadLatency"),
    l1_bytes=Figure(64 * KIB, f"{CACHES}: Graviton 2"),
    l1_ways=Figure(4, f"{CACHES}: Graviton 2"),
    l2_bytes=Figure(1 * MIB, f"{CACHES}: Graviton 2"),
    l3_bytes=Figure(32 * MIB, f"{CACHES}: Graviton 2"),
    l3_cores=Figure(64, f"{CACHES}: Graviton 2"),
    l2_bytes_per_cycle=Figure(
        32, "https://chipsandcheese.com/2021/10/22/deep-diving-neoverse-n1/"
    ),
    l3_bytes_per_cycle=Figure(14, f"{BANDWIDTH}: 35.9 GB/s at 2.5 GHz"),
    hidden_l3_reads=Figure(0, "estimated: nobody measured it, so that none are"),
    memory_bytes_per_cycle=Figure(8, f"{BANDWIDTH}: 20.9 GB/s at 2.5 GHz"),
    contended_l3_bytes_per_cycle=Figure(
        14, "estimated: as one core's, since each core has a slice of the cache"
    ),
    contended_memory_bytes_per_cycle=Figure(
        8, f"{ALL_CORES}: 169.6 GB/s, for eight of the 20.9 GB/s of one"
    ),
    shared_l3_latency=Figure(118, f"{LATENCIES}: Graviton 2, 47 ns at 2.5 GHz"),
    split_l3_latency=Figure(118, f"{LATENCIES}: all cores share the mesh's cache"),
    barrier_cycles=barrier(118),
)

NEOVERSE_V1 = like(
    NEOVERSE_N1,
    "neoverse-v1",
    "Arm Neoverse-V1 (Graviton 3)",
    ("neoverse-v1",),
    clock_hertz=Figure(2.6e9, f"{LATENCIES}: Graviton 3"),
    fma_pipes=Figure(4, f"{V1_MODEL}, V1UnitV"),
    fma_latency=Figure(2, f"{V1}, ASIMD FP multiply accumulate: 4, forwarded 2"),
    load_pipes=Figure(3, f"{V1_MODEL}, V1UnitL"),
    store_pipes=Figure(2, f"{V1_MODEL}, V1UnitD"),
    mispredict_cycles=Figure(11, f"{V1_MODEL}, MispredictPenalty"),
    memory_bytes_per_cycle=Figure(
        13, f"estimated: DDR5 as in Graviton 4, 37 GB/s at 2.8 GHz ({BANDWIDTH})"
    ),
    contended_memory_bytes_per_cycle=Figure(
        13, f"estimated: as one core's, as in Graviton 4, 465.5 GB/s ({ALL_CORES})"
    ),
    shared_l3_latency=Figure(120, f"{LATENCIES}: Graviton 3, 46 ns at 2.6 GHz"),
    split_l3_latency=Figure(120, f"{LATENCIES}: all cores share the mesh's cache"),
    barrier_cycles=barrier(120),
)

CORTEX_A72 = like(
    NEOVERSE_N1,
    "cortex-a72",
    "Arm Cortex-A72 (Graviton, Raspberry Pi 4)",
    ("cortex-a72",),
    clock_hertz=Figure(2.3e9, f"{GRAVITON1}"),
    fma_pipes=Figure(2, f"{A72}, 2.1: F0 and F1"),
    fma_pipe_bytes=Figure(8, f"{GRAVITON1}: units of 64 bits"),
    fma_latency=Figure(3, f"{A72}, ASIMD FP multiply accumulate; {GEM5}"),
    load_pipes=Figure(1, f"{A72}, 2.1: L"),
    store_pipes=Figure(1, f"{A72}, 2.1: S"),
    store_pipe_bytes=Figure(8, "LLVM AArch64SchedA57.td, ST1Onev: two for 16 bytes"),
    mispredict_cycles=Figure(14, "LLVM AArch64SchedA57.td, MispredictPenalty"),
    l1_bytes=Figure(32 * KIB, f"{A72_MANUAL}: L1 data memory system"),
    l1_ways=Figure(2, f"{A72_MANUAL}: L1 data memory system"),
    l2_bytes=Figure(512 * KIB, f"{GRAVITON1}: a quarter of a cluster's 2 MiB"),
    l3_bytes=Figure(0, f"{GRAVITON1}: none"),
    l3_cores=Figure(0, f"{GRAVITON1}: none"),
    l2_bytes_per_cycle=Figure(16, "estimated: half of neoverse-n1's, as are the loads"),
    memory_bytes_per_cycle=Figure(
        3, "estimated: the least of any, a little below skylake-x"
    ),
    contended_memory_bytes_per_cycle=Figure(
        3, "estimated: as one core's, where nobody has measured several"
    ),
)

CORES = (NEOVERSE_N1, NEOVERSE_V1, CORTEX_A72)
