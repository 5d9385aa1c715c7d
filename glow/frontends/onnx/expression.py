"""Formulas of handlers in Python's operators: each one appends a node.

    x = Expression(node, node.value(0))
    y = (x + 1) * 0.5 - x.floor()

Numbers take the element type of the expression that they stand beside.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from glow.dialects.attributes import AttributeValue
from glow.dialects.glow import (
    AbsOp,
    AddOp,
    AndOp,
    CeilOp,
    ClipOp,
    DivOp,
    FloorOp,
    LessEqualOp,
    LessOp,
    MaxOp,
    MulOp,
    NegOp,
    RoundOp,
    SelectOp,
    SliceOp,
    SqrtOp,
    SubOp,
)
from glow.dialects.node import NodeOp
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, element_type, shape


class Expression:
    """A value of the graph under construction."""

    def __init__(self, node: OnnxNode, value: Operand) -> None:
        self.node = node
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape."""
        return shape(self.value)

    def constant(self, array: Array) -> Expression:
        """An array in the element type of this value."""
        dtype = dtype_of(element_type(self.value))
        return Expression(self.node, Constant(array.astype(dtype), "table"))

    def _operand(self, other: Expression | float) -> Operand:
        if isinstance(other, Expression):
            return other.value
        return self.node.number(other, self.value)

    def apply(
        self,
        op_class: type[NodeOp],
        *others: Expression | float,
        **attributes: AttributeValue,
    ) -> Expression:
        """A node with this value as its first operand."""
        operands = [self._operand(other) for other in others]
        result = self.node.emit(
            op_class, self.value, *operands, types=None, **attributes
        )
        return Expression(self.node, result)

    def __add__(self, other: Expression | float) -> Expression:
        return self.apply(AddOp, other)

    def __sub__(self, other: Expression | float) -> Expression:
        return self.apply(SubOp, other)

    def __mul__(self, other: Expression | float) -> Expression:
        return self.apply(MulOp, other)

    def __truediv__(self, other: Expression | float) -> Expression:
        return self.apply(DivOp, other)

    def __rsub__(self, number: float) -> Expression:
        return Expression(self.node, self._operand(number)) - self

    def __neg__(self) -> Expression:
        return self.apply(NegOp)

    def __abs__(self) -> Expression:
        return self.apply(AbsOp)

    def __and__(self, other: Expression) -> Expression:
        return self.apply(AndOp, other)

    def __le__(self, other: Expression | float) -> Expression:
        return self.apply(LessEqualOp, other)

    def __lt__(self, other: Expression | float) -> Expression:
        return self.apply(LessOp, other)

    def floor(self) -> Expression:
        """The largest integer that is not larger."""
        return self.apply(FloorOp)

    def ceil(self) -> Expression:
        """The smallest integer that is not smaller."""
        return self.apply(CeilOp)

    def round(self) -> Expression:
        """The nearest integer, of two the even one."""
        return self.apply(RoundOp)

    def sqrt(self) -> Expression:
        """The square root."""
        return self.apply(SqrtOp)

    def maximum(self, other: Expression | float) -> Expression:
        """The larger one of two."""
        return self.apply(MaxOp, other)

    def clamp(self, low: float, high: float) -> Expression:
        """The nearest number of [low, high]."""
        return self.apply(ClipOp, low=float(low), high=float(high))

    def within(self, low: float, high: float) -> Expression:
        """Whether the value is in [low, high]; NaN is not."""
        above = Expression(self.node, self._operand(low)) <= self
        return above & (self <= high)

    def choose(self, yes: Expression, no: Expression | float) -> Expression:
        """One of two values, by this truth value."""
        return self.apply(SelectOp, yes, _like(yes, no))

    def convert(self, element: Attribute) -> Expression:
        """The value in another element type."""
        return Expression(self.node, self.node.convert(self.value, element))

    def reshape(self, new_shape: Sequence[int]) -> Expression:
        """The value in another shape."""
        return Expression(self.node, self.node.reshape(self.value, new_shape))

    def transpose(self, *permutation: int) -> Expression:
        """The value with its axes permuted."""
        return Expression(self.node, self.node.transpose(self.value, permutation))

    def broadcast(self, new_shape: Sequence[int]) -> Expression:
        """The value repeated to a shape."""
        return Expression(self.node, self.node.broadcast(self.value, new_shape))

    def part(self, axis: int, start: int, size: int = 1) -> Expression:
        """`size` elements along an axis from `start` on."""
        sizes, starts = list(self.shape), [0] * len(self.shape)
        sizes[axis], starts[axis] = size, start
        steps = [1] * len(sizes)
        return self.apply(SliceOp, starts=starts, sizes=sizes, steps=steps)


def _like(value: Expression, other: Expression | float) -> Expression:
    """A value, or a number in the element type of another one."""
    if isinstance(other, Expression):
        return other
    return Expression(value.node, value.node.number(other, value.value))
