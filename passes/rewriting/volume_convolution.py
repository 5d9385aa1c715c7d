"""Convolutions over volumes, as convolutions over planes.

Windows that are one pixel of each plane slide over a plane of depths and pixels, which is the
same memory:

    %1 = glow.conv3d %x, %w : tensor<1x8x4x6x6xf32>     // weights 8x3x3x1x1
  becomes
    %0 = glow.reshape %x : tensor<1x3x6x36xf32>
    %1 = glow.conv2d %0, %v : tensor<1x8x4x36xf32>      // weights 8x3x3x1

Others see a volume as a batch of planes: the taps along the depth become input channels of one
convolution over a plane.

    %1 = glow.conv3d %x, %w : tensor<1x8x4x6x6xf32>     // weights 8x3x3x3x3
  becomes
    %0 = ... the three planes that each output plane reads ... : tensor<4x9x8x8xf32>
    %1 = glow.conv2d %0, %v : tensor<4x8x6x6xf32>       // weights 8x9x3x3, transposed

Everything but the first and the last transpose works on planes, those of one volume without an
axis for the batch, so that a backend may keep to its layout of planes from one volume to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import Array, constant_value
from glow.passes.rewriting.node_builder import NodeBuilder, name_of
from glow.passes.rewriting.operations import all_operations


def conv3d(op: Operation) -> None:
    """A convolution of planes: of depths and pixels, or of depths as images."""
    assert isinstance(op, glow.Conv3dOp)
    view = op.attributes_view()
    _, *strides = view.ints("strides")
    _, *before, _, _, _ = pads = view.ints("pads")
    is_depth = shape_of(op.weights)[3:] == (1, 1) and strides == [1, 1]
    if is_depth and not any((*before, *pads[4:])):
        _along_depth(op)
    else:
        _of_planes(op)


def volumes_as_planes(
    module: ModuleOp, fits: Callable[[glow.Conv3dOp], bool] = lambda op: True
) -> bool:
    """Make convolutions over planes of those over volumes that fit; whether there were any."""
    volumes = [op for op in all_operations(module) if isinstance(op, glow.Conv3dOp)]
    fitting = [op for op in volumes if fits(op)]
    for op in fitting:
        conv3d(op)
    return bool(fitting)


DEPTH_FIRST = (0, 2, 1, 3, 4)
"""Volumes [N, C, D, H, W] as [N, D, C, H, W], and back."""


def _along_depth(op: glow.Conv3dOp) -> None:
    """A convolution whose windows are columns of a plane of depths and pixels."""
    builder, view = NodeBuilder(op), op.attributes_view()
    pads = view.ints("pads")
    batch, channels, depth, height, width = shape_of(op.input)
    result = builder.node(
        glow.Conv2dOp,
        builder.reshape(op.input, (batch, channels, depth, height * width)),
        _columns_of_taps(builder, op.weights),
        *([] if op.bias is None else [op.bias]),
        strides=[view.ints("strides")[0], 1],
        pads=[pads[0], 0, pads[3], 0],
        dilations=[view.ints("dilations")[0], 1],
        group=view.int("group"),
    )
    builder.replace(builder.reshape(result, shape_of(op.result)))


def _of_planes(op: glow.Conv3dOp) -> None:
    """A convolution of planes whose channels are all taps along the depth."""
    builder, attributes = NodeBuilder(op), op.attributes_view()
    batch, outputs, depth, *plane = shape_of(op.result)
    group, per_group = attributes.int("group"), shape_of(op.weights)[1]
    strides, pads = attributes.ints("strides"), attributes.ints("pads")
    taps = _depth_taps(builder, op, depth)
    if group > 1:
        taps = [_in_groups(builder, tap, group, per_group) for tap in taps]
    joined = builder.node(glow.ConcatOp, *taps, axis=1 if group == 1 else 2)
    rows = shape_of(joined)[-2:]
    channels = shape_of(op.weights)[2] * group * per_group
    image = builder.reshape(joined, (batch * depth, channels, *rows))
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
    builder.replace(builder.transpose(result, DEPTH_FIRST))


def _depth_taps(builder: NodeBuilder, op: glow.Conv3dOp, depth: int) -> list[SSAValue]:
    """For each tap along the depth the planes that it reads: [N * OD, C, H, W]."""
    view, planes = op.attributes_view(), _padded_planes(builder, op)
    stride, dilation = view.ints("strides")[0], view.ints("dilations")[0]
    *batch, _, channels, height, width = shape_of(planes)
    none, one = [0] * len(batch), [1] * len(batch)
    taps = [
        builder.node(
            glow.SliceOp,
            planes,
            starts=[*none, tap * dilation, 0, 0, 0],
            sizes=[*batch, depth, channels, height, width],
            steps=[*one, stride, 1, 1, 1],
        )
        for tap in range(shape_of(op.weights)[2])
    ]
    shape = (prod(batch) * depth, channels, height, width)
    return [builder.reshape(tap, shape) for tap in taps]


def _padded_planes(builder: NodeBuilder, op: glow.Conv3dOp) -> SSAValue:
    """The input as [N, D, C, H, W], or [D, C, H, W] of one volume, padded along the depth."""
    planes = builder.transpose(op.input, DEPTH_FIRST)
    if shape_of(planes)[0] == 1:
        planes = builder.reshape(planes, shape_of(planes)[1:])
    front, *_ = pads = op.attributes_view().ints("pads")
    if not front and not pads[3]:
        return planes
    none = [0] * (len(shape_of(planes)) - 4)
    depth = [*none, front, 0, 0, 0, *none, pads[3], 0, 0, 0]
    return builder.node(glow.PadOp, planes, pads=depth)


def _in_groups(
    builder: NodeBuilder, planes: SSAValue, group: int, per_group: int
) -> SSAValue:
    """[N, C, H, W] as [N, group, C / group, H, W]."""
    number, _, *plane = shape_of(planes)
    return builder.reshape(planes, (number, group, per_group, *plane))


def _depth_in_channels(builder: NodeBuilder, weights: SSAValue) -> SSAValue:
    """[O, C, kd, kh, kw] as [O, kd * C, kh, kw]."""
    outputs, inputs, depth, *kernel = shape_of(weights)
    shape, array = (outputs, depth * inputs, *kernel), constant_value(weights)
    if array is None:
        return builder.reshape(builder.transpose(weights, DEPTH_FIRST), shape)
    return _constant(builder, weights, array.transpose(DEPTH_FIRST).reshape(shape))


def _columns_of_taps(builder: NodeBuilder, weights: SSAValue) -> SSAValue:
    """[O, C, kd, 1, 1] as [O, C, kd, 1]."""
    shape, array = (*shape_of(weights)[:3], 1), constant_value(weights)
    if array is None:
        return builder.reshape(weights, shape)
    return _constant(builder, weights, array.reshape(shape))


def _constant(builder: NodeBuilder, weights: SSAValue, array: Array) -> SSAValue:
    """Constant weights of planes: passes look for weights that are constants."""
    return builder.constant(array, f"{name_of(weights)}.planes")
