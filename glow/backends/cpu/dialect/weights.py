"""Weights of convolutions that are computed, not constants: packed at run time; gradients.

The packed order is that of constants: [group][tile of output blocks][input block][kernel row]
[kernel column][input lane][block][output lane], the last tile smaller where the blocks do not
divide; zeros where there is no channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i64
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.backends.cpu.dialect.blocked import blocks
from glow.backends.cpu.dialect.config_attributes import PanelsAttr, panels_of
from glow.dialects.attributes import Attributes, int_attr, ints_attr
from glow.dialects.glow.convolution import check_rank, check_window, window_shape
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


@dataclass(frozen=True)
class TurnedTaps:
    """The taps along one axis in the gradient of a convolution's input.

    Pixel q * stride + phase of the input met pixel i of the output at tap phase + pad - (i - q) *
    stride. So each phase is a convolution of stride one, and all have one window of `count`
    pixels from `before` pixels before q on; at place k of the window phase f has tap
    `first + f - k * stride`, if there is such a tap.
    """

    stride: int
    phases: int
    count: int
    first: int
    before: int

    @staticmethod
    def of(kernel: int, stride: int, pad: int) -> TurnedTaps:
        """Those of a convolution; of strides larger than the kernel only the phases with taps."""
        before = (kernel - 1 - pad) // stride
        last = (stride - 1 + pad) // stride
        phases = min(stride, kernel) if pad == 0 else stride
        return TurnedTaps(
            stride, phases, last + before + 1, pad + stride * before, before
        )


@irdl_op_definition
class PackWeightsOp(NodeOp):
    """[O, C / group, kh, kw] in the order in which `cpu.conv2d` reads weights.

    With `turned` it packs the weights of the gradient of a convolution's input from those of the
    convolution, [C, O / group, kh, kw]: each group's inputs and outputs exchanged, and the
    taps as `TurnedTaps` says for the convolution's `strides` and first two `pads`. Its output
    channels are those of the first phase, then those of the next one.

    `input_lanes` are the channels of an input block: one of a plain image.
    """

    name = "cpu.pack_weights"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    input_lanes = prop_def(IntegerAttr.constr(i64))
    panels = prop_def(PanelsAttr)
    turned = opt_prop_def(UnitAttr)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The packed weights, one-dimensional."""
        (weights,) = operands
        check_rank(weights, 4, "the weights")
        first, second, *kernel = weights.get_shape()
        group, inside = attributes.int("group"), attributes.int("input_lanes")
        fail_unless(
            group > 0 and first % group == 0,
            f"group ({group}) must divide the weights' first axis ({first})",
        )
        panels = panels_of(attributes)
        assert panels is not None
        outputs, inputs = first // group, second
        if attributes.has("turned"):
            taps = turned_taps(kernel, attributes)
            outputs, inputs = inputs * prod(axis.phases for axis in taps), outputs
            kernel = [axis.count for axis in taps]
        rows = blocks(outputs, panels.lanes) * panels.lanes
        columns = blocks(inputs, inside) * inside
        size = group * rows * columns * prod(kernel)
        return [tensor_type((size,), weights.element_type)]


def turned_taps(kernel: Sequence[int], attributes: Attributes) -> list[TurnedTaps]:
    """The taps of turned weights along each axis."""
    strides, pads = attributes.ints("strides"), attributes.ints("pads")
    fail_unless(
        len(strides) == len(pads) == len(kernel) and min(strides) > 0 <= min(pads),
        f"turned weights need {len(kernel)} positive strides and as many pads",
    )
    taps = [TurnedTaps.of(*axis) for axis in zip(kernel, strides, pads, strict=True)]
    fail_unless(
        all(axis.before >= 0 for axis in taps),
        f"pads {list(pads)} are larger than the kernel {list(kernel)}",
    )
    return taps


@irdl_op_definition
class UnpackWeightsOp(NodeOp):
    """Weights packed in panels of one block, back as [O, C / group, kh, kw].

    `shape` is that of the result; `lanes` and `input_lanes` are the channels of an output and an
    input block.
    """

    name = "cpu.unpack_weights"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    lanes = prop_def(IntegerAttr.constr(i64))
    input_lanes = prop_def(IntegerAttr.constr(i64))
    shape = prop_def(DenseArrayBase)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The plain weights."""
        (packed,) = operands
        check_rank(packed, 1, "packed weights")
        shape = attributes.ints("shape")
        fail_unless(len(shape) == 4, f"shape needs 4 numbers, not {len(shape)}")
        outputs, inputs, height, width = shape
        group, lanes = attributes.int("group"), attributes.int("lanes")
        inside = attributes.int("input_lanes")
        fail_unless(
            group > 0 and outputs % group == 0,
            f"group ({group}) must divide the outputs ({outputs})",
        )
        rows = group * blocks(outputs // group, lanes) * lanes
        size = rows * blocks(inputs, inside) * inside * height * width
        fail_unless(
            packed.get_shape() == (size,),
            f"there must be {size} packed weights, not {packed}",
        )
        return [tensor_type(shape, packed.element_type)]


@irdl_op_definition
class Conv2dWeightGradientOp(NodeOp):
    """The gradient of the weights of `glow.conv2d`, packed in panels of one block.

    input [N, C / lanes, H, W, lanes], or [N, C, H, W] of few channels without pads; the gradient
    of the result, [N, O / lanes, OH, OW, lanes]. The attributes are those of the convolution:
    element [o, c, i, j] is the sum over images and pixels of gradient[n, o, y, x] times
    input[n, c, y * stride + i * dilation - pad, ...] of channel c of the output's group. Of a
    depthwise convolution it is [C / lanes, kh, kw, lanes].
    """

    name = "cpu.conv2d_weight_gradient"
    input = operand_def(TensorType)
    gradient = operand_def(TensorType)
    result = result_def(TensorType)
    input_channels = prop_def(IntegerAttr.constr(i64))
    output_channels = prop_def(IntegerAttr.constr(i64))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    kernel = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The packed gradient, one-dimensional."""
        image, gradient = operands
        check_window(attributes)
        check_rank(gradient, 5, "the gradient")
        is_plain = image.get_num_dims() == 4
        check_rank(image, 4 if is_plain else 5, "the input")
        batch, block, *plane = image.get_shape()
        batches, output_block, height, width, lanes = gradient.get_shape()
        inputs, outputs = (attributes.int(f"{end}_channels") for end in ENDS)
        inside = 1 if is_plain else lanes
        fail_unless(
            batch == batches and block == blocks(inputs, inside),
            f"the input {image} does not hold {batches} images of {inputs} channels",
        )
        fail_unless(
            output_block == blocks(outputs, lanes),
            f"the gradient {gradient} does not hold {outputs} channels",
        )
        kernel, pads = attributes.ints("kernel"), attributes.ints("pads")
        largest = window_shape(plane[:2], kernel, attributes)
        fail_unless(
            height <= largest[0] and width <= largest[1],
            f"the gradient {gradient} has more pixels than {list(largest)}",
        )
        fail_unless(not (is_plain and any(pads)), "a plain input must be padded before")
        group, size = attributes.int("group"), output_block * lanes
        if 1 < group == inputs == outputs:
            return [tensor_type((size * kernel[0] * kernel[1],), gradient.element_type)]
        fail_unless(
            group == 1
            or (group > 0 and not any(n % (group * lanes) for n in (inputs, outputs))),
            f"{group} groups must be whole blocks of {lanes} channels",
        )
        size *= blocks(inputs // group, inside) * inside * kernel[0] * kernel[1]
        return [tensor_type((size,), gradient.element_type)]


ENDS = ("input", "output")

__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
