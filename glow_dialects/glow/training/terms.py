"""Formulas in Python's operators, for what is longer than a line of `f.mul(f.add(...))`.

    x, y = Term(f, x), Term(f, y)
    result = (x * 0.9 + y * 0.1).sqrt()

As with `Formula`, what is written serves the elements of a kernel and whole tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue

from glow.dialects.glow.activations import SoftplusOp
from glow.dialects.glow.arithmetic import DivOp, LessEqualOp, MaxOp, SelectOp, SubOp
from glow.dialects.glow.functions import AbsOp, ExpOp, LogOp, SignOp, SqrtOp
from glow.dialects.node import NodeOp

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import Formula

Operand: TypeAlias = "Term | float"


class Term:
    """A value of a formula; numbers beside it take its type."""

    def __init__(self, formula: Formula, value: SSAValue) -> None:
        self.formula = formula
        self.value = value

    def _value(self, other: Operand) -> SSAValue:
        if isinstance(other, Term):
            return other.value
        return self.formula.number(other, self.value)

    def apply(self, node: type[NodeOp], *others: Operand) -> Term:
        """An element-wise node with this value as its first operand."""
        operands = [self._value(other) for other in others]
        return Term(self.formula, self.formula.apply(node, self.value, *operands))

    def __add__(self, other: Operand) -> Term:
        return Term(self.formula, self.formula.add(self.value, self._value(other)))

    def __mul__(self, other: Operand) -> Term:
        return Term(self.formula, self.formula.mul(self.value, self._value(other)))

    def __sub__(self, other: Operand) -> Term:
        return self.apply(SubOp, other)

    def __truediv__(self, other: Operand) -> Term:
        return self.apply(DivOp, other)

    def __rsub__(self, number: float) -> Term:
        return Term(self.formula, self._value(number)) - self

    def __rtruediv__(self, number: float) -> Term:
        return Term(self.formula, self._value(number)) / self

    def __neg__(self) -> Term:
        return self * -1.0

    def __abs__(self) -> Term:
        return self.apply(AbsOp)

    def __le__(self, other: Operand) -> Term:
        return self.apply(LessEqualOp, other)

    def exp(self) -> Term:
        """The exponential."""
        return self.apply(ExpOp)

    def log(self) -> Term:
        """The natural logarithm."""
        return self.apply(LogOp)

    def sqrt(self) -> Term:
        """The square root."""
        return self.apply(SqrtOp)

    def sign(self) -> Term:
        """-1, 0 or 1."""
        return self.apply(SignOp)

    def softplus(self) -> Term:
        """log(1 + exp(x)), which does not overflow."""
        return self.apply(SoftplusOp)

    def maximum(self, other: Operand) -> Term:
        """The larger one of two."""
        return self.apply(MaxOp, other)

    def clamp(self, low: float, high: float) -> Term:
        """The nearest number of [low, high]."""
        return Term(self.formula, self.formula.clamp(self.value, low, high))

    def choose(self, yes: Term, no: Operand) -> Term:
        """One of two values, by this truth value."""
        values = [yes.value, yes._value(no)]
        return Term(self.formula, self.formula.apply(SelectOp, self.value, *values))


def terms(formula: Formula, values: Sequence[SSAValue]) -> list[Term]:
    """The values as terms."""
    return [Term(formula, value) for value in values]
