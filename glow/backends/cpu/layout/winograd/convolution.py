"""A convolution as `cpu.winograd_conv2d`, with transformed weights.

Rows of pixels are taken as columns of a plane, which costs nothing: they are the same memory.

    %y = glow.conv2d %x, %w pads [0, 2, 0, 0] : tensor<1x64x1x512xf32>
  becomes
    %0 = cpu.pack %x lanes 16 : tensor<1x4x1x512x16xf32>
    %1 = glow.reshape %0 : tensor<1x4x512x1x16xf32>
    %2 = cpu.winograd_conv2d %f, %1, %w.packed, %b kernel 3 axes [0] pads [2, 0, 0, 0] tile 6
    %3 = glow.reshape %2 : tensor<1x4x1x512x16xf32>
    %y = cpu.unpack %3 channels 64 : tensor<1x64x1x512xf32>
"""

from __future__ import annotations

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config_attributes import config_attributes
from glow.backends.cpu.layout.conv_shape import ConvShape, WinogradChoice, winograd_axes
from glow.backends.cpu.layout.layout import Layout, constant_key
from glow.backends.cpu.layout.winograd.dense_windows import (
    dense_image,
    dilated_result,
    without_dilation,
)
from glow.dialects import glow
from glow.dialects.weights import Array
from glow.lowering.lower_nodes.products import activated
from glow.passes.rewriting.node_builder import NodeBuilder, name_of


def winograd_convolution(
    layout: Layout,
    op: glow.Conv2dOp,
    weights: Array,
    shape: ConvShape,
    choice: WinogradChoice,
) -> None:
    """`cpu.winograd_conv2d` with transformed weights; rows may be taken as columns."""
    builder, dense = NodeBuilder(op), without_dilation(shape)
    packed = layout.constant(
        op,
        ("winograd", constant_key(op.weights), dense, choice.tile),
        f"{name_of(op.weights)}.packed",
        lambda: layout.packer.winograd(weights, dense, choice.tile, choice.config),
    )
    result = builder.node(
        cpu.WinogradConv2dOp,
        layout.constant(
            op,
            ("factors", constant_key(op.weights), dense, choice.tile),
            f"{name_of(op.weights)}.factors",
            lambda: choice.factors,
        ),
        dense_image(builder, layout.blocked(builder, op.input), shape),
        packed,
        layout.blocked_bias(op),
        input_channels=shape.input_channels,
        output_channels=shape.output_channels,
        group=shape.group,
        kernel=max(dense.kernel),
        axes=winograd_axes(dense.kernel),
        pads=dense.pads,
        tile=choice.tile,
        zero_taps=choice.zero_taps,
        scratch=choice.scratch,
        **config_attributes(choice.config, layout.lanes),
    )
    result = activated(builder, op, result)
    layout.replace(builder, dilated_result(builder, result, shape))
