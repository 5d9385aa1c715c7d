"""NVIDIA's GPUs as kernels for many threads see them: one row each, and where its numbers are from.

A rate is of one multiprocessor and one cycle, so that it holds for parts with more or fewer of
them. Sources:

A100  NVIDIA A100 Tensor Core GPU Architecture (whitepaper, 2020), tables 1, 4 and 5; the L2's
      5120 bytes a cycle are on page 40.
H100  NVIDIA H100 Tensor Core GPU Architecture (whitepaper, 2022), tables 2 and 3: the SXM5 part.
CUDA  CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
MB    Sun et al., Dissecting Tensor Cores via Microbenchmarks (TPDS 2023); Luo et al.,
      Benchmarking and Dissecting the Nvidia Hopper GPU (IPDPS 2024): latencies, and that
      `mma.sync` reaches 0.62 of what `wgmma` does on Hopper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

MultiplyFormat = Literal["f32", "tf32", "f16", "bf16", "i8"]
"""What is multiplied: f32 by fused multiply-adds, the others on tensor cores."""

KIB, GB = 1 << 10, 10**9


class Rates(NamedTuple):
    """Multiply-adds of a multiprocessor in a cycle."""

    f32: int
    tf32: int
    f16: int
    bf16: int
    i8: int

    def of(self, format_: MultiplyFormat) -> int:
        """That of a format."""
        return getattr(self, format_)


@dataclass(frozen=True)
class GpuMachine:
    """The figures of a GPU by which kernels and tiles are chosen."""

    multiprocessors: int
    clock_hz: float
    """With all of them at work (boost)."""
    dram_bytes_per_second: float
    l2_bytes_per_cycle: float
    """Of the whole GPU."""
    multiply_adds: Rates
    """By instructions that a warp issues (`fma`, `mma.sync`)."""
    shared_bytes: int
    """A multiprocessor's memory that its blocks share."""
    block_shared_bytes: int
    """The most that one block may have."""
    warpgroup_multiply_adds: Rates | None = None
    """By instructions of four warps on shared memory (`wgmma`), where there are some."""
    static_shared_bytes: int = 48 * KIB
    """The most of it that a kernel may have without asking at its launch (CUDA)."""
    registers: int = 65536
    """A multiprocessor's, of 32 bits (CUDA)."""
    thread_registers: int = 255
    """The most that a thread has (CUDA)."""
    register_unit: int = 256
    """What a warp's registers are rounded up to (CUDA)."""
    threads: int = 2048
    """At most, on a multiprocessor (CUDA)."""
    blocks: int = 32
    """At most, on a multiprocessor (CUDA)."""
    shared_bytes_per_cycle: int = 128
    """What a multiprocessor's threads read: 32 banks of 4 bytes (CUDA)."""
    exponentials_per_cycle: int = 16
    """Of a multiprocessor (CUDA, "Throughput of Native Arithmetic Instructions")."""
    issued_per_cycle: int = 4
    """The instructions of warps that a multiprocessor begins in a cycle (A100, H100)."""
    memory_latency: float = 600.0
    """The cycles until a word of DRAM is there (MB: 460 to 680)."""
    product_latency: float = 33.0
    """The cycles until sums of fragments are there (MB: 17 to 33)."""
    barrier_cycles: float = 30.0
    """What the threads of a block lose at a barrier (MB)."""
    launch_seconds: float = 2.5e-6
    """From the end of one kernel of a graph to the start of the next (MB: 1.5 to 3 us)."""


A100 = GpuMachine(
    multiprocessors=108,
    clock_hz=1.41e9,
    dram_bytes_per_second=1555 * GB,
    l2_bytes_per_cycle=5120,
    multiply_adds=Rates(64, 512, 1024, 1024, 2048),
    shared_bytes=164 * KIB,
    block_shared_bytes=163 * KIB,
)
"""SXM4, 40 GB (A100, CUDA)."""

H100 = GpuMachine(
    multiprocessors=132,
    clock_hz=1.83e9,
    dram_bytes_per_second=3352 * GB,
    l2_bytes_per_cycle=5632,
    multiply_adds=Rates(128, 640, 1280, 1280, 2560),
    shared_bytes=228 * KIB,
    block_shared_bytes=227 * KIB,
    launch_seconds=2.0e-6,
)
"""SXM5, 80 GB (H100, CUDA). Tensor cores by `mma.sync`: 0.62 of 1024 (TF32), 2048, 4096 (MB)."""

H100A = replace(H100, warpgroup_multiply_adds=Rates(128, 1024, 2048, 2048, 4096))
"""The same with all its instructions (H100, table 2: 989 TFLOP/s of bf16)."""

GA102 = replace(
    A100,
    multiprocessors=84,
    clock_hz=1.80e9,
    dram_bytes_per_second=768 * GB,
    l2_bytes_per_cycle=2048,
    multiply_adds=Rates(128, 128, 256, 256, 512),
    shared_bytes=100 * KIB,
    block_shared_bytes=99 * KIB,
    threads=1536,
    blocks=16,
)
"""RTX A6000 (NVIDIA Ampere GA102 GPU Architecture, 2021, table 9 and appendix A)."""

AD102 = replace(
    GA102,
    multiprocessors=142,
    clock_hz=2.505e9,
    dram_bytes_per_second=960 * GB,
    multiply_adds=Rates(128, 256, 512, 512, 1024),
    blocks=24,
)
"""RTX 6000 Ada (NVIDIA Ada GPU Architecture, 2023, table 2 and appendix A)."""

GPU_MACHINES: Mapping[str, GpuMachine] = {
    "sm_80": A100,
    "sm_86": GA102,
    "sm_89": AD102,
    "sm_90": H100,
    "sm_90a": H100A,
}
"""By compute capability, those with `cp.async`; kernels for many threads need it."""
