"""Element-wise nodes: as their `Facts.derivative` says."""

from __future__ import annotations

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule


def elementwise(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """The products that the node's derivative gives."""
    assert isinstance(op, NodeOp)
    derivative = glow.FACTS[type(op)].derivative
    gradient = gradients[0]
    assert derivative is not None
    assert gradient is not None
    return derivative(builder, op.inputs, op.results[0], gradient, op.attributes_view())


RULES: dict[type[Operation], Rule] = {
    node: elementwise
    for node, facts in glow.FACTS.items()
    if facts.derivative is not None
}
