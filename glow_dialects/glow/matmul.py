"""Matrix products, and factors of matrices."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    StringAttr,
    TensorType,
    UnitAttr,
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

from glow.dialects.attributes import Attributes, float_attr
from glow.dialects.glow.convolution import check_activation
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.glow.factors import check_factors
from glow.dialects.glow.normalization import check_float
from glow.dialects.half import keeps_sums
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type
from glow.dialects.quantized import IntegerForm, product_form


def _transposed(shape: tuple[int, ...], transpose: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if transpose else shape


@irdl_op_definition
class MatmulOp(NodeOp):
    """Matrix product of the last two axes; leading axes broadcast (ONNX MatMul-13).

    lhs [..., M, K], rhs [..., K, N] -> [..., M, N]; `transpose_rhs` reads rhs as
    [..., N, K], `transpose_lhs` lhs as [..., K, M].
    """

    name = "glow.matmul"
    INTEGER_FORM: ClassVar[IntegerForm | None] = product_form(-1)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    transpose_lhs = opt_prop_def(UnitAttr)
    transpose_rhs = opt_prop_def(UnitAttr)

    @classmethod
    def may_store(cls, inferred: Attribute, chosen: Attribute) -> bool:
        """Sums of products of 16-bit floats may stay f32."""
        return keeps_sums(inferred, chosen)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., M, N]."""
        lhs, rhs = operands
        check_factors(cls, operands)
        fail_unless(
            lhs.get_num_dims() >= 2 and rhs.get_num_dims() >= 2,
            lambda: f"matmul needs operands of rank 2 or more, not {lhs} and {rhs}",
        )
        *batch, m, k = _transposed(lhs.get_shape(), attributes.has("transpose_lhs"))
        *other, k2, n = _transposed(rhs.get_shape(), attributes.has("transpose_rhs"))
        fail_unless(
            k == k2,
            lambda: f"the inner sizes must agree: {lhs} has {k}, {rhs} has {k2}",
        )
        shape = (*broadcast_shape([batch, other]), m, n)
        return [tensor_type(shape, lhs.element_type)]


@irdl_op_definition
class FullyConnectedOp(NodeOp):
    """`input x weights + bias` with optional absorbed activation.

    input [M, K], weights [K, N], bias [N] -> [M, N] (Glow's FullyConnected).
    """

    name = "glow.fully_connected"
    INTEGER_FORM: ClassVar[IntegerForm | None] = product_form(-1)
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    activation = opt_prop_def(StringAttr)
    activation_args = opt_prop_def(DenseArrayBase)

    @classmethod
    def may_store(cls, inferred: Attribute, chosen: Attribute) -> bool:
        """Sums of products of 16-bit floats may stay f32."""
        return keeps_sums(inferred, chosen)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [M, N]."""
        lhs, rhs = operands[0], operands[1]
        check_factors(cls, operands)
        check_activation(attributes)
        fail_unless(
            lhs.get_num_dims() == 2 and rhs.get_num_dims() == 2,
            lambda: f"a fully connected layer takes matrices, not {lhs} and {rhs}",
        )
        (m, k), (k2, n) = lhs.get_shape(), rhs.get_shape()
        fail_unless(k == k2, lambda: f"the inner sizes must agree: {lhs} x {rhs}")
        if len(operands) > 2:
            fail_unless(
                operands[2].get_shape() == (n,),
                lambda: f"the bias must have shape {n}, not {operands[2]}",
            )
        return [tensor_type((m, n), lhs.element_type)]


@irdl_op_definition
class GemmOp(NodeOp):
    """`alpha * A' x B' + beta * C` with C broadcast to [M, N] (ONNX Gemm-13)."""

    name = "glow.gemm"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    addend = opt_operand_def(TensorType)
    result = result_def(TensorType)
    alpha = prop_def(FloatAttr, default_value=float_attr(1.0))
    beta = prop_def(FloatAttr, default_value=float_attr(1.0))
    transpose_lhs = opt_prop_def(UnitAttr)
    transpose_rhs = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [M, N]."""
        lhs, rhs = operands[0], operands[1]
        check_factors(cls, operands)
        fail_unless(
            lhs.get_num_dims() == 2 and rhs.get_num_dims() == 2,
            lambda: f"gemm takes matrices, not {lhs} and {rhs}",
        )
        m, k = _transposed(lhs.get_shape(), attributes.has("transpose_lhs"))
        k2, n = _transposed(rhs.get_shape(), attributes.has("transpose_rhs"))
        fail_unless(k == k2, f"the inner sizes must agree: {k} and {k2}")
        if len(operands) > 2:
            shape = broadcast_shape([(m, n), operands[2].get_shape()])
            fail_unless(
                shape == (m, n),
                lambda: f"the addend {operands[2]} must broadcast to {m}x{n}",
            )
        return [tensor_type((m, n), lhs.element_type)]


@irdl_op_definition
class LuOp(NodeOp):
    """The LU factors of square matrices [..., n, n], with rows swapped for the largest pivots.

    `factors` holds the upper factor, and below its diagonal the lower one, whose diagonal is
    1; `sign` [...] is -1 where an odd number of rows was swapped, else 1 (LAPACK getrf).
    """

    name = "glow.lu"
    input = operand_def(TensorType)
    factors = result_def(TensorType)
    sign = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type, and a number for each matrix."""
        shape = operands[0].get_shape()
        check_float(cls, operands[0])
        fail_unless(
            len(shape) > 1 and shape[-1] == shape[-2],
            lambda: f"{operands[0]} is not one of square matrices",
        )
        return [operands[0], tensor_type(shape[:-2], operands[0].element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
