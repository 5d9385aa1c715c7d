"""Sizes of numbers by their bits.

The bits of |x| as an integer are in the order of the numbers, infinity and NaN above all finite
ones. Their maximum takes two instructions a register and, unlike that of floats, loses no NaN.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.vector_row import Fold, Read, fold_row

MAGNITUDE = 0x7FFFFFFF
"""All bits but the sign."""
INFINITY = 0x7F800000
"""The bits of infinity."""
EXPONENT_BITS = 23
"""Where the exponent starts."""


def magnitude(builder: LoopBuilder, value: SSAValue) -> SSAValue:
    """The bits of |x| of f32 (vectors)."""
    bits = builder.bitcast(value, i32)
    return builder.binary_integer(arith.AndIOp, bits, builder.like(MAGNITUDE, bits))


def larger_magnitude(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The larger of two magnitudes."""
    return builder.binary_integer(arith.MaxSIOp, a, b)


def largest_magnitude(builder: LoopBuilder, extent: int, read: Read) -> SSAValue:
    """The largest magnitude of a run of f32."""

    def bits(position: Index, length: int) -> SSAValue:
        return magnitude(builder, read(position, length))

    return fold_row(builder, extent, i32, bits, Fold(larger_magnitude, "maxsi", 0))
