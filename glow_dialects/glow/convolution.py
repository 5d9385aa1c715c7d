"""Convolution and pooling nodes over [N, C, H, W] tensors.

Windows follow ONNX: `pads` is [top, left, bottom, right], `strides` and `dilations`
are [height, width]; weights are [output channels, input channels / group, kh, kw].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.dialects.attributes import Attributes, int_attr, ints_attr
from glow.dialects.glow.elementwise import check_numbers
from glow.dialects.glow.factors import check_factors
from glow.dialects.half import keeps_sums
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type
from glow.dialects.quantized import (
    IntegerForm,
    arithmetic_form,
    movement_form,
    product_form,
)

ACTIVATIONS = ("relu", "clip", "sigmoid", "tanh", "leaky_relu", "hard_swish")
"""The functions that a producer may absorb (Glow's fused activations); arguments:
`clip` low and high, `leaky_relu` alpha."""


def window_size(
    size: int,
    kernel: int,
    stride: int,
    dilation: int,
    pads: tuple[int, int],
    ceil_mode: bool = False,
) -> int:
    """The output extent of a sliding window along one axis (ONNX Conv, MaxPool)."""
    fail_unless(kernel > 0, f"a window has one element at least, not {kernel}")
    fail_unless(stride > 0, f"strides must be positive, not {stride}")
    fail_unless(dilation > 0, f"dilations must be positive, not {dilation}")
    fail_unless(min(pads) >= 0, f"pads must not be negative, not {list(pads)}")
    span = size + sum(pads) - dilation * (kernel - 1) - 1
    fail_unless(
        span >= 0,
        f"the window of {dilation * (kernel - 1) + 1} is larger than the padded "
        f"input of {size + sum(pads)}",
    )
    if not ceil_mode:
        return span // stride + 1
    extent = -(-span // stride) + 1
    # The last window must start inside the input or its left padding.
    return extent - ((extent - 1) * stride >= size + pads[0])


def window_shape(
    plane: Sequence[int],
    kernel: Sequence[int],
    attributes: Attributes,
    ceil_mode: bool = False,
) -> tuple[int, int]:
    """The output [height, width] of a window over a plane."""
    fail_unless(
        len(plane) == 2, f"a window needs a height and a width, not {len(plane)} axes"
    )
    fail_unless(len(kernel) == 2, f"kernel needs 2 numbers, not {len(kernel)}")
    top, left, bottom, right = attributes.ints("pads")
    strides, dilations = attributes.ints("strides"), attributes.ints("dilations")
    return (
        window_size(
            plane[0], kernel[0], strides[0], dilations[0], (top, bottom), ceil_mode
        ),
        window_size(
            plane[1], kernel[1], strides[1], dilations[1], (left, right), ceil_mode
        ),
    )


def check_window(attributes: Attributes, axes: int = 2) -> None:
    """The window attributes have a stride, a dilation and two pads for each axis."""
    for name, count in (("strides", axes), ("dilations", axes), ("pads", 2 * axes)):
        found = len(attributes.ints(name))
        fail_unless(found == count, f"{name} needs {count} numbers, not {found}")


def check_rank(value: TensorType, rank: int, what: str) -> None:
    """The tensor has the given rank."""
    found = value.get_num_dims()
    if found != rank:  # the text of types is too costly to make in vain
        fail_unless(
            False, lambda: f"{what} must have rank {rank}, not {found}: {value}"
        )


@irdl_op_definition
class Conv2dOp(NodeOp):
    """Two-dimensional convolution with optional bias and absorbed activation.

    input [N, C, H, W], weights [O, C / group, kh, kw], bias [O] -> [N, O, OH, OW].
    Source: ONNX Conv-22, Glow's Convolution with FusedActivation.
    """

    name = "glow.conv2d"
    INTEGER_FORM: ClassVar[IntegerForm | None] = product_form(0)
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    activation = opt_prop_def(StringAttr)
    activation_args = opt_prop_def(DenseArrayBase)

    @classmethod
    def may_store(cls, inferred: Attribute, chosen: Attribute) -> bool:
        """Sums of products of 16-bit floats may stay f32."""
        return keeps_sums(inferred, chosen)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [N, O, OH, OW] in the input's element type."""
        check_factors(cls, operands)
        check_activation(attributes)
        shape = conv2d_shape(operands[0], operands[1], attributes)
        if len(operands) > 2:
            fail_unless(
                operands[2].get_shape() == shape[1:2],
                lambda: f"the bias must have shape {shape[1]}, not {operands[2]}",
            )
        return [tensor_type(shape, operands[0].element_type)]


def conv2d_shape(
    image: TensorType, weights: TensorType, attributes: Attributes
) -> tuple[int, int, int, int]:
    """The result's [N, O, OH, OW]."""
    check_rank(image, 4, "the input")
    check_rank(weights, 4, "the weights")
    check_window(attributes)
    batch, channels, *plane = image.get_shape()
    outputs, per_group, *kernel = weights.get_shape()
    group = attributes.int("group")
    fail_unless(
        group > 0 and channels == per_group * group and outputs % group == 0,
        f"input channels ({channels}) must be group ({group}) times the weights' "
        f"channels ({per_group}), and group must divide the outputs ({outputs})",
    )
    return batch, outputs, *window_shape(plane, kernel, attributes)


def check_activation(attributes: Attributes) -> None:
    """The absorbed activation is a known one."""
    if attributes.has("activation"):
        name = attributes.string("activation")
        fail_unless(
            name in ACTIVATIONS,
            f"unknown activation '{name}', expected one of {', '.join(ACTIVATIONS)}",
        )


class Pool2dOp(NodeOp):
    """A window reduction over [N, C, H, W]."""

    input = operand_def(TensorType)
    result = result_def(TensorType)
    kernel = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    ceil_mode = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [N, C, OH, OW] (plus the lanes of a blocked input)."""
        shape = operands[0].get_shape()
        fail_unless(
            len(shape) >= 4,
            lambda: f"the input must have 4 axes or more: {operands[0]}",
        )
        batch, channels, *plane = shape
        check_window(attributes)
        height, width = window_shape(
            plane[:2],
            attributes.ints("kernel"),
            attributes,
            attributes.has("ceil_mode"),
        )
        shape = (batch, channels, height, width, *plane[2:])
        return [tensor_type(shape, operands[0].element_type)]


@irdl_op_definition
class MaxPool2dOp(Pool2dOp):
    """The largest element of each window; padding never wins; NaN does (ONNX MaxPool-22)."""

    name = "glow.max_pool2d"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form


@irdl_op_definition
class ArgMaxPool2dOp(Pool2dOp):
    """Where `glow.max_pool2d` finds the largest elements: row * width + column, `i64`.

    input [N, C, H, W] -> [N, C, OH, OW]. Of equal elements the first of the window in row-major
    order counts, as in PyTorch; padding and NaN never do. A window of nothing else gives its
    first element inside, or 0.

    %places = glow.arg_max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x4x5x5xi64>
    """

    name = "glow.arg_max_pool2d"

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The shape of `glow.max_pool2d`'s result, `i64` elements."""
        check_rank(operands[0], 4, "the input")
        (result,) = super().infer(operands, attributes)
        return [tensor_type(result.get_shape(), i64)]


@irdl_op_definition
class AvgPool2dOp(Pool2dOp):
    """The mean of each window (ONNX AveragePool-22)."""

    name = "glow.avg_pool2d"
    INTEGER_FORM: ClassVar[IntegerForm | None] = arithmetic_form
    count_include_pad = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result of numbers, which `i1` elements are not."""
        check_numbers(cls, operands[0])
        return super().infer(operands, attributes)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
