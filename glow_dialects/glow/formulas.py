"""What the formulas of element-wise nodes are written with.

A formula says what a node does with simpler ones. It is read twice: with `Scalars` it
becomes the `arith` and `math` operations of a kernel's body, with tensors the nodes that
`lower-nodes` puts in the node's place. What only hardware knows (`math.tanh`) is written
with `Scalars` alone. Both are implemented above the dialects, where operations are built:
`glow.passes.rewriting.scalar_builder` and `tensor_builder`.

Derivatives are formulas too: `DERIVATIVE = lambda f, x, y, g, _: [f.mul(g, y)]` is that of
`exp`, with the operands x, the result y and the gradient g of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from xdsl.ir import Attribute, SSAValue

from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp


class Formula(Protocol):
    """Arithmetic on elements, or on whole tensors."""

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A number of the type of `like`."""
        ...

    def apply(self, node: type[NodeOp], *operands: SSAValue) -> SSAValue:
        """Another element-wise node without attributes."""
        ...

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y."""
        ...

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y."""
        ...

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y."""
        ...

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x / y; integers round towards zero."""
        ...

    def clamp(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """min(max(x, low), high); infinite bounds vanish."""
        ...


class Scalars(Formula, Protocol):
    """Operations on elements."""

    def unary(self, operation: str, x: SSAValue) -> SSAValue:
        """An operation of one operand that keeps its type, by its name: `math.tanh`."""
        ...

    def binary(self, operation: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """An operation of two operands that keeps their type, by its name."""
        ...

    def convert(self, x: SSAValue, scalar: Attribute) -> SSAValue:
        """The scalar in another element type; floats to integers truncate."""
        ...

    def maximum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The larger; NaN wins."""
        ...

    def minimum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The smaller; NaN wins."""
        ...

    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """An `i1`: `eq`, `ne`, `lt` or `le`; comparisons with NaN are false, `ne` true."""
        ...

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """x where the condition holds, else y."""
        ...


Operands = Sequence[SSAValue]

Lowering = Callable[[Formula, Operands, Attributes], SSAValue]
"""`formula(f, operands, attributes)`: the result, on elements or on tensors."""

ScalarBody = Callable[[Scalars, Operands, Attributes], SSAValue]
"""`body(f, operands, attributes)`: the result's element."""

Gradients = Sequence["SSAValue | None"]

Derivative = Callable[[Formula, Operands, SSAValue, SSAValue, Attributes], Gradients]
"""`derivative(f, operands, result, gradient, attributes)`: a gradient for each operand.

`gradient` is that of the result. None stands for zero: an operand that is no number, or a
function that is constant between its steps. On tensors a gradient may have the shape of the
result or one that broadcasts to it; broadcasting of operands is undone elsewhere.
"""
