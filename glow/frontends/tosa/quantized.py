"""Plain integers as quantized elements, and `rescale`.

TOSA's text has no scales, only zero points and the ratios of scales. So the scale of every
tensor of bytes is 1 here, and a product's weights have the ratio for theirs:

    %0 = tosa.conv2d %x, %w, %b, %xz, %wz : (i8, i8, i32, i8, i8) -> i32
    %1 = tosa.rescale %0, %multiplier, %shift, %zero, %yz {per_channel = true} : ... -> i8
  becomes
    %0 = glow.conv2d %x, %w, %b : quantized with scales 1, multiplier * 2**-shift, 1

Ours rounds the product with an f32 once, to even; TOSA rounds integers half up: results are at
most one step apart. Every other `rescale` is computed in 64-bit integers as TOSA says, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow import AddOp, Conv2dIntegerOp, TransposeOp
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.quant import (
    Quantization,
    UniformQuantizedType,
    storage_cast,
)
from glow.dialects.quantized import stored_type
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.tosa.tosa_builder import Handlers, TosaBuilder
from glow.passes.rewriting.node_builder import attributes_of

NARROW = 8
"""Bits of the operands of products."""

FIRST_HALF = 31
"""DOUBLE_ROUND rounds twice where the shift is longer."""


def unit_type(value: SSAValue, zero_point: int) -> UniformQuantizedType:
    """Elements of a value under scale 1."""
    element = element_of(value)
    if isinstance(element, UniformQuantizedType):
        bits, signed = element.data.bits, element.data.signed
    else:
        dtype = dtype_of(element)
        bits, signed = 8 * dtype.itemsize, dtype.kind == "i"
    return UniformQuantizedType(Quantization(bits, signed, (1.0,), (zero_point,)))


def as_quantized(
    builder: TosaBuilder, value: SSAValue, element: UniformQuantizedType
) -> SSAValue:
    """Plain integers under a scale and a zero point."""
    wanted = tensor_type(shape_of(value), element)
    array = builder.known(value)
    if array is not None:
        held = np.ascontiguousarray(array).reshape(array.shape)
        return builder.quantized_constant(held, element.data, "weights")
    return builder.insert(storage_cast(value, wanted)).results[0]


def as_stored(builder: TosaBuilder, value: SSAValue) -> SSAValue:
    """The integers of quantized elements."""
    target = stored_type(cast("TensorType[Attribute]", value.type))
    return builder.insert(storage_cast(value, target)).results[0]


@dataclass(frozen=True)
class Rescale:
    """What a `rescale` says: `value - before` times `multipliers * 2**-shifts`, plus `behind`."""

    multipliers: Sequence[int]
    shifts: Sequence[int]
    before: int
    behind: int
    rounds_twice: bool

    @property
    def scales(self) -> Array:
        """The numbers that it multiplies by."""
        return np.array(self.multipliers, float) * 2.0 ** -np.array(self.shifts, float)


def rescale(builder: TosaBuilder) -> SSAValue:
    """Integers under another scale and zero point."""
    op = builder.op
    if builder.flag("input_unsigned") or builder.flag("output_unsigned"):
        raise GlowError("unsigned elements are not supported")
    found = Rescale(
        builder.numbers(op.operands[1], "the multiplier"),
        builder.numbers(op.operands[2], "the shift"),
        builder.zero_point(3),
        builder.zero_point(4),
        builder.word("rounding_mode") == "DOUBLE_ROUND",
    )
    return _product(builder, found) or _exactly(builder, found)


def _exactly(builder: TosaBuilder, how: Rescale) -> SSAValue:
    """In integers of 64 bits: half is added, and bits are shifted out."""
    value = builder.convert(builder.op.operands[0], i64)
    if how.before:
        value = builder.node(glow.SubOp, value, builder.number(how.before, value))
    shifts = np.array(how.shifts, np.int64)
    multipliers = _numbers(builder, np.array(how.multipliers, np.int64))
    product = builder.node(glow.MulOp, value, multipliers)
    halves = _numbers(builder, np.int64(1) << (shifts - 1))
    total = builder.node(AddOp, product, halves)
    if how.rounds_twice:
        total = builder.node(AddOp, total, _first_half(builder, value, shifts))
    result = builder.node(glow.ShiftRightOp, total, _numbers(builder, shifts))
    if how.behind:
        result = builder.node(AddOp, result, builder.number(how.behind, result))
    return saturated(builder, result)


def _first_half(
    builder: TosaBuilder, value: SSAValue, shifts: npt.NDArray[np.int64]
) -> SSAValue:
    """What DOUBLE_ROUND adds before long shifts, with the sign of the value."""
    more = np.where(shifts > FIRST_HALF, np.int64(1) << 30, np.int64(0))
    up, down = _numbers(builder, more), _numbers(builder, -more)
    is_negative = builder.node(glow.LessOp, value, builder.number(0, value))
    return builder.node(glow.SelectOp, is_negative, down, up)


def saturated(builder: TosaBuilder, value: SSAValue) -> SSAValue:
    """Wide integers as those of the operation's result."""
    target = builder.result.element_type
    bounds = np.iinfo(dtype_of(target).name)
    value = builder.clamp(value, int(bounds.min), int(bounds.max))
    return builder.convert(value, target)


