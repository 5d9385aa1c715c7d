"""Element-wise nodes: as their `Facts.derivative` says."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule, rule_of


def elementwise(builder: GradientBuilder, op: NodeOp, gradient: SSAValue) -> Gradients:
    """The products that the node's derivative gives."""
    derivative = glow.FACTS[type(op)].derivative
    assert derivative is not None
    attributes = op.attributes_view()
    return derivative(builder, op.inputs, op.results[0], gradient, attributes)


def convert(
    builder: GradientBuilder, op: glow.ConvertOp, gradient: SSAValue
) -> Gradients:
    """The gradient, which the walk converts back."""
    return [gradient]


DERIVED = [node for node, facts in glow.FACTS.items() if facts.derivative is not None]

RULES: dict[type[Operation], Rule] = {
    **rule_of(elementwise, *DERIVED),
    **rule_of(convert, glow.ConvertOp),
}
