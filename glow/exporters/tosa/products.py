"""Convolutions and pools on images with channels last, and products of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import ints_attr
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.exporters.failures import CannotExport
from glow.exporters.programs.reductions import reach_of
from glow.exporters.programs.writer import Handler
from glow.exporters.tosa.tosa_writer import TosaWriter

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""The orders of axes that put channels there."""


def fitted(
    writer: TosaWriter, value: SSAValue, pads: Sequence[int], ends: Sequence[int]
) -> tuple[SSAValue, list[int]]:
    """An image [N, H, W, C] and pads of which windows read all: [top, bottom, left, right]."""
    batch, height, width, channels = shape_of(value)
    kept = [batch, height + min(ends[0], 0), width + min(ends[1], 0), channels]
    cut = writer.slice(value, [0] * 4, kept)
    return cut, [pads[0], max(ends[0], 0), pads[1], max(ends[1], 0)]


def _convolution(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    element = element_of(inputs[0])
    return writer.transpose(convolution(writer, op, inputs, (0, 0), element), FIRST)


def convolution(
    writer: TosaWriter,
    op: NodeOp,
    inputs: Sequence[SSAValue],
    zeros: Sequence[int],
    total: Attribute,
) -> SSAValue:
    """Sums [N, H, W, C] of elements less their zero points.

    Channels by themselves have an operation of their own.
    """
    view, (value, weights, *bias) = op.attributes_view(), inputs
    outputs, _, *kernel = shape_of(weights)
    strides, dilations = view.ints("strides"), view.ints("dilations")
    channels, result, element = (
        shape_of(value)[1],
        shape_of(op.results[0]),
        element_of(value),
    )
    ends = [
        (result[2 + axis] - 1) * strides[axis]
        + (kernel[axis] - 1) * dilations[axis]
        + 1
        - shape_of(value)[2 + axis]
        - view.ints("pads")[axis]
        for axis in (0, 1)
    ]
    image, pads = fitted(writer, writer.transpose(value, LAST), view.ints("pads"), ends)
    is_depthwise = view.int("group") > 1
    name, order = "conv2d", [0, 2, 3, 1]
    if is_depthwise:
        name, order = "depthwise_conv2d", [2, 3, 0, 1]
        weights = writer.reshape(weights, [channels, outputs // channels, *kernel])
    filters = writer.transpose(weights, order)
    addend = bias[0] if bias else writer.splat(0, [outputs], total)
    properties: dict[str, Attribute] = {
        "pad": ints_attr(*pads),
        "stride": ints_attr(*strides),
        "dilation": ints_attr(*dilations),
        "acc_type": total,
    }
    points = [writer.one(zero, element) for zero in zeros]
    to = tensor_type([result[0], *result[2:], outputs], total)
    return writer.op(name, image, filters, addend, *points, to=to, **properties)


def _pool(
    writer: TosaWriter, op: NodeOp, value: SSAValue, name: str, more: int
) -> SSAValue:
    view, result = op.attributes_view(), shape_of(op.results[0])
    if set(view.ints("dilations")) != {1}:
        raise CannotExport("with dilations")
    element, given = element_of(value), view.ints("pads")
    image, ends = writer.transpose(value, LAST), reach_of(op)
    if name == "avg_pool2d" and view.has("count_include_pad"):
        low, high = given[:2], given[2:]
        image = writer.pad(image, [0, *low, 0], [0, *high, 0], 0)
        ends = [end - pad for end, pad in zip(ends, high, strict=True)]
        given = (0, 0, 0, 0)
    image, pads = fitted(writer, image, given, ends)
    properties: dict[str, Attribute] = {
        "kernel": ints_attr(*view.ints("kernel")),
        "stride": ints_attr(*view.ints("strides")),
        "pad": ints_attr(*pads),
    }
    if more:
        properties["acc_type"] = element
    zeros = [writer.zero_point(element) for _ in range(more)]
    to = tensor_type([result[0], *result[2:], result[1]], element)
    return writer.transpose(writer.op(name, image, *zeros, to=to, **properties), FIRST)


def max_pool(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """The largest of each window."""
    return _pool(writer, op, inputs[0], "max_pool2d", 0)


def average_pool(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """The mean of the elements inside, or of a padded image."""
    return _pool(writer, op, inputs[0], "avg_pool2d", 2)


def matmul(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """A product of floats."""
    product = multiplied(writer, op, inputs, (0, 0), element_of(inputs[0]))
    return writer.reshape(product, shape_of(op.results[0]))


def multiplied(
    writer: TosaWriter,
    op: NodeOp,
    inputs: Sequence[SSAValue],
    zeros: Sequence[int],
    total: Attribute,
) -> SSAValue:
    """Sums [B, M, N] of elements less their zero points.

    All batches are one axis; rows of one matrix are rows of a larger one.
    """
    turned = {"transpose_lhs", "transpose_rhs"} & set(op.property_names())
    view = op.attributes_view()
    turned = {name for name in turned if view.has(name)}
    lhs = _turned(writer, inputs[0], "transpose_lhs" in turned)
    rhs = _turned(writer, inputs[1], "transpose_rhs" in turned)
    if len(shape_of(rhs)) == 2:
        rows = prod(shape_of(lhs)[:-1])
        flat = writer.reshape(lhs, [1, rows, shape_of(lhs)[-1]])
        matrix = writer.reshape(rhs, [1, *shape_of(rhs)])
        return writer.product(flat, matrix, zeros, total)
    batch = broadcast_shape([shape_of(lhs)[:-2], shape_of(rhs)[:-2]])
    operands: list[SSAValue] = []
    for value in (lhs, rhs):
        matrix = shape_of(value)[-2:]
        own = [*[1] * (len(batch) + 2 - len(shape_of(value))), *shape_of(value)]
        value = writer.tile(writer.reshape(value, own), [*batch, *matrix])
        operands.append(writer.reshape(value, [prod(batch), *matrix]))
    return writer.product(operands[0], operands[1], zeros, total)


def _turned(writer: TosaWriter, value: SSAValue, turned: bool) -> SSAValue:
    rank = len(shape_of(value))
    order = [*range(rank - 2), rank - 1, rank - 2]
    return writer.transpose(value, order) if turned else value


HANDLERS: Mapping[type[Operation], Handler[TosaWriter]] = {
    glow.Conv2dOp: _convolution,
    glow.MaxPool2dOp: max_pool,
    glow.AvgPool2dOp: average_pool,
    glow.MatmulOp: matmul,
}