def _numbers(builder: TosaBuilder, array: Array) -> SSAValue:
    """One number, or one for each index of the last axis."""
    if array.size == 1:
        return builder.put(array.reshape(()))
    return builder.put(array, "rescale")


@dataclass(frozen=True)
class Product:
    """A convolution of integers, what is added to it, and how its axes are moved then."""

    node: Conv2dIntegerOp
    bias: SSAValue | None
    order: Sequence[int]

    @classmethod
    def read(cls, value: SSAValue) -> Product | None:
        """The product that a value is, if nothing else reads it."""
        order, bias, owner = range(len(shape_of(value))), None, value.owner
        if isinstance(owner, TransposeOp) and value.has_one_use():
            order = owner.attributes_view().ints("permutation")
            value, owner = owner.input, owner.input.owner
        if isinstance(owner, AddOp) and value.has_one_use():
            value, bias = owner.lhs, owner.rhs
        node = value.owner
        if not isinstance(node, Conv2dIntegerOp) or not value.has_one_use():
            return None
        return cls(node, bias, order)


def _product(builder: TosaBuilder, how: Rescale) -> SSAValue | None:
    """The product that only this `rescale` reads, on quantized elements; None for others."""
    found = Product.read(builder.op.operands[0])
    dtype = dtype_of(builder.result.element_type)
    if found is None or how.before or dtype.itemsize * 8 != NARROW:
        return None
    node, weights = found.node, builder.known(found.node.weights)
    points = _points(builder, node)
    bias = None if found.bias is None else builder.known(found.bias)
    if weights is None or points is None or (bias is None) != (found.bias is None):
        return None
    scales = np.broadcast_to(how.scales.astype(np.float32), weights.shape[:1])
    operands = [
        as_quantized(builder, node.input, unit_type(node.input, points[0])),
        _weights(builder, weights, scales, points[1]),
    ]
    if bias is not None:
        operands.append(_weights(builder, bias.reshape(-1), scales, 0))
    target = unit_type(builder.op.results[0], how.behind)
    wanted = tensor_type(shape_of(node.result), target)
    attributes = attributes_of(node)
    result = builder.create(glow.Conv2dOp, operands, attributes, types=[wanted])
    return builder.transpose(as_stored(builder, result), found.order)


def _points(builder: TosaBuilder, node: Conv2dIntegerOp) -> tuple[int, int] | None:
    """The zero points of a convolution's operands, which are constants."""
    found: list[int] = []
    for point in (node.input_zero_point, node.weights_zero_point):
        array = None if point is None else builder.known(point)
        if array is None or array.size != 1:
            return None
        found.append(int(array.item()))
    return found[0], found[1]


def _weights(
    builder: TosaBuilder, stored: Array, scales: Array, zero_point: int
) -> SSAValue:
    """A constant with a scale for each index of axis 0."""
    dtype = stored.dtype
    data = Quantization(
        8 * dtype.itemsize,
        dtype.kind == "i",
        tuple(float(one) for one in scales),
        (zero_point,) * len(scales),
        0,
    )
    held = np.ascontiguousarray(stored).reshape(stored.shape)
    return builder.quantized_constant(held, data, "weights")


HANDLERS: Handlers = {"rescale": rescale}
