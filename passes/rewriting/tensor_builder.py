"""Writes formulas of element-wise nodes as nodes on whole tensors; numbers are splats of rank 0.

The counterpart of `scalar_builder`, which writes the same formulas as scalar operations.
"""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.passes.rewriting.node_builder import NodeBuilder, element_type


class Tensors:
    """Writes a formula as nodes where a builder stands."""

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

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y."""
        return self.apply(glow.SubOp, x, y)

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
