"""int16 operands as their upper and lower int8 halves, whose matmuls have kernels and are exact:

    x y  =  256 upper(x) y + lower(x) y

A zero point is cut in the same way, so that each half is padded by its own part. Accumulators of
int8 matmuls fit in i32, and their weighted sum in f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f64, i32
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import element_of
from glow.dialects.quant import quantization_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weight_table import dtype_of
from glow.lowering.lower_quantized.parts import BYTE, Parts

INT16 = 16
"""The bits of integers that have two halves."""

LOW_BYTE = (1 << BYTE) - 1

U8 = IntegerType(8, Signedness.UNSIGNED)

T = TypeVar("T")

Half: TypeAlias = tuple[SSAValue, SSAValue]
"""int8 values and their zero point."""


def int8_halves(parts: Parts, image: SSAValue) -> Sequence[Half]:
    """Stored values as int8: as they are, or the upper and the lower halves of int16.

    Each has the part of the zero point that stands in padding.
    """
    data = quantization_of(image.type)
    assert data is not None
    stored = parts.stored(image) if is_quantized(image.type) else image
    (zero,) = data.zero_points
    if data.bits <= BYTE:
        return [(stored, _point(parts, zero, stored))]
    shift = 1 << (data.bits - 1) if data.signed else 0
    wide = parts.convert(stored, i32)
    if shift:
        wide = parts.node(glow.AddOp, wide, parts.number(shift, i32))
    upper = parts.node(glow.ShiftRightOp, wide, parts.number(BYTE, i32))
    lower = parts.node(glow.BitwiseAndOp, wide, parts.number(LOW_BYTE, i32))
    high, low = divmod(zero + shift, LOW_BYTE + 1)
    bytes_ = [parts.convert(one, U8) for one in (upper, lower)]
    points = [
        _point(parts, point, one)
        for one, point in zip(bytes_, (high, low), strict=True)
    ]
    return list(zip(bytes_, points, strict=True))


def _point(parts: Parts, number: int, stored: SSAValue) -> SSAValue:
    dtype = dtype_of(element_of(stored))
    return parts.constant(np.array(number, dtype), "zero_point")


def numbered(halves: Sequence[T]) -> list[tuple[int, T]]:
    """Halves with the number of bytes that each one is above the lowest, which is the last."""
    return list(zip(range(len(halves))[::-1], halves, strict=True))


def joined(parts: Parts, terms: Sequence[tuple[int, SSAValue]]) -> SSAValue:
    """The sum of integers (i32), each of which stands for so many bytes more (f64)."""
    if len(terms) == 1:
        return terms[0][1]
    total: SSAValue | None = None
    for power, value in terms:
        wide = parts.convert(value, f64)
        if power:
            wide = parts.node(glow.MulOp, wide, parts.number(1 << BYTE * power, f64))
        total = wide if total is None else parts.node(glow.AddOp, total, wide)
    assert total is not None
    return total
