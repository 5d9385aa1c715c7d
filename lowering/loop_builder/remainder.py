"""C's `fmod` of f32, on scalars and vectors: exact, by long division of the mantissas.

    x = m 2^e, y = n 2^f, |x| >= |y|:  r = 0; for each of the 24 + e - f bits of m 2^(e - f):
                                           r = 2 r + bit;  if r >= n: r = r - n
    fmod(x, y) = r 2^f, with the sign of x

The loop takes as many turns as the lane with the largest quotient needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

_MANTISSA_BITS, _MANTISSA_MASK, _IMPLIED_BIT = 23, 0x7FFFFF, 0x800000
_DIGITS = _MANTISSA_BITS + 1
_MOST_TURNS = _DIGITS + 254
_INFINITY = float("inf")


def _parts(b: LoopBuilder, size: SSAValue) -> tuple[SSAValue, SSAValue]:
    """m and the field of e of a positive number; those below the smallest normal share its e."""
    bits = b.bitcast(size, i32)
    field = b.binary_integer(arith.ShRUIOp, bits, b.like(_MANTISSA_BITS, bits))
    fraction = b.binary_integer(arith.AndIOp, bits, b.like(_MANTISSA_MASK, bits))
    whole = b.binary_integer(arith.OrIOp, fraction, b.like(_IMPLIED_BIT, bits))
    is_normal = b.cmpi("ne", field, b.like(0, field))
    field = b.binary_integer(arith.MaxSIOp, field, b.like(1, field))
    return b.select(is_normal, whole, fraction), field


def _largest(b: LoopBuilder, turns: SSAValue) -> Index:
    """The largest of some numbers of turns."""
    shape = types.shape_of(turns)
    if len(shape) > 1:
        return _MOST_TURNS
    largest = b.reduction("maxsi", turns) if shape else turns
    return b.value(arith.IndexCastOp, (largest,), types.INDEX)


def _divided(
    b: LoopBuilder, dividend: SSAValue, divisor: SSAValue, turns: SSAValue
) -> SSAValue:
    """The rest that the first bits of a mantissa, and zeros behind it, leave."""
    one, zero = b.like(1, turns), b.like(0, turns)
    unused = b.like(types.bit_width(i32) - _DIGITS, turns)
    left_bits = b.binary_integer(arith.ShLIOp, dividend, unused)
    last = b.like(types.bit_width(i32) - 1, turns)

    def turn(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        rest, bits, left = carried
        raised = b.binary_integer(arith.ShLIOp, rest, one)
        bit = b.binary_integer(arith.ShRUIOp, bits, last)
        raised = b.binary_integer(arith.OrIOp, raised, bit)
        lowered = b.binary_integer(arith.SubiOp, raised, divisor)
        lowered = b.select(b.cmpi("sge", raised, divisor), lowered, raised)
        is_left = b.cmpi("sgt", left, zero)
        return [
            b.select(is_left, lowered, rest),
            b.binary_integer(arith.ShLIOp, bits, one),
            b.binary_integer(arith.SubiOp, left, one),
        ]

    return b.carry(0, _largest(b, turns), 1, [zero, left_bits, turns], turn)[0]


def remainder(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """x - y trunc(x / y); NaN of an infinite x and of a y that is 0."""
    size, limit = b.unary(math.AbsFOp, x), b.unary(math.AbsFOp, y)
    (dividend, field), (divisor, last_field) = _parts(b, size), _parts(b, limit)
    turns = b.binary_integer(arith.SubiOp, field, last_field)
    turns = b.binary_integer(arith.AddiOp, turns, b.like(_DIGITS, turns))
    turns = b.binary_integer(arith.MaxSIOp, turns, b.like(0, turns))
    rest = b.cast(arith.SIToFPOp, _divided(b, dividend, divisor, turns), f32)
    power = b.binary_integer(
        arith.ShLIOp, last_field, b.like(_MANTISSA_BITS, last_field)
    )
    rest = b.mulf(b.mulf(rest, b.like(2.0**-23, x)), b.bitcast(power, f32))
    rest = b.binary(math.CopySignOp, rest, x)
    result = b.select(b.cmpf("olt", size, limit), x, rest)
    is_finite = b.cmpf("olt", size, b.like(_INFINITY, x))
    has_rest = b.cmpf("ogt", limit, b.like(0.0, x))
    is_number = b.binary_integer(arith.AndIOp, is_finite, has_rest)
    return b.select(is_number, result, b.like(float("nan"), x))
