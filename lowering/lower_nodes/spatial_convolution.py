"""Convolutions over volumes, as convolutions over planes.

A volume is a batch of planes: the taps along the depth become input channels of one
convolution over a plane.

    %1 = glow.conv3d %x, %w : tensor<1x8x4x6x6xf32>     // weights 8x3x3x3x3
  becomes
    %0 = ... the three planes that each output plane reads ... : tensor<4x9x8x8xf32>
    %1 = glow.conv2d %0, %v : tensor<4x8x6x6xf32>       // weights 8x9x3x3, transposed
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder


def conv3d(op: Operation) -> None:
    """A convolution of planes whose channels are all taps along the depth."""
    assert isinstance(op, glow.Conv3dOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    batch, outputs, depth, *plane = shape_of(op.result)
    group, per_group = attributes.int("group"), shape_of(op.weights)[1]
    strides, pads = attributes.ints("strides"), attributes.ints("pads")
    taps = [
        _planes(builder, value, (batch * depth, group, per_group))
        for value in _depth_taps(builder, op, depth)
    ]
    joined = builder.node(glow.ConcatOp, *taps, axis=2)
    rows = shape_of(joined)[3:]
    image = builder.reshape(joined, (batch * depth, prod(shape_of(joined)[1:3]), *rows))
    result = builder.node(
        glow.Conv2dOp,
        image,
        _depth_in_channels(builder, op.weights),
        *([] if op.bias is None else [op.bias]),
        strides=strides[1:],
        pads=[pads[1], pads[2], pads[4], pads[5]],
        dilations=attributes.ints("dilations")[1:],
        group=group,
    )
    result = builder.reshape(result, (batch, depth, outputs, *plane))
    builder.replace(builder.transpose(result, (0, 2, 1, 3, 4)))


def _depth_taps(builder: NodeBuilder, op: glow.Conv3dOp, depth: int) -> list[SSAValue]:
    """For each tap along the depth the planes that it reads: [N, C, OD, H, W]."""
    attributes = op.attributes_view()
    stride, dilation = attributes.ints("strides")[0], attributes.ints("dilations")[0]
    front, back = attributes.ints("pads")[0], attributes.ints("pads")[3]
    padded = op.input
    if front or back:
        pads = [0, 0, front, 0, 0, 0, 0, back, 0, 0]
        padded = builder.node(glow.PadOp, padded, pads=pads)
    sizes = [*shape_of(padded)[:2], depth, *shape_of(padded)[3:]]
    return [
        builder.node(
            glow.SliceOp,
            padded,
            starts=[0, 0, tap * dilation, 0, 0],
            sizes=sizes,
            steps=[1, 1, stride, 1, 1],
        )
        for tap in range(shape_of(op.weights)[2])
    ]


def _planes(builder: NodeBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """[N, C, OD, H, W] as planes [N * OD, group, C / group, H, W]."""
    planes = builder.transpose(value, (0, 2, 1, 3, 4))
    return builder.reshape(planes, (*shape, *shape_of(planes)[3:]))


def _depth_in_channels(builder: NodeBuilder, weights: SSAValue) -> SSAValue:
    """[O, C, kd, kh, kw] as [O, kd * C, kh, kw]."""
    outputs, inputs, depth, *kernel = shape_of(weights)
    turned = builder.transpose(weights, (0, 2, 1, 3, 4))
    return builder.reshape(turned, (outputs, depth * inputs, *kernel))


LOWERINGS = {glow.Conv3dOp: conv3d}
