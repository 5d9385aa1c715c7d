"""Convolutions of planes and volumes, transposed or not.

    %y = glow.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] : tensor<8x32x7x7xf32>
  with x [8, 16, 14, 14] and w [32, 16, 3, 3] has the gradients
    %x.grad = glow.conv_transpose2d %y.grad, %w strides [2, 2] pads [1, 1, 1, 1] ...
    %0 = glow.transpose %x permutation [1, 0, 2, 3] : tensor<16x8x14x14xf32>
    %1 = glow.transpose %y.grad permutation [1, 0, 2, 3] : tensor<32x8x7x7xf32>
    %2 = glow.conv2d %0, %1 pads [1, 1, 1, 1] dilations [2, 2] : tensor<16x32x4x4xf32>
    ... cropped to [16, 32, 3, 3] and transposed to [32, 16, 3, 3]

An element of the weights' gradient is a sum over images and pixels. So images take the place
of channels, the gradient slides over the image as a kernel as large as itself, and strides and
dilations change places.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.activations import before_activation
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule, rule_of

Convolution = glow.Conv2dOp | glow.Conv3dOp
TransposedConvolution = glow.ConvTranspose2dOp | glow.ConvTranspose3dOp
Window = glow.Conv2dOp | glow.Conv3dOp | glow.ConvTranspose2dOp | glow.ConvTranspose3dOp

FORWARD = {2: glow.Conv2dOp, 3: glow.Conv3dOp}
TRANSPOSED = {2: glow.ConvTranspose2dOp, 3: glow.ConvTranspose3dOp}
"""Number of axes that a window slides along to node class."""


def window_of(op: NodeOp) -> dict[str, tuple[int, ...]]:
    """Strides, pads and dilations."""
    attributes = op.attributes_view()
    return {name: attributes.ints(name) for name in ("strides", "pads", "dilations")}


def crop(builder: GradientBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The first elements along each axis; the value itself when it has that shape."""
    if shape_of(value) == tuple(shape):
        return value
    rank = len(shape)
    return builder.node(
        glow.SliceOp, value, starts=[0] * rank, sizes=list(shape), steps=[1] * rank
    )


def weight_gradient(
    builder: GradientBuilder, op: Window, image: SSAValue, gradient: SSAValue
) -> SSAValue:
    """The gradient of weights [O, C / group, ...] that lead from `image` to `gradient`.

    image [N, C, ...], gradient [N, O, ...]. With groups, channels of a group stay together:
    the image is [C / group, group * N, ...].
    """
    group, window = op.attributes_view().int("group"), window_of(op)
    axes = len(shape_of(image)) - 2
    exchanged = [1, 0, *range(2, 2 + axes)]
    planes = planes_of(builder, image, group)
    kernel = builder.transpose(gradient, exchanged)
    swapped = {
        "strides": window["dilations"],
        "dilations": window["strides"],
        "pads": window["pads"],
    }
    slid = builder.node(FORWARD[axes], planes, kernel, group=group, **swapped)
    outputs, inputs, *kernel_shape = shape_of(op.weights)
    slid = crop(builder, slid, (inputs, outputs, *kernel_shape))
    return builder.transpose(slid, exchanged)


def planes_of(builder: GradientBuilder, image: SSAValue, group: int) -> SSAValue:
    """The planes of an image [N, C, ...] as [C / group, group * N, ...]."""
    batch, channels, *extents = shape_of(image)
    axes = range(len(extents))
    if group == 1:
        return builder.transpose(image, [1, 0, *(axis + 2 for axis in axes)])
    each = channels // group
    grouped = builder.reshape(image, (batch, group, each, *extents))
    planes = builder.transpose(grouped, [2, 1, 0, *(axis + 3 for axis in axes)])
    return builder.reshape(planes, (each, group * batch, *extents))


def bias_gradient(builder: GradientBuilder, gradient: SSAValue) -> SSAValue:
    """The sum over images and pixels."""
    rank = len(shape_of(gradient))
    return builder.sum(gradient, [0, *range(2, rank)])


def left_over(op: Convolution) -> list[int]:
    """The elements at the end of each padded axis that no window reaches."""
    window, sizes = window_of(op), shape_of(op.input)[2:]
    kernel, results = shape_of(op.weights)[2:], shape_of(op.result)[2:]
    pads, axes = window["pads"], len(sizes)
    return [
        sizes[axis] + pads[axis] + pads[axis + axes]
        - (results[axis] - 1) * window["strides"][axis]
        - (kernel[axis] - 1) * window["dilations"][axis] - 1
        for axis in range(axes)
    ]  # fmt: skip


def convolution(
    builder: GradientBuilder, op: Convolution, gradient: SSAValue
) -> Gradients:
    """Input, weights and bias."""
    gradient = before_activation(builder, op, gradient)
    of_input = builder.node(
        TRANSPOSED[len(shape_of(gradient)) - 2],
        gradient,
        op.weights,
        **window_of(op),
        group=op.attributes_view().int("group"),
        output_padding=left_over(op),
    )
    of_weights = weight_gradient(builder, op, op.input, gradient)
    of_bias = bias_gradient(builder, gradient)
    return [of_input, of_weights, of_bias][: len(op.inputs)]


def transposed_convolution(
    builder: GradientBuilder, op: TransposedConvolution, gradient: SSAValue
) -> Gradients:
    """A convolution of the gradient; for the weights it is the image, and the input the result."""
    window, group = window_of(op), op.attributes_view().int("group")
    axes = len(shape_of(op.input)) - 2
    of_input = builder.node(FORWARD[axes], gradient, op.weights, **window, group=group)
    of_input = crop(builder, of_input, shape_of(op.input))
    of_weights = weight_gradient(builder, op, gradient, op.input)
    of_bias = bias_gradient(builder, gradient)
    return [of_input, of_weights, of_bias][: len(op.inputs)]


RULES: dict[type[Operation], Rule] = {
    **rule_of(convolution, *FORWARD.values()),
    **rule_of(transposed_convolution, *TRANSPOSED.values()),
}
