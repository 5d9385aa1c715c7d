"""Cores without a table of their own, by the width of their vectors.

What compiles for a preset (`avx2`, `neon`) or for an architecture level (`x86-64-v3`) may run on
any core, so that these are no core's numbers but what most of them can do, with the sizes of
small caches.
"""

from glow.lowering.target.core import Figure, barrier, like
from glow.lowering.target.cores.amd import ZEN5
from glow.lowering.target.cores.arm import NEOVERSE_N1

KIB, MIB = 1024, 1024**2

SMALLEST = "as any: the smallest of the cores that LLVM means by it"
ISA = "the instruction set"
SOG3 = "AMD, Software Optimization Guide for AMD EPYC 7003 Processors (56665)"

GENERIC_AVX512 = like(
    ZEN5,
    "generic-avx512",
    "any core with vectors of 64 bytes",
    ("x86-64-v4",),
    clock_hertz=Figure(3e9, "estimated: a server's core under load"),
    tile_row_cycles=Figure(1, "as sapphire-rapids: the first core with tiles"),
    l1_bytes=Figure(32 * KIB, SMALLEST),
    l1_ways=Figure(8, SMALLEST),
    hidden_l3_reads=Figure(0, "estimated: nobody measured it, so that none are"),
)

GENERIC_AVX2 = like(
    GENERIC_AVX512,
    "generic-avx2",
    "any core with vectors of 32 bytes",
    ("x86-64-v3", "haswell", "broadwell", "skylake", "znver1"),
    vector_bytes=Figure(32, ISA),
    vector_registers=Figure(16, ISA),
    fma_pipes=Figure(2, "https://uops.info, VFMADD231PS on Haswell and Zen 2"),
    fma_pipe_bytes=Figure(32, ISA),
    load_pipe_bytes=Figure(32, ISA),
    store_pipe_bytes=Figure(32, ISA),
    l2_bytes=Figure(256 * KIB, SMALLEST),
    l2_bytes_per_cycle=Figure(32, f"{SMALLEST}; {SOG3}, 2.6.3: Zen 1 to 3"),
    l3_bytes=Figure(8 * MIB, SMALLEST),
    l3_cores=Figure(4, SMALLEST),
)

GENERIC_SSE = like(
    GENERIC_AVX2,
    "generic-sse",
    "any x86-64 core",
    ("x86-64", "x86-64-v2"),
    vector_bytes=Figure(16, ISA),
    fma_pipe_bytes=Figure(16, ISA),
    load_pipe_bytes=Figure(16, ISA),
    store_pipe_bytes=Figure(16, ISA),
    l2_bytes=Figure(512 * KIB, SMALLEST),
)

GENERIC_NEON = like(
    NEOVERSE_N1,
    "generic-neon",
    "any AArch64 core",
    ("generic", "neoverse-n2", "neoverse-v2"),
    clock_hertz=Figure(2.5e9, "estimated: a server's core under load"),
    fma_latency=Figure(4, "as neoverse-n1: without its forwarding of sums"),
    store_pipes=Figure(1, SMALLEST),
    l1_bytes=Figure(32 * KIB, SMALLEST),
    l1_ways=Figure(2, SMALLEST),
    l2_bytes=Figure(512 * KIB, SMALLEST),
    l3_bytes=Figure(16 * MIB, SMALLEST),
    l3_cores=Figure(8, SMALLEST),
    split_l3_latency=Figure(800, "estimated: cores may have no common L3, as zen5"),
    barrier_cycles=barrier(800),
)

CORES = (GENERIC_AVX512, GENERIC_AVX2, GENERIC_SSE, GENERIC_NEON)
