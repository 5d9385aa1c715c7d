"""Convolutions as `convolution`, matrix products as `dot_general`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import ints_attr
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import NodeOp, shape_of
from glow.exporters.programs.writer import Handler, result_type
from glow.exporters.stablehlo.hlo_writer import HloWriter


def with_bias(
    writer: HloWriter, value: SSAValue, inputs: Sequence[SSAValue]
) -> SSAValue:
    """A convolution's result plus the bias of each channel, if there is one."""
    if len(inputs) < 3:
        return value
    bias = writer.broadcast(inputs[2], shape_of(value), [1])
    return writer.op("add", value, bias)


def convolution(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """A convolution over planes or volumes."""
    view = op.attributes_view()
    pads, axes = view.ints("pads"), len(shape_of(inputs[0])) - 2
    window = {
        "window_strides": view.ints("strides"),
        "rhs_dilation": view.ints("dilations"),
    }
    padding = list(zip(pads[:axes], pads[axes:], strict=True))
    result = writer.convolution(
        inputs[0], inputs[1], result_type(op), window, padding, view.int("group")
    )
    return with_bias(writer, result, inputs)


def transposed_convolution(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """A convolution of the input with zeros between, whose kernel is turned round."""
    view = op.attributes_view()
    group, pads, dilations = (
        view.int("group"),
        view.ints("pads"),
        view.ints("dilations"),
    )
    kernel = turned_kernel(writer, inputs[1], group)
    axes = len(shape_of(kernel)) - 2
    padding = [
        (
            (extent - 1) * dilations[axis] - pads[axis],
            (extent - 1) * dilations[axis]
            - pads[axes + axis]
            + view.ints("output_padding")[axis],
        )
        for axis, extent in enumerate(shape_of(kernel)[2:])
    ]
    window = {"lhs_dilation": view.ints("strides"), "rhs_dilation": dilations}
    result = writer.convolution(
        inputs[0], kernel, result_type(op), window, padding, group
    )
    return with_bias(writer, result, inputs)


def turned_kernel(writer: HloWriter, weights: SSAValue, group: int) -> SSAValue:
    """[C, M / group, k...] as [M, C / group, k...], reversed along k."""
    inputs, outputs, *kernel = shape_of(weights)
    spatial = range(2, 2 + len(kernel))
    value = writer.op("reverse", weights, dimensions=ints_attr(*spatial))
    value = writer.reshape(value, (group, inputs // group, outputs, *kernel))
    order = [0, 2, 1, *(axis + 1 for axis in spatial)]
    value = writer.transpose(value, order)
    return writer.reshape(value, (group * outputs, inputs // group, *kernel))


def matmul(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """[..., M, K] x [..., K, N]; a matrix on the right needs no batch."""
    lhs, rhs = inputs
    view = op.attributes_view()
    turned = view.has("transpose_lhs"), view.has("transpose_rhs")
    if len(shape_of(rhs)) == 2 and not turned[0]:
        lists = {
            "lhs_contracting_dimensions": [len(shape_of(lhs)) - 1],
            "rhs_contracting_dimensions": [int(turned[1])],
        }
        return writer.dot(lhs, rhs, lists, result_type(op))
    batch = broadcast_shape([shape_of(lhs)[:-2], shape_of(rhs)[:-2]])
    lhs, rhs = (writer.broadcast(one, (*batch, *shape_of(one)[-2:])) for one in inputs)
    count = len(batch)
    lists = {
        "lhs_batching_dimensions": range(count),
        "rhs_batching_dimensions": range(count),
        "lhs_contracting_dimensions": [count + int(not turned[0])],
        "rhs_contracting_dimensions": [count + int(turned[1])],
    }
    return writer.dot(lhs, rhs, lists, result_type(op))


HANDLERS: Mapping[type[Operation], Handler[HloWriter]] = {
    glow.Conv2dOp: convolution,
    glow.Conv3dOp: convolution,
    glow.ConvTranspose2dOp: transposed_convolution,
    glow.ConvTranspose3dOp: transposed_convolution,
    glow.MatmulOp: matmul,
}
