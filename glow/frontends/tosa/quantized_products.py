"""Products of integers, and what sums are multiplied with, as products of quantized elements.

    %0 = tosa.conv2d %x, %w, %b, %xz, %wz : (i8, i8, i32, i8, i8) -> i32
    %1 = tosa.rescale %0, %multiplier, %shift, %zero, %yz {per_channel = true} : ... -> i8
  becomes
    %1 = glow.conv2d %x, %w, %b : quantized with scales 1, multiplier * 2**-shift, 1

Constant weights have a scale for each channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.quant import UniformQuantizedType
from glow.dialects.weight_table import Array
from glow.frontends.tosa.quantized import (
    as_quantized,
    channels,
    element,
    quantized_node,
)
from glow.frontends.tosa.tosa_builder import TosaBuilder
from glow.passes.rewriting.node_builder import attributes_of


@dataclass(frozen=True)
class Product:
    """A product of integers, what is added to it, and how its axes are moved then."""

    node: glow.Conv2dIntegerOp | glow.MatmulIntegerOp
    points: tuple[int, int]
    bias: Array | None
    order: Sequence[int]

    @classmethod
    def read(cls, builder: TosaBuilder, value: SSAValue) -> Product | None:
        """The product that a value is, if nothing else reads it."""
        order, bias, owner = range(len(shape_of(value))), None, value.owner
        if not _is_read_once(value):
            return None
        if isinstance(owner, glow.TransposeOp):
            order = owner.attributes_view().ints("permutation")
            value, owner = owner.input, owner.input.owner
        if isinstance(owner, glow.AddOp):
            value, bias = owner.lhs, builder.known(owner.rhs)
            if bias is None:
                return None
        node = value.owner
        if not isinstance(node, glow.Conv2dIntegerOp | glow.MatmulIntegerOp):
            return None
        points, axis = _points(builder, node), CHANNELS[type(node)]
        if points is None or not _is_read_once(value):
            return None
        if bias is not None:
            channels = (shape_of(node.result)[axis], *[1] * (-1 - axis))
            if bias.size > 1 and bias.shape[axis:] != channels:
                return None
            bias = bias.reshape(-1)
        return cls(node, points, bias, order)


CHANNELS: Mapping[type[NodeOp], int] = {
    glow.Conv2dIntegerOp: -3,
    glow.MatmulIntegerOp: -1,
}
"""The axis of a product's channels."""


def _is_read_once(value: SSAValue) -> bool:
    """Whether one node reads a value, but for those that find sums to correct."""
    readers = [use.operation for use in value.uses]
    return sum(not isinstance(one, glow.EqualOp) for one in readers) == 1


def quantized_product(
    builder: TosaBuilder, value: SSAValue, scales: Array, point: int
) -> SSAValue | None:
    """A product whose sums are multiplied with f32 numbers; None for others.

    Products with constant weights may have one number for each channel.
    """
    found = Product.read(builder, value)
    if found is None:
        return None
    node, weights = found.node, builder.known(found.node.operands[1])
    target = element(node.operands[0], point)
    if isinstance(node, glow.Conv2dIntegerOp):
        if weights is None:
            return None
        operands = _factors(builder, found, weights, scales, 0)
        wanted = tensor_type(shape_of(node.result), target)
        attributes = attributes_of(node)
        result = quantized_node(builder, glow.Conv2dOp, operands, wanted, attributes)
        return builder.transpose(result, found.order)
    if weights is not None and weights.ndim == 3 and weights.shape[0] == 1:
        wanted = tensor_type(shape_of(node.result)[1:], target)
        operands = _factors(builder, found, weights[0], scales, 1)
        if len(shape_of(operands[0])) != 3 or shape_of(operands[0])[0] != 1:
            return None
        operands[0] = builder.reshape(operands[0], shape_of(operands[0])[1:])
        result = quantized_node(builder, glow.FullyConnectedOp, operands, wanted)
        return builder.reshape(result, shape_of(node.result))
    return _of_tensors(builder, found, scales, target)


def _of_tensors(
    builder: TosaBuilder, found: Product, scales: Array, target: UniformQuantizedType
) -> SSAValue | None:
    """A product of two activations."""
    if found.bias is not None or scales.size > 1:
        return None
    lhs, rhs = found.node.operands[:2]
    operands = [
        as_quantized(builder, lhs, element(lhs, found.points[0])),
        as_quantized(builder, rhs, element(rhs, found.points[1], float(scales.item()))),
    ]
    wanted = tensor_type(shape_of(found.node.result), target)
    return quantized_node(builder, glow.MatmulOp, operands, wanted)


def _factors(
    builder: TosaBuilder, found: Product, weights: Array, scales: Array, axis: int
) -> list[SSAValue]:
    """The operands of a product with constant weights, which have the scales."""
    value = found.node.operands[0]
    held = np.ascontiguousarray(weights)
    data = channels(held, scales, found.points[1], axis)
    operands = [
        as_quantized(builder, value, element(value, found.points[0])),
        builder.quantized_constant(held, data, "weights"),
    ]
    if found.bias is not None:
        full = np.broadcast_to(found.bias, weights.shape[axis : axis + 1])
        bias = np.ascontiguousarray(full)
        data = channels(bias, scales, 0, 0)
        operands.append(builder.quantized_constant(bias, data, "bias"))
    return operands


def _points(
    builder: TosaBuilder, node: glow.Conv2dIntegerOp | glow.MatmulIntegerOp
) -> tuple[int, int] | None:
    """The zero points of a product's operands, which are constants."""
    found: list[int] = []
    for point in node.operands[2:4]:
        array = builder.known(point)
        if array is None or array.size != 1:
            return None
        found.append(int(array.item()))
    return (found[0], found[1]) if len(found) == 2 else None
