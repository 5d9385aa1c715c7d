"""Element-wise nodes as their formulas say, on whole tensors; numbers are splats of rank 0."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.formulas import Lowering
from glow.dialects.node import NodeOp
from glow.passes.rewriting.node_builder import NodeBuilder, element_type


class Tensors:
    """Writes a formula as nodes before the one that it replaces."""

    def __init__(self, builder: NodeBuilder) -> None:
        self.builder = builder

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A number that broadcasts."""
        return self.builder.splat(value, element_type(like))

    def apply(self, node: type[NodeOp], *operands: SSAValue) -> SSAValue:
        """A node."""
        return self.builder.node(node, *operands)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y."""
        return self.apply(glow.AddOp, x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y."""
        return self.apply(glow.MulOp, x, y)

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x / y."""
        return self.apply(glow.DivOp, x, y)

    def clamp(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """min(max(x, low), high); infinite bounds vanish."""
        if low != -inf:
            x = self.apply(glow.MaxOp, x, self.number(low, x))
        if high != inf:
            x = self.apply(glow.MinOp, x, self.number(high, x))
        return x


def lower(op: Operation, formula: Lowering) -> None:
    """Put what the formula writes in the place of a node."""
    assert isinstance(op, NodeOp)
    builder = NodeBuilder(op)
    builder.replace(formula(Tensors(builder), op.inputs, op.attributes_view()))


LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    node: partial(lower, formula=facts.lowering)
    for node, facts in glow.FACTS.items()
    if facts.lowering is not None
}
