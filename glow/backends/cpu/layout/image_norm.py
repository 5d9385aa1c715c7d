"""Channels of images, each normalized over its pixels, as nodes that blocks suit.

Rows of pixels have a kernel, but only where they are rows: images in blocks would be unpacked
for it, and packed again.

    %0 = glow.splat 1.0 : tensor<28x28xf32>
    %y = glow.layer_norm %x, %0 axis 2 : tensor<1x64x28x28xf32>
  becomes, where %x is in blocks,
    %1 = glow.reduce_mean %x axes [2, 3] keepdims : tensor<1x64x1x1xf32>
    %2 = glow.sub %x, %1 : tensor<1x64x28x28xf32>
    %3 = glow.mul %2, %2 : tensor<1x64x28x28xf32>
    %4 = glow.reduce_mean %3 axes [2, 3] keepdims : tensor<1x64x1x1xf32>
    %6 = glow.add %4, %5 : tensor<1x64x1x1xf32>         // %5 is epsilon
    %7 = glow.rsqrt %6 : tensor<1x64x1x1xf32>
    %y = glow.mul %2, %7 : tensor<1x64x28x28xf32>

Groups of channels that fill blocks are rows in blocks, too, of other neighbours.

    %0 = glow.reshape %x : tensor<1x4x12544xf32>        // %x: tensor<1x64x28x28xf32>
    %y = glow.layer_norm %0, %1 axis 2 : tensor<1x4x12544xf32>
  becomes, where %x is %b in blocks of 16,
    %0 = glow.reshape %b : tensor<1x4x12544xf32>        // %b: tensor<1x4x28x28x16xf32>
    %2 = glow.layer_norm %0, %1 axis 2 : tensor<1x4x12544xf32>
    %3 = glow.reshape %2 : tensor<1x4x28x28x16xf32>
    %4 = cpu.unpack %3 channels 64 : tensor<1x64x28x28xf32>
    %y = glow.reshape %4 : tensor<1x4x12544xf32>
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.layout import VOLUME_AXES, blocked_source
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
)

FIRST_PIXEL = 2
"""The first axis of pixels: images and channels are before it."""


def is_of_pixels(op: glow.LayerNormOp, lanes: int) -> bool:
    """Whether each channel of an image, or a volume, in blocks is normalized by itself.

    Channels that do not fill a block would move twice as much as rows.
    """
    if op.attributes_view().int("axis") != FIRST_PIXEL or not _is_plain(op):
        return False
    return shape_of(op.input)[1] >= lanes and _is_blocked(op.input)


def _is_plain(op: glow.LayerNormOp) -> bool:
    """Whether nothing but the mean and the variance change the rows."""
    scale = op.scale.owner
    is_one = isinstance(scale, glow.SplatOp) and _number(scale) == 1
    return is_one and op.bias is None


def _number(op: glow.SplatOp) -> float:
    return op.attributes_view().float("value")


def _is_blocked(value: SSAValue) -> bool:
    if blocked_source(value) is not None:
        return True
    if len(shape_of(value)) != VOLUME_AXES:
        return False
    # Loaded by networks with volumes.
    from glow.backends.cpu.layout.volumes import find_volume

    volume = find_volume(value)
    return volume is not None and (volume.is_columns or volume.shape[0] == 1)


def normalize_groups(op: glow.LayerNormOp) -> bool:
    """Normalize groups of an image's channels in blocks, if that is what the node does.

    Where a group fills its blocks, its elements are a row in blocks, too, in another order.
    """
    before = op.input.owner
    if not isinstance(before, glow.ReshapeOp) or not _is_plain(op):
        return False
    blocked, image = blocked_source(before.input), shape_of(before.input)
    *outer, size = shape_of(op.input)
    if blocked is None or op.attributes_view().int("axis") != len(outer):
        return False
    channels, rest = divmod(size, prod(image[FIRST_PIXEL:]) or 1)
    is_group = not rest and channels > 0 and image[1] % channels == 0
    if not is_group or channels % shape_of(blocked)[-1]:
        return False
    builder = NodeBuilder(op)
    rows = builder.reshape(blocked, shape_of(op.input))
    result = builder.create(glow.LayerNormOp, [rows, op.scale], attributes_of(op))
    blocks = builder.reshape(result, shape_of(blocked))
    plain = builder.node(cpu.UnpackOp, blocks, channels=image[1])
    builder.replace(builder.reshape(plain, shape_of(op.input)))
    return True


def normalize_pixels(op: glow.LayerNormOp) -> None:
    """Replace a normalization by reductions and element-wise nodes."""
    builder, epsilon = NodeBuilder(op), op.attributes_view().float("epsilon")
    axes = list(range(FIRST_PIXEL, len(shape_of(op.input))))

    def mean(value: SSAValue) -> SSAValue:
        return builder.node(glow.ReduceMeanOp, value, axes=axes, keepdims=True)

    centred = builder.node(glow.SubOp, op.input, mean(op.input))
    variance = mean(builder.node(glow.MulOp, centred, centred))
    least = builder.splat(epsilon, element_type(op.input))
    inverse = builder.node(glow.RsqrtOp, builder.node(glow.AddOp, variance, least))
    builder.replace(builder.node(glow.MulOp, centred, inverse))
