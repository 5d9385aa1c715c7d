"""Gradients of the weights of convolutions: convolutions of exchanged operands.

What `differentiate` writes is found again, whatever has been made of what stands around it:
a convolution that slides one batch over another with images in the place of channels.

    %0 = glow.transpose %x permutation [1, 0, 2, 3] : tensor<16x8x14x14xf32>
    %1 = glow.transpose %dy permutation [1, 0, 2, 3] : tensor<32x8x14x14xf32>
    %2 = glow.conv2d %0, %1 pads [1, 1, 1, 1] : tensor<16x32x3x3xf32>
    %3 = glow.transpose %2 permutation [1, 0, 2, 3] : tensor<32x16x3x3xf32>
  becomes
    %0 = cpu.pack %x lanes 16 : tensor<8x1x14x14x16xf32>
    %1 = cpu.pack %dy lanes 16 : tensor<8x2x14x14x16xf32>
    %2 = cpu.conv2d_weight_gradient %0, %1 input_channels 16 output_channels 32
        kernel [3, 3] pads [1, 1, 1, 1] : tensor<4608xf32>
    %3 = cpu.unpack_weights %2 lanes 16 input_lanes 16 shape [32, 16, 3, 3] : ...

With groups the image is [C / group, group * N, H, W]. The result is cropped where strides leave
pixels at its end; cropping and transposition behind become part of the new nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.conv_shape import ConvShape
from glow.backends.cpu.layout.layout import Layout, blocked_source
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.node_builder import NodeBuilder

EXCHANGED = (1, 0, 2, 3)


@dataclass(frozen=True)
class WeightGradient:
    """The operands of a weight gradient, [N, C, H, W] and [N, O, OH, OW]."""

    image: SSAValue
    gradient: SSAValue


def _exchanged(value: SSAValue) -> SSAValue | None:
    """The tensor with the first two axes exchanged, where the value is its transposition."""
    owner = value.owner
    if isinstance(owner, glow.ReshapeOp):  # what moves no element is a reshape
        first, second, *plane = shape_of(value)
        turned = shape_of(owner.input) == (second, first, *plane)
        return owner.input if turned and 1 in (first, second) else None
    if not isinstance(owner, glow.TransposeOp):
        return None
    permutation = owner.attributes_view().ints("permutation")
    return owner.input if permutation == EXCHANGED else None


def _image(value: SSAValue, group: int) -> SSAValue | None:
    """[N, C, H, W] of the image [C / group, group * N, H, W]."""
    if group == 1:
        return _exchanged(value)
    outer = value.owner
    turned = outer.input.owner if isinstance(outer, glow.ReshapeOp) else None
    if not isinstance(turned, glow.TransposeOp):
        return None
    if turned.attributes_view().ints("permutation") != (2, 1, 0, 3, 4):
        return None
    split = turned.input.owner
    if not isinstance(split, glow.ReshapeOp):
        return None
    batch, groups, inputs, *plane = shape_of(turned.input)
    whole = (batch, groups * inputs, *plane)
    is_image = groups == group and shape_of(split.input) == whole
    return split.input if is_image else None


def find_weight_gradient(op: glow.Conv2dOp) -> WeightGradient | None:
    """The operands, if a convolution computes the gradient of weights."""
    if op.bias is not None or op.activation is not None:
        return None
    gradient = _exchanged(op.weights)
    image = _image(op.input, op.attributes_view().int("group"))
    if gradient is None or image is None:
        return None
    return WeightGradient(image, gradient)


def weight_gradient_shape(op: glow.Conv2dOp, found: WeightGradient) -> ConvShape:
    """The shapes of the convolution whose weights have the gradient."""
    attributes = op.attributes_view()
    batch, inputs, height, width = shape_of(found.image)
    _, _, *kernel = shape_of(_cropped(op).results[0])
    top, left, bottom, right = attributes.ints("pads")
    rows, columns = attributes.ints("dilations")
    down, across = attributes.ints("strides")
    return ConvShape(
        batch,
        inputs,
        shape_of(found.gradient)[1],
        attributes.int("group"),
        False,
        (height, width),
        (kernel[0], kernel[1]),
        (rows, columns),
        (down, across),
        (top, left, bottom, right),
    )


def _only_user(op: Operation) -> Operation | None:
    return op.results[0].get_user_of_unique_use()


def _cropped(op: glow.Conv2dOp) -> NodeOp:
    """The slice that alone reads the result, and its first taps only; else the convolution."""
    user = _only_user(op)
    if not isinstance(user, glow.SliceOp):
        return op
    attributes = user.attributes_view()
    is_begin = not any(attributes.ints("starts")) and set(attributes.ints("steps")) == {
        1
    }
    whole = shape_of(op.result)[:2] == shape_of(user.results[0])[:2]
    return user if is_begin and whole else op


def weight_gradient(
    layout: Layout, op: glow.Conv2dOp, found: WeightGradient, shape: ConvShape
) -> None:
    """Replace a convolution, and what crops and transposes its result."""
    last = _cropped(op)
    builder, few = NodeBuilder(last), shape.input_channels < layout.lanes
    is_plain = few and shape.group == 1 and blocked_source(found.image) is None
    pads, image = shape.pads, found.image
    if not is_plain:
        image = layout.blocked(builder, image)
    elif any(pads):
        top, left, bottom, right = pads
        around = [0, 0, top, left, 0, 0, bottom, right]
        image, pads = builder.node(glow.PadOp, image, pads=around), (0, 0, 0, 0)
    packed = builder.node(
        cpu.Conv2dWeightGradientOp,
        image,
        layout.blocked(builder, found.gradient),
        input_channels=shape.input_channels,
        output_channels=shape.output_channels,
        group=shape.group,
        kernel=shape.kernel,
        strides=shape.strides,
        pads=pads,
        dilations=shape.dilations,
    )
    plain = _unpacked(layout, builder, packed, shape, 1 if is_plain else layout.lanes)
    user = _only_user(last)
    if user is not None and user.results and _exchanged(user.results[0]) is not None:
        NodeBuilder(user).replace(plain)
        return
    builder.replace(builder.transpose(plain, EXCHANGED))


def _unpacked(
    layout: Layout,
    builder: NodeBuilder,
    packed: SSAValue,
    shape: ConvShape,
    input_lanes: int,
) -> SSAValue:
    """The plain weights of a gradient; those of a depthwise convolution are blocks."""
    inputs, lanes = shape.input_channels // shape.group, layout.lanes
    plain = [shape.output_channels, inputs, *shape.kernel]
    if inputs > 1 or shape.group == 1:
        return builder.node(
            cpu.UnpackWeightsOp,
            packed,
            group=shape.group,
            lanes=lanes,
            input_lanes=input_lanes,
            shape=plain,
        )
    channels = shape.output_channels
    blocked = (1, cpu.blocks(channels, lanes), *shape.kernel, lanes)
    planes = builder.reshape(packed, blocked)
    return builder.reshape(builder.node(cpu.UnpackOp, planes, channels=channels), plain)
