"""Sums over rows with element-wise work around them, against NumPy in float64."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, relative_error, run_kernel
from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i1

from glow.backends.cpu.dialect.fused_rows import RowSumOp, rows_of_operand
from glow.backends.cpu.kernels.reduction.fused_rows import (
    FusedRowsSpec,
    RowOperand,
    build_fused_rows,
)
from glow.lowering.loop_builder.ir_types import fast_math
from glow.lowering.loop_builder.scalar_region import ScalarRegion


def row_sum(b, value):
    return b.value(RowSumOp, (value,), f32)


def normalize(extent, b, x, scale, shift, mask):
    """The mean's deviation by its root mean square; exponentials that both passes need."""
    count = b.constant(1 / extent, f32)
    centred = b.subf(x, b.mulf(row_sum(b, x), count))
    power = b.mulf(row_sum(b, b.mulf(centred, centred)), count)
    y = b.addf(b.mulf(b.divf(centred, b.addf(power, shift)), scale), shift)
    exponential = b.value(math.ExpOp, (y,), f32, {"fastmath": fast_math()})
    e = b.select(mask, exponential, b.constant(0.0, f32))
    total = row_sum(b, e)
    return b.divf(e, total), total, power


@pytest.mark.parametrize(("rows", "extent"), [(6, 10), (9, 100), (6, 161), (12, 64)])
def test_fused_rows(rows: int, extent: int) -> None:
    x, scale, shift = normal(rows, extent), normal(3, extent), normal(rows) ** 2 + 1
    mask = normal(extent) > -1
    region = ScalarRegion.trace(partial(normalize, extent), [f32, f32, f32, i1])
    number = RowOperand(rows, False)
    spec = FusedRowsSpec(
        rows,
        extent,
        (
            RowOperand(rows, True),
            RowOperand(3, True),
            number,
            RowOperand(1, True),
        ),
        (RowOperand(rows, True), number, number),
        region,
    )
    outs = [np.full((rows, extent), np.nan, np.float32)]
    outs += [np.full(rows, np.nan, np.float32) for _ in range(2)]
    inputs = [x, scale, shift, mask.reshape(1, -1).astype(np.int8)]
    found = run_kernel(build_fused_rows(spec, TARGET), outs, inputs)

    exact = x.astype(np.float64)
    centred = exact - exact.mean(1, keepdims=True)
    power = (centred**2).mean(1, keepdims=True)
    column = shift[:, None].astype(np.float64)
    y = centred / (power + column) * np.tile(scale, (rows // 3, 1)) + column
    e = np.where(mask, np.exp(y), 0)
    total = e.sum(1, keepdims=True)
    for array, wanted in zip(found, (e / total, total[:, 0], power[:, 0]), strict=True):
        assert relative_error(array, wanted) < 4e-6


def test_rows_of_operands() -> None:
    space = (2, 3, 5, 8)
    shapes = {
        space: 30,
        (5, 8): 5,
        (1, 3, 5, 1): 15,
        (8,): 1,
        (1, 1): 1,
        (): 1,
        (2, 1, 5, 8): None,
        (5, 4): None,
    }
    assert {shape: rows_of_operand(shape, space) for shape in shapes} == shapes
