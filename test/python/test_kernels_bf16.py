"""Kernels on bf16 operands against NumPy: sums in f32, stored as f32 or rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_testing import TARGET, normal, relative_error, run_kernel
from xdsl.dialects.builtin import bf16, f32

from glow.dialects import arith
from glow.lowering.instr_to_loops.matmul import (
    MatmulSpec,
    build_matmul,
    pack_matmul_weights,
)
from glow.lowering.instr_to_loops.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target import PRESETS

BF16 = np.dtype(ml_dtypes.bfloat16)
ROUNDING = 2.0**-8
ADD_AND_ROUND = RegionEpilogue(
    ScalarRegion.trace(
        lambda b, x, r: b.cast(
            arith.TruncFOp, b.addf(x, b.cast(arith.ExtFOp, r, f32)), bf16
        ),
        [f32, bf16],
    ),
    ("full",),
)


def halves(*shape: int) -> np.ndarray:
    return normal(*shape).astype(BF16)


def exact(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


@pytest.mark.parametrize(
    ("rows", "columns", "depth"),
    [(1, 1, 2), (1, 1000, 34), (7, 48, 6), (29, 100, 64), (33, 130, 2)],
)
@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
def test_matmul(rows: int, columns: int, depth: int, target) -> None:
    a, b, bias = halves(rows, depth), halves(depth, columns), normal(columns)
    spec = MatmulSpec(rows, columns, depth, has_bias=True, element=bf16)
    packed = pack_matmul_weights(b, spec, target)
    out = np.full((rows, columns), np.nan, np.float32)
    inputs = [a, packed, bias]
    (found,) = run_kernel(build_matmul(spec, target), [out], inputs, target)
    assert relative_error(found, exact(a) @ exact(b) + bias) < 4e-6


def test_matmul_adds_and_stores_bf16() -> None:
    a, b, residual = halves(19, 40), halves(40, 50), halves(19, 50)
    spec = MatmulSpec(19, 50, 40, epilogue=ADD_AND_ROUND, element=bf16)
    packed = pack_matmul_weights(b, spec, TARGET)
    out = np.zeros((19, 50), BF16)
    (found,) = run_kernel(build_matmul(spec, TARGET), [out], [a, packed, residual])
    expected = exact(a) @ exact(b) + exact(residual)
    assert relative_error(exact(found), expected) < ROUNDING


def test_an_odd_depth_has_no_pairs() -> None:
    with pytest.raises(ValueError, match="pairs"):
        MatmulSpec(3, 4, 5, element=bf16)
