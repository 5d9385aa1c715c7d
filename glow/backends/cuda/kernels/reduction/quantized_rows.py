"""Rows that are quantized while a network runs, and their ranges, as work on rows."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.quantization.per_row_quantize import LEVELS
from glow.backends.cuda.kernels.reduction.rows import (
    RowPass,
    RowsSpec,
    itself,
    traced,
)
from glow.dialects import arith
from glow.lowering.loop_builder.scalar_region import RegionBuilder, ScalarRegion

RANGE = (RowPass("minimumf", traced(itself, 1)), RowPass("maximumf", traced(itself, 1)))


def with_zero(
    b: RegionBuilder, smallest: SSAValue, largest: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The range of a row and 0; NaN where the row has one."""
    zero = b.constant(0.0, f32)
    low = b.binary(arith.MinimumfOp, smallest, zero)
    return low, b.maximumf(largest, zero)


def row_range(rows: int, columns: int) -> RowsSpec:
    """The smaller of 0 and the smallest element, the larger of 0 and the largest."""
    return RowsSpec(
        rows, columns, RANGE, of_row=ScalarRegion.trace(with_zero, [f32] * 2)
    )


def clamped(b: RegionBuilder, value: SSAValue) -> SSAValue:
    """The value in [0, 255]; NaN becomes 0."""
    low, high = b.constant(0.0, f32), b.constant(LEVELS, f32)
    value = b.select(b.cmpf("ogt", value, low), value, low)
    return b.select(b.cmpf("olt", value, high), value, high)


def parameters(
    b: RegionBuilder, smallest: SSAValue, largest: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Scale and zero point of a row; the scale is NaN where the row is not finite."""
    low, high = with_zero(b, smallest, largest)
    zero, one = b.constant(0.0, f32), b.constant(1.0, f32)
    span = b.subf(high, low)
    step = b.divf(span, b.constant(LEVELS, f32))
    scale = b.select(b.cmpf("oeq", span, zero), one, step)
    not_finite = b.addf(b.mulf(low, zero), b.mulf(high, zero))
    scale = b.addf(scale, not_finite)
    ratio = b.divf(b.subf(zero, low), scale)
    point = clamped(b, b.unary(math.RoundEvenOp, ratio))
    return scale, b.cast(arith.FPToSIOp, point, i32)


def stored_byte(
    b: RegionBuilder, x: SSAValue, scale: SSAValue, point: SSAValue
) -> SSAValue:
    """What is stored of an element."""
    rounded = b.unary(math.RoundEvenOp, b.divf(x, scale))
    shifted = b.addf(rounded, b.cast(arith.SIToFPOp, point, f32))
    whole = b.cast(arith.FPToSIOp, clamped(b, shifted), i32)
    return b.cast(arith.TruncIOp, whole, i8)


def quantized_rows(rows: int, columns: int, stored: int) -> RowsSpec:
    """Bytes [rows, stored], zeros behind the columns; a scale and a zero point a row."""
    finish = ScalarRegion.trace(stored_byte, [f32, f32, i32])
    of_row = ScalarRegion.trace(parameters, [f32] * 2)
    return RowsSpec(rows, columns, RANGE, finish, of_row, stored)
