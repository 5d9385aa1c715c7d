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
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from glow.backends.cpu.layout.layout import VOLUME_AXES, blocked_source
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, element_type

FIRST_PIXEL = 2
"""The first axis of pixels: images and channels are before it."""


def is_of_pixels(op: glow.LayerNormOp, lanes: int) -> bool:
    """Whether each channel of an image, or a volume, in blocks is normalized by itself.

    Channels that do not fill a block would move twice as much as rows.
    """
    scale, view = op.scale.owner, op.attributes_view()
    if view.int("axis") != FIRST_PIXEL or op.bias is not None:
        return False
    is_plain = isinstance(scale, glow.SplatOp) and _number(scale) == 1
    return is_plain and shape_of(op.input)[1] >= lanes and _is_blocked(op.input)


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
