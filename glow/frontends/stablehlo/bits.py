"""Operations on the bits of elements: counts, total orders, neighbouring floats.

Floats are ordered by their bits as integers: those below zero backwards.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of, element_type_of
from glow.frontends.stablehlo.hlo_builder import Handlers, HloBuilder


def as_integers(builder: HloBuilder, value: SSAValue, kind: str) -> SSAValue:
    """The bits of elements as integers of the same width, `kind` "i" or "u"."""
    width = dtype_of(element_of(value)).itemsize
    return _as(builder, value, np.dtype(f"{kind}{width}"))


def _as(builder: HloBuilder, value: SSAValue, dtype: np.dtype[np.generic]) -> SSAValue:
    wanted = tensor_type(shape_of(value), element_type_of(dtype))
    if value.type == wanted:
        return value
    return builder.create(glow.BitcastOp, [value], {}, types=[wanted])


def _with_number(
    builder: HloBuilder, node: type[NodeOp], value: SSAValue, number: int
) -> SSAValue:
    """A node of a value and one number of its type."""
    array = np.array(number, dtype_of(element_of(value)))
    return builder.node(node, value, builder.put(array))


def total_order(builder: HloBuilder, value: SSAValue) -> SSAValue:
    """Integers that are ordered as floats are, -0 before 0, NaN at both ends (IEEE 754)."""
    signed = as_integers(builder, value, "i")
    width = 8 * dtype_of(element_of(signed)).itemsize
    sign = _with_number(builder, glow.ShiftRightOp, signed, width - 1)
    turned = _with_number(builder, glow.BitwiseAndOp, sign, 2 ** (width - 1) - 1)
    return builder.node(glow.BitwiseXorOp, signed, turned)


def _count_ones(builder: HloBuilder, bits: SSAValue) -> SSAValue:
    """Ones in unsigned integers: of pairs, of fours, of bytes, and their sum in the top byte."""
    width = 8 * dtype_of(element_of(bits)).itemsize
    ones = (1 << width) - 1

    def masked(value: SSAValue, distance: int, every: int) -> SSAValue:
        if distance:
            value = _with_number(builder, glow.ShiftRightOp, value, distance)
        return _with_number(builder, glow.BitwiseAndOp, value, ones // every)

    pairs = builder.node(glow.SubOp, bits, masked(bits, 1, 3))
    fours = builder.node(glow.AddOp, masked(pairs, 0, 5), masked(pairs, 2, 5))
    shifted = _with_number(builder, glow.ShiftRightOp, fours, 4)
    octets = masked(builder.node(glow.AddOp, fours, shifted), 0, 17)
    total = _with_number(builder, glow.MulOp, octets, ones // 255)
    return _with_number(builder, glow.ShiftRightOp, total, width - 8)


def count_ones(builder: HloBuilder) -> SSAValue:
    """How many bits are set."""
    (value,) = builder.op.operands
    counts = _count_ones(builder, as_integers(builder, value, "u"))
    return _as(builder, counts, dtype_of(element_of(value)))


def count_leading_zeros(builder: HloBuilder) -> SSAValue:
    """The width without the ones of what has ones behind its first one."""
    (value,) = builder.op.operands
    bits = as_integers(builder, value, "u")
    width, distance = 8 * dtype_of(element_of(bits)).itemsize, 1
    while distance < width:
        shifted = _with_number(builder, glow.ShiftRightOp, bits, distance)
        bits = builder.node(glow.BitwiseOrOp, bits, shifted)
        distance *= 2
    zeros = _count_ones(builder, builder.node(glow.BitwiseNotOp, bits))
    return _as(builder, zeros, dtype_of(element_of(value)))


def next_after(builder: HloBuilder) -> SSAValue:
    """The float beside x in the direction of y; y where they are equal, NaN of NaN."""
    x, y = builder.op.operands
    node, dtype = builder.node, dtype_of(element_of(x))
    bits = as_integers(builder, x, "i")
    smallest = np.iinfo(dtype_of(element_of(bits)).name).min
    is_zero = node(glow.EqualOp, x, builder.number(0, x))
    is_rising = node(glow.LessOp, x, y)
    sign = _with_number(
        builder, glow.BitwiseAndOp, as_integers(builder, y, "i"), smallest
    )
    tiny = _with_number(builder, glow.BitwiseOrOp, sign, 1)
    is_negative = node(glow.LessOp, x, builder.number(0, x))
    grows = node(glow.XorOp, is_rising, is_negative)
    up = _with_number(builder, glow.AddOp, bits, 1)
    down = _with_number(builder, glow.SubOp, bits, 1)
    moved = node(glow.SelectOp, is_zero, tiny, node(glow.SelectOp, grows, up, down))
    moved = _as(builder, moved, dtype)
    moved = node(glow.SelectOp, node(glow.EqualOp, x, y), y, moved)
    total = node(glow.AddOp, x, y)
    is_unordered = node(glow.OrOp, node(glow.IsNanOp, x), node(glow.IsNanOp, y))
    return node(glow.SelectOp, is_unordered, total, moved)


FORMATS = {(8, 7): bf16, (5, 10): f16, (8, 23): f32, (11, 52): f64}
"""By the bits of the exponent and of the mantissa."""


def reduce_precision(builder: HloBuilder) -> SSAValue:
    """There and back through a narrower type."""
    (value,) = builder.op.operands
    bits = builder.op.integer("exponent_bits"), builder.op.integer("mantissa_bits")
    if bits not in FORMATS:
        raise GlowError(
            f"{bits[0]} bits of exponent and {bits[1]} of mantissa are no type"
        )
    element = element_of(value)
    narrow = FORMATS[bits]
    if dtype_of(narrow).itemsize >= dtype_of(element).itemsize:
        return value
    return builder.convert(builder.convert(value, narrow), element)


HANDLERS: Handlers = {
    "chlo.next_after": next_after,
    "stablehlo.count_leading_zeros": count_leading_zeros,
    "stablehlo.popcnt": count_ones,
    "stablehlo.reduce_precision": reduce_precision,
}
