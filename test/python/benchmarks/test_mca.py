"""Inner loops in assembly text, and what the simulator makes of them."""

import shutil

import pytest

from benchmarks.mca import (
    inner_loops,
    peak_loop,
    rank_correlation,
    shares,
)
from glow.lowering.target.target import Target

X86 = """
conv2d_1:
\tpushq\t%rbx
.LBB0_1:                                # outer
\tvmovups\t(%rcx), %zmm2
\t.p2align\t4
.LBB0_2:
\tvmovups\t(%r13), %zmm31
\tvfmadd231ps\t(%r12){1to16}, %zmm31, %zmm2
\tvfmadd231ps\t4(%r12){1to16}, %zmm31, %zmm3
\tvfmadd231ps\t8(%r12){1to16}, %zmm31, %zmm4
\tvfmadd231ps\t12(%r12){1to16}, %zmm31, %zmm5
\tcmpq\t$16, %r9
\tjl\t.LBB0_2
\tjne\t.LBB0_1
\tretq
relu_2:
.LBB1_1:
\tvmaxps\t%zmm2, %zmm0, %zmm2
\tjl\t.LBB1_1
"""

AARCH64 = """
matmul_1:
.LBB0_1:
\tldr\tq0, [x1]
\tfmla\tv1.4s, v0.4s, v4.s[0]
\tfmla\tv2.4s, v0.4s, v4.s[1]
\tfmla\tv3.4s, v0.4s, v4.s[2]
\tfmla\tv5.4s, v0.4s, v4.s[3]
\tsubs\tx2, x2, #1
\tb.ne\t.LBB0_1
"""


def test_inner_loops_are_found():
    (loop,) = inner_loops(X86)
    assert (loop.kernel, loop.multiply_adds, loop.vector_bytes) == ("conv2d_1", 4, 64)
    assert len(loop.lines) == 7
    (loop,) = inner_loops(AARCH64)
    assert (loop.kernel, loop.multiply_adds, loop.vector_bytes) == ("matmul_1", 4, 16)


def test_ranks():
    assert rank_correlation([1, 2, 3], [10, 20, 90]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [9, 5, 1]) == pytest.approx(-1)


@pytest.mark.skipif(shutil.which("llvm-mca-22") is None, reason="no llvm-mca-22")
@pytest.mark.parametrize(
    ("cpu", "text"), [("cascadelake", X86), ("neoverse-n1", AARCH64)]
)
def test_chains_cost(cpu, text):
    """Four sums wait for each other, which the loop of the peak has none of."""
    target = Target.from_string(cpu)
    loop = next(inner_loops(text))
    own, peak = shares(
        "llvm-mca-22", target, [loop, peak_loop(target, loop.vector_bytes)]
    )
    assert peak == pytest.approx(1, rel=0.05)
    assert 0.3 < own < 0.7
