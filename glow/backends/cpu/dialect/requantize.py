"""Sums and other numbers as bytes, in one node instead of seven."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)

from glow.dialects.attributes import Attributes, int_attr
from glow.dialects.glow.elementwise import ScalarNode, broadcast_shape
from glow.dialects.node import DataParallel, Types, fail_unless, public_nodes

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import Operands, Scalars


@irdl_op_definition
class RequantizeOp(ScalarNode):
    """`round(clip(f32(input) * multiplier, low, high)) + zero_point` as bytes.

    The multiplier (f32) broadcasts to the input; without one it is 1. Ties round to even, as
    `docs/quantization.md` says.

    %y = cpu.requantize %sums, %scales low -3.0 high 252.0 zero_point 3 : tensor<4xui8>
    """

    name = "cpu.requantize"
    input = operand_def(TensorType)
    multiplier = opt_operand_def(TensorType)
    result = result_def(TensorType)
    low = prop_def(FloatAttr)
    high = prop_def(FloatAttr)
    zero_point = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    traits = traits_def(DataParallel())

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The shape stays, and elements become bytes."""
        for multiplier in operands[1:]:
            fail_unless(
                multiplier.element_type == f32,
                lambda: f"the multiplier must be f32, not {operands[1]}",
            )
        shape = broadcast_shape([operand.get_shape() for operand in operands])
        fail_unless(
            shape == operands[0].get_shape() == results[0].get_shape(),
            lambda: f"requantize keeps the shape, not {operands[0]} to {results[0]}",
        )
        element = results[0].element_type
        fail_unless(
            isinstance(element, IntegerType) and element.bitwidth == 8,
            lambda: f"the result must have bytes, not {results[0]}",
        )

    @classmethod
    def scalar(
        cls, f: Scalars, x: Operands, element: Attribute, attributes: Attributes
    ) -> SSAValue:
        """Clamped before it is rounded: then the integer is what is left to add to."""
        number = f.convert(x[0], f32)
        for multiplier in x[1:]:
            number = f.mul(number, multiplier)
        number = f.clamp(number, attributes.float("low"), attributes.float("high"))
        whole = f.convert(f.unary("math.roundeven", number), i32)
        if point := attributes.int("zero_point"):
            whole = f.add(whole, f.number(point, whole))
        return f.convert(whole, element)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
