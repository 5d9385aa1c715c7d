"""Softmax and layer normalization whose epilogue stores what reads them, such as bytes.

%p = cpu.softmax %x {
^bb0(%share: f32):
  ...
  glow.yield %byte : ui8
} : tensor<1x12x128x128xui8>
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f32, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_result_def,
    prop_def,
    result_def,
)

from glow.backends.cpu.dialect.epilogue import ConvertingOp, OperandKind
from glow.dialects.attributes import Attributes, float_attr
from glow.dialects.node import Types, fail_unless, public_nodes, tensor_type


class RowOp(ConvertingOp):
    """A function of f32 rows; the epilogue reads a number a column, an element, or one."""

    SUMS: ClassVar[Attribute] = f32

    @classmethod
    def kind_of_operand(
        cls, shape: tuple[int, ...], result: tuple[int, ...]
    ) -> OperandKind | None:
        """How an epilogue operand is read, or None when it cannot be."""
        if shape == result:
            return "full"
        if prod(shape) == 1:
            return "scalar"
        return "channel" if shape[-1] == result[-1] == prod(shape) else None

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's shape."""
        fail_unless(
            operands[0].element_type == f32 and operands[0].get_num_dims() > 0,
            f"the rows must be f32, not {operands[0]}",
        )
        return [operands[0]]


@irdl_op_definition
class SoftmaxOp(RowOp):
    """`glow.softmax` over the last axis."""

    name = "cpu.softmax"
    input = operand_def(TensorType)


@irdl_op_definition
class LayerNormOp(RowOp):
    """`glow.layer_norm` from `axis` on; `plain` is the result without the epilogue.

    %q, %x = cpu.layer_norm %0, %scale, %bias axis 2 { ... } :
        tensor<1x128x384xui8>, tensor<1x128x384xf32>
    """

    name = "cpu.layer_norm"
    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)
    plain = opt_result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr, default_value=float_attr(1e-5))

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """Verify the first result, and that the second one is the input's type."""
        super().check(operands, attributes, results[:1])
        trailing = operands[0].get_shape()[attributes.int("axis") :]
        parameters = tensor_type(trailing, f32)
        for operand in operands[1:3]:
            fail_unless(
                operand == parameters,
                f"a parameter must be {parameters}, not {operand}",
            )
        fail_unless(
            all(result == operands[0] for result in results[1:]),
            f"the plain result must be {operands[0]}",
        )


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
