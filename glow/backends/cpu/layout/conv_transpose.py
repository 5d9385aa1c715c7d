"""Transposed convolutions with computed weights, which are gradients of convolutions' inputs.

One convolution of stride one on channel blocks, with weights turned at run time. Strides make
phases: the pixels of an output that have the same taps. Each phase has output channels of its
own, so nothing is multiplied by zeros between pixels; afterwards whole pixels change places.

    %0 = glow.conv_transpose2d %dy, %w strides [2, 2] pads [1, 1, 1, 1]
        output_padding [1, 1] : tensor<8x16x14x14xf32>
  becomes
    %0 = cpu.pack_weights %w input_lanes 16 panels ... turned strides [2, 2] pads [1, 1]
    %1 = cpu.pack %dy lanes 16 : tensor<8x2x7x7x16xf32>
    %2 = cpu.conv2d %1, %0, %zeros input_channels 32 output_channels 64 kernel [2, 2]
        pads [0, 0, 1, 1] : tensor<8x4x7x7x16xf32>
    ... reshaped, transposed, reshaped : tensor<8x1x14x14x16xf32>

Others become what `lower-nodes` makes of those with constant weights.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.ir import SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config_attributes import config_attributes
from glow.backends.cpu.dialect.weights import TurnedTaps
from glow.backends.cpu.layout.conv_shape import ConvShape, Pair
from glow.backends.cpu.layout.layout import Layout, is_f32
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder


def turned_shape(op: glow.ConvTranspose2dOp, lanes: int) -> ConvShape | None:
    """The convolution that computes it, if one does on whole blocks."""
    attributes = op.attributes_view()
    batch, inputs, *plane = shape_of(op.input)
    _, per_group, *kernel = shape_of(op.weights)
    group, strides = attributes.int("group"), attributes.ints("strides")
    dilations, pads = attributes.ints("dilations"), attributes.ints("pads")
    _, outputs, *extents = shape_of(op.result)
    if op.bias is not None or not is_f32(op.input, op.weights):
        return None
    if group > 1 and (inputs // group % lanes or per_group % lanes):
        return None
    if max(strides) == 1:
        before = [
            dilation * (size - 1) - pad
            for dilation, size, pad in zip(dilations, kernel, pads, strict=False)
        ]
        after = [
            extent + dilation * (size - 1) - length - first
            for extent, dilation, size, length, first in zip(
                extents, dilations, kernel, plane, before, strict=True
            )
        ]
        size, window = tuple(kernel), dilations
    else:
        taps = phases_of(op)
        if max(dilations) > 1 or outputs % lanes or group > 1:
            return None
        outputs *= prod(axis.phases for axis in taps)
        before = [axis.before for axis in taps]
        after = [
            -(-extent // axis.stride) + axis.count - 1 - length - axis.before
            for extent, axis, length in zip(extents, taps, plane, strict=True)
        ]
        size, window = tuple(axis.count for axis in taps), (1, 1)
    if min(*before, *after) < 0 or 2 * outputs < lanes:
        return None
    return ConvShape(
        batch,
        inputs,
        outputs,
        group,
        False,
        cast(Pair, tuple(plane)),
        cast(Pair, size),
        (1, 1),
        cast(Pair, tuple(window)),
        (before[0], before[1], after[0], after[1]),
    )


def phases_of(op: glow.ConvTranspose2dOp) -> list[TurnedTaps]:
    """The taps of the weights along each axis."""
    attributes, kernel = op.attributes_view(), shape_of(op.weights)[2:]
    strides, pads = attributes.ints("strides"), attributes.ints("pads")[:2]
    return [TurnedTaps.of(*axis) for axis in zip(kernel, strides, pads, strict=True)]


def turned_convolution(
    layout: Layout, op: glow.ConvTranspose2dOp, shape: ConvShape
) -> None:
    """Replace a transposed convolution by that of its phases."""
    builder, attributes = NodeBuilder(op), op.attributes_view()
    config = config_attributes(
        layout.packer.conv2d_config(shape, computed=True), layout.lanes
    )
    strides = attributes.ints("strides")
    weights = builder.node(
        cpu.PackWeightsOp,
        op.weights,
        group=shape.group,
        input_lanes=layout.lanes,
        panels=config["panels"],
        turned=True,
        strides=strides,
        pads=attributes.ints("pads")[:2] if max(strides) > 1 else [0, 0],
    )
    blocks = cpu.blocks(shape.output_channels, layout.lanes)
    result = builder.node(
        cpu.Conv2dOp,
        layout.blocked(builder, op.input),
        weights,
        layout.zeros(op, (blocks, layout.lanes)),
        input_channels=shape.input_channels,
        output_channels=shape.output_channels,
        group=shape.group,
        kernel=shape.kernel,
        pads=shape.pads,
        dilations=shape.dilations,
        **config,
    )
    if max(strides) > 1:
        result = _interleaved(builder, op, result)
    layout.replace(builder, result)


def _interleaved(
    builder: NodeBuilder, op: glow.ConvTranspose2dOp, result: SSAValue
) -> SSAValue:
    """[N, phases * blocks, H, W, lanes] as [N, blocks, H * stride, W * stride, lanes]."""
    rows, columns = phases_of(op)
    batch, blocks, height, width, lanes = shape_of(result)
    counts, steps = (rows.phases, columns.phases), (rows.stride, columns.stride)
    blocks //= prod(counts)
    if prod(steps) > 1:
        pixels = (batch, *counts, blocks, height, width, lanes)
        result = builder.reshape(result, pixels)
        missing = [step - count for step, count in zip(steps, counts, strict=True)]
        if any(missing):
            pads = [0] * 7 + [0, *missing, 0, 0, 0, 0]
            result = builder.node(glow.PadOp, result, pads=pads)
        result = builder.transpose(result, (0, 3, 4, 1, 5, 2, 6))
        whole = (batch, blocks, height * steps[0], width * steps[1], lanes)
        result = builder.reshape(result, whole)
    extents = shape_of(op.result)[2:]
    if shape_of(result)[2:4] != tuple(extents):
        result = builder.node(
            glow.SliceOp,
            result,
            starts=[0] * 5,
            sizes=[batch, blocks, *extents, lanes],
            steps=[1] * 5,
        )
    return result
