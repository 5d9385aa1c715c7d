"""Convolutions other than the plain one over a plane: over a volume, and transposed.

Backends need no kernel for them: `lower-nodes` turns all into `glow.conv2d`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
)

from glow.dialects.attributes import Attributes, int_attr, ints_attr
from glow.dialects.glow.convolution import check_rank, check_window, window_size
from glow.dialects.glow.factors import check_factors
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


def check_channels(channels: int, expected: int, group: int, outputs: int) -> None:
    """Channels are split evenly among the groups."""
    fail_unless(
        group > 0 and channels == expected and outputs % group == 0,
        lambda: (
            f"{channels} input channels do not suit weights for {expected} in {group} "
            f"groups with {outputs} outputs"
        ),
    )


def check_bias(operands: Types, outputs: int) -> None:
    """The bias, if there is one, has a number for each output channel."""
    if len(operands) > 2:
        fail_unless(
            operands[2].get_shape() == (outputs,),
            lambda: f"the bias must have shape {outputs}, not {operands[2]}",
        )


@irdl_op_definition
class Conv3dOp(NodeOp):
    """Three-dimensional convolution with optional bias.

    input [N, C, D, H, W], weights [O, C / group, kd, kh, kw], bias [O] ->
    [N, O, OD, OH, OW]; `pads` are [front, top, left, back, bottom, right].
    Source: ONNX Conv-22, Glow's Convolution3D.
    """

    name = "glow.conv3d"
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1, 1))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [N, O, OD, OH, OW] in the input's element type."""
        check_factors(cls, operands)
        image, weights = operands[0], operands[1]
        check_rank(image, 5, "the input")
        check_rank(weights, 5, "the weights")
        check_window(attributes, axes=3)
        batch, channels, *volume = image.get_shape()
        outputs, per_group, *kernel = weights.get_shape()
        group = attributes.int("group")
        check_channels(channels, per_group * group, group, outputs)
        check_bias(operands, outputs)
        extents = volume_shape(volume, kernel, attributes)
        return [tensor_type((batch, outputs, *extents), image.element_type)]


def volume_shape(
    volume: Sequence[int], kernel: Sequence[int], attributes: Attributes
) -> list[int]:
    """The output [depth, height, width] of a window over a volume."""
    strides, dilations = attributes.ints("strides"), attributes.ints("dilations")
    pads = attributes.ints("pads")
    return [
        window_size(
            volume[axis],
            kernel[axis],
            strides[axis],
            dilations[axis],
            (pads[axis], pads[axis + 3]),
        )
        for axis in range(3)
    ]


class ConvTransposeOp(NodeOp):
    """The gradient of a convolution with respect to its input, as a layer.

    Each input pixel adds its multiple of the kernel to the output, `strides` apart.
    input [N, C, ...], weights [C, O / group, ...], bias [O] -> [N, O, ...] with extents of
    (size - 1) * stride + dilation * (kernel - 1) + 1 + output padding - pads; the output
    padding adds lines at the end of an axis that hold what else would be cut off.
    Source: ONNX ConvTranspose-22, Glow's ConvTranspose.
    """

    AXES: ClassVar[int]

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [N, O, ...] in the input's element type."""
        check_factors(cls, operands)
        image, weights = operands[0], operands[1]
        check_rank(image, cls.AXES + 2, "the input")
        check_rank(weights, cls.AXES + 2, "the weights")
        check_window(attributes, axes=cls.AXES)
        batch, channels, *extents = image.get_shape()
        inputs, per_group, *kernel = weights.get_shape()
        group = attributes.int("group")
        check_channels(channels, inputs, group, per_group * group)
        fail_unless(
            channels % max(group, 1) == 0,
            f"group ({group}) must divide the input channels ({channels})",
        )
        check_bias(operands, per_group * group)
        shape = (
            batch,
            per_group * group,
            *transposed_shape(extents, kernel, attributes),
        )
        return [tensor_type(shape, image.element_type)]


@irdl_op_definition
class ConvTranspose2dOp(ConvTransposeOp):
    """A transposed convolution over a plane; `pads` are [top, left, bottom, right]."""

    name = "glow.conv_transpose2d"
    AXES: ClassVar[int] = 2
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    output_padding = prop_def(DenseArrayBase, default_value=ints_attr(0, 0))


@irdl_op_definition
class ConvTranspose3dOp(ConvTransposeOp):
    """A transposed convolution over a volume; `pads` are as those of `glow.conv3d`."""

    name = "glow.conv_transpose3d"
    AXES: ClassVar[int] = 3
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1, 1))
    output_padding = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0))


def transposed_shape(
    extents: Sequence[int], kernel: Sequence[int], attributes: Attributes
) -> list[int]:
    """The output's extents of a transposed convolution."""
    more, axes = attributes.ints("output_padding"), len(extents)
    fail_unless(
        len(more) == axes, f"output_padding needs {axes} numbers, not {len(more)}"
    )
    return [
        _transposed_size(extents[axis], kernel[axis], attributes, axis)
        for axis in range(axes)
    ]


def _transposed_size(size: int, kernel: int, attributes: Attributes, axis: int) -> int:
    """The output extent of a transposed convolution along an axis."""
    stride, dilation = (
        attributes.ints("strides")[axis],
        attributes.ints("dilations")[axis],
    )
    pads, more = attributes.ints("pads"), attributes.ints("output_padding")
    fail_unless(stride > 0, f"strides must be positive, not {stride}")
    fail_unless(dilation > 0, f"dilations must be positive, not {dilation}")
    fail_unless(min(pads) >= 0, f"pads must not be negative, not {list(pads)}")
    fail_unless(
        0 <= more[axis] < max(stride, dilation),
        f"output_padding must be less than the stride or the dilation, not {more[axis]}",
    )
    full = max(size - 1, 0) * stride + dilation * (kernel - 1) + 1
    extent = full + more[axis] - pads[axis] - pads[axis + len(pads) // 2]
    fail_unless(extent >= 0, f"pads {list(pads)} cut off more than the output's {full}")
    return extent


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
