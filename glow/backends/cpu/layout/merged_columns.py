"""A first layer of few channels takes the columns of its kernel as channels.

Bytes are multiplied by words along the channels, which one channel fills by a quarter. Shifted
copies of a small image, one for each column of the kernel, fill it:

    %0 = glow.conv2d_integer %x, %w : tensor<1x64x25x5xi32>     1 channel, kernel [10, 4]
  becomes
    %1 = glow.pad %x pads [0, 0, 0, 1, 0, 0, 0, 1] value 3.0
    %2 = glow.slice %1 starts [0, 0, 0, 0] ... steps [1, 1, 1, 2]     and 3 others
    %3 = glow.concat %2, ... axis 1
    %4 = cpu.int8_conv2d %3 ...                                 4 channels, kernel [10, 1]
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import SSAValue

from glow.backends.cpu.layout.conv_shape import ConvShape
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weight_table import Array
from glow.passes.rewriting.node_builder import NodeBuilder


def saves_steps(shape: ConvShape, step: int) -> bool:
    """Whether columns that become channels leave less than half of the steps of a row."""
    columns, channels = shape.kernel[1], shape.input_channels
    before, after = columns * -(-channels // step), -(-channels * columns // step)
    return shape.group == 1 and shape.dilations[1] == 1 and 2 * after < before


def merged_shape(shape: ConvShape) -> ConvShape:
    """The convolution of as many channels a column."""
    (rows, columns), (top, left, bottom, right) = shape.kernel, shape.pads
    width = (shape.plane[1] + left + right - columns) // shape.strides[1] + 1
    return replace(
        shape,
        input_channels=shape.input_channels * columns,
        plane=(shape.plane[0], width),
        kernel=(rows, 1),
        strides=(shape.strides[0], 1),
        pads=(top, 0, bottom, 0),
    )


def merged_image(
    builder: NodeBuilder, image: SSAValue, shape: ConvShape, zero_point: int
) -> SSAValue:
    """[N, C, H, W] of bytes as [N, columns * C, H, width of the result]."""
    _, left, _, right = shape.pads
    if left or right:
        pads = [0, 0, 0, left, 0, 0, 0, right]
        image = builder.node(glow.PadOp, image, pads=pads, value=float(zero_point))
    batch, channels, height, _ = shape_of(image)
    sizes = [batch, channels, height, merged_shape(shape).plane[1]]
    steps = [1, 1, 1, shape.strides[1]]
    copies = [
        builder.node(
            glow.SliceOp, image, starts=[0, 0, 0, column], sizes=sizes, steps=steps
        )
        for column in range(shape.kernel[1])
    ]
    return builder.node(glow.ConcatOp, *copies, axis=1)


def merged_weights(weights: Array) -> Array:
    """[O, C, kh, kw] as [O, kw * C, kh, 1]."""
    outputs, _, rows, _ = weights.shape
    return weights.transpose(0, 3, 1, 2).reshape(outputs, -1, rows, 1)
