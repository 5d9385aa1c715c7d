"""Sums and other numbers as bytes, in one node instead of up to ten."""

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
    """`round(clip(number, low, high)) + zero_point` as bytes, where `number` is
    `(f32(input) - input_zero_point) * multiplier + addend`.

    Multiplier and addend (f32) broadcast to the input; without the one it is 1, without the
    other nothing is added. Ties round to even, as `docs/quantization.md` says.

    %y = cpu.requantize %sums, %scales low -3.0 high 252.0 zero_point 3 : tensor<4xui8>
    """

    name = "cpu.requantize"
    input = operand_def(TensorType)
    multiplier = opt_operand_def(TensorType)
    addend = opt_operand_def(TensorType)
    result = result_def(TensorType)
    low = prop_def(FloatAttr)
    high = prop_def(FloatAttr)
    zero_point = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    input_zero_point = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    traits = traits_def(DataParallel())

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The shape stays, and elements become bytes."""
        for name, operand in zip(("multiplier", "addend"), operands[1:], strict=False):
            fail_unless(
                operand.element_type == f32,
                lambda name=name, operand=operand: (
                    f"the {name} must be f32, not {operand}"
                ),
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
        if point := attributes.int("input_zero_point"):
            number = f.sub(number, f.number(point, number))
        for step, operand in zip((f.mul, f.add), x[1:], strict=False):
            number = step(number, operand)
        number = f.clamp(number, attributes.float("low"), attributes.float("high"))
        whole = f.convert(f.unary("math.roundeven", number), i32)
        if point := attributes.int("zero_point"):
            whole = f.add(whole, f.number(point, whole))
        return f.convert(whole, element)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
