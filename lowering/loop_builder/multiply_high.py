"""The upper halves of 64-bit products of 32-bit integers, without widening the vectors.

A register of products takes two multiplications: of the even and of the odd lanes, which lie in
64 bits each. Fixed-point arithmetic asks for the upper halves, as

    trunc((ext(a) * ext(b)) >> 32)
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.value_builder import ValueBuilder

WORD = 32


def upper_half_factors(shifted: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """The vectors of i32 of whose products a vector of i64 is the upper halves, if any."""
    shape, shift = types.shape_of(shifted), shifted.owner
    if not isinstance(shift, arith.ShRSIOp) or not shape or shape[-1] % 2:
        return None
    product = shift.lhs.owner
    if not isinstance(product, arith.MuliOp):
        return None
    lhs, rhs = extended(product.lhs), extended(product.rhs)
    return None if lhs is None or rhs is None else (lhs, rhs)


def extended(value: SSAValue) -> SSAValue | None:
    """The i32 that a value of i64 was extended from."""
    owner = value.owner
    if not isinstance(owner, arith.ExtSIOp):
        return None
    return owner.input if types.element_of(owner.input) == i32 else None


def upper_halves(b: ValueBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The upper halves of the signed products of vectors of i32."""
    pairs = [b.bitcast(value, i64) for value in (lhs, rhs)]
    word = b.like(WORD, pairs[0])
    odd = [b.binary_integer(arith.ShRSIOp, pair, word) for pair in pairs]
    raised = [b.binary_integer(arith.ShLIOp, pair, word) for pair in pairs]
    even = [b.binary_integer(arith.ShRSIOp, pair, word) for pair in raised]
    low = b.binary_integer(arith.ShRUIOp, b.binary_integer(arith.MuliOp, *even), word)
    upper = b.like(-(1 << WORD), pairs[0])
    high = b.binary_integer(arith.AndIOp, b.binary_integer(arith.MuliOp, *odd), upper)
    return b.bitcast(b.binary_integer(arith.OrIOp, low, high), i32)
