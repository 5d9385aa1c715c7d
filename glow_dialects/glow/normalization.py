"""Normalizations, softmax and reductions."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
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
from xdsl.utils.exceptions import VerifyException

from glow.dialects.attributes import Attributes, float_attr, int_attr
from glow.dialects.glow.elementwise import check_numbers
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type
from glow.dialects.quantized import IntegerForm, arithmetic_form


def check_axis(axis: int, rank: int) -> int:
    """The axis, which must be in [0, rank)."""
    fail_unless(0 <= axis < rank, f"axis {axis} is outside of rank {rank}")
    return axis


def check_float(cls: type[NodeOp], operand: TensorType[Attribute]) -> None:
    """The elements are not plain integers."""
    element = operand.element_type
    fail_unless(
        not isinstance(element, IntegerType),
        lambda: f"{cls.name} needs floating-point elements, not {element}",
    )


@irdl_op_definition
class BatchNormOp(NodeOp):
    """`(x - mean) / sqrt(variance + epsilon) * scale + bias` for each channel (axis 1).

    Inference form of ONNX BatchNormalization-15; parameters have shape [C].
    """

    name = "glow.batch_norm"
    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    result = result_def(TensorType)
    epsilon = prop_def(FloatAttr, default_value=float_attr(1e-5))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type; every parameter has one number a channel."""
        check_float(cls, operands[0])
        image = operands[0]
        if image.get_num_dims() < 2:
            raise VerifyException(f"batch norm needs [N, C, ...]: {image}")
        channels = image.get_shape()[1]
        for name, parameter in zip(
            ("scale", "bias", "mean", "variance"), operands[1:], strict=True
        ):
            if parameter.get_shape() != (channels,):
                raise VerifyException(
                    f"{name} must have shape {channels}, not {parameter}"
                )
        return [image]


@irdl_op_definition
class LayerNormOp(NodeOp):
    """Normalizes over the axes from `axis` on, then `* scale + bias`.

    Source: ONNX LayerNormalization-17 (first result); scale and bias have the
    normalized axes' shape.
    """

    name = "glow.layer_norm"
    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr, default_value=float_attr(1e-5))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type; the parameters have the normalized shape."""
        check_float(cls, operands[0])
        image = operands[0]
        axis = check_axis(attributes.int("axis"), image.get_num_dims())
        for parameter in operands[1:]:
            fail_unless(
                parameter.get_shape() == image.get_shape()[axis:],
                (
                    f"scale and bias must have the normalized shape "
                    f"{image.get_shape()[axis:]}, not {parameter}"
                ),
            )
        return [image]


@irdl_op_definition
class LocalResponseNormOp(NodeOp):
    """`x / (offset + alpha / size * sum of squares over `size` channels) ^ beta`.

    Channels are axis 1 (ONNX LRN-13).
    """

    name = "glow.local_response_norm"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    size = prop_def(IntegerAttr.constr(i64))
    alpha = prop_def(FloatAttr, default_value=float_attr(1e-4))
    beta = prop_def(FloatAttr, default_value=float_attr(0.75))
    offset = prop_def(FloatAttr, default_value=float_attr(1.0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type."""
        check_float(cls, operands[0])
        fail_unless(attributes.int("size") > 0, "size must be positive")
        fail_unless(
            operands[0].get_num_dims() >= 2,
            lambda: f"LRN needs [N, C, ...]: {operands[0]}",
        )
        return [operands[0]]


class AxisOp(NodeOp):
    """A function along one axis that keeps the shape."""

    input = operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type."""
        check_float(cls, operands[0])
        check_axis(attributes.int("axis"), operands[0].get_num_dims())
        return [operands[0]]


@irdl_op_definition
class SoftmaxOp(AxisOp):
    """`exp(x) / sum(exp(x))` along an axis (ONNX Softmax-13)."""

    name = "glow.softmax"


@irdl_op_definition
class LogSoftmaxOp(AxisOp):
    """`x - log(sum(exp(x)))` along an axis (ONNX LogSoftmax-13)."""

    name = "glow.log_softmax"


class ReduceOp(NodeOp):
    """Folds the given axes into one element."""

    input = operand_def(TensorType)
    result = result_def(TensorType)
    axes = prop_def(DenseArrayBase)
    keepdims = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's shape without the axes, or with 1 there when `keepdims`."""
        shape = operands[0].get_shape()
        axes = attributes.ints("axes")
        for axis in axes:
            check_axis(axis, len(shape))
        fail_unless(
            list(axes) == sorted(set(axes)), f"axes must be sorted: {list(axes)}"
        )
        keep = attributes.has("keepdims")
        result = [
            1 if axis in axes else size
            for axis, size in enumerate(shape)
            if keep or axis not in axes
        ]
        return [tensor_type(result, operands[0].element_type)]


class NumberReduceOp(ReduceOp):
    """A reduction of numbers, which no `i1` elements are."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's shape without the axes; the elements are not `i1`."""
        check_numbers(cls, operands[0])
        return super().infer(operands, attributes)


@irdl_op_definition
class ReduceSumOp(NumberReduceOp):
    """The sum over the axes."""

    name = "glow.reduce_sum"


@irdl_op_definition
class ReduceMeanOp(NumberReduceOp):
    """The mean over the axes."""

    name = "glow.reduce_mean"
    INTEGER_FORM: ClassVar[IntegerForm | None] = arithmetic_form


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """The largest element over the axes; NaN wins."""

    name = "glow.reduce_max"


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """The smallest element over the axes; NaN wins."""

    name = "glow.reduce_min"


@irdl_op_definition
class ReduceProdOp(NumberReduceOp):
    """The product over the axes."""

    name = "glow.reduce_prod"


class ArgOp(NodeOp):
    """The index of an extreme element along an axis (`i64`).

    A NaN is more extreme than all numbers, as in NumPy, JAX, PyTorch and TOSA (ONNX does not say).
    Of equal elements, and of several NaN, the first counts, with `select_last` the last.
    """

    input = operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    keepdims = opt_prop_def(UnitAttr)
    select_last = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The shape without the axis (or 1 there when `keepdims`), `i64` elements."""
        shape = list(operands[0].get_shape())
        axis = check_axis(attributes.int("axis"), len(shape))
        shape[axis : axis + 1] = [1] if attributes.has("keepdims") else []
        return [tensor_type(shape, i64)]


@irdl_op_definition
class ArgMaxOp(ArgOp):
    """The index of the first (or last) largest element (ONNX ArgMax-13)."""

    name = "glow.arg_max"


@irdl_op_definition
class ArgMinOp(ArgOp):
    """The index of the first (or last) smallest element (ONNX ArgMin-13)."""

    name = "glow.arg_min"


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
