"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from glow.passes.graph.differentiate.gradient_builder import (
    GradientBuilder,
)
from glow.passes.graph.differentiate.gradient_builder import Gradients as Gradients

Rule: TypeAlias = Callable[[GradientBuilder, Operation, Gradients], Gradients]
"""`rule(builder, op, gradients of the results)`: the gradients of the inputs.

Inputs are `NodeOp.inputs`; of other operations the operands, then what their regions use from
around them (`reverse_walk.inputs_of`).
"""

NodeT = TypeVar("NodeT", bound=Operation)


def rule_of(
    rule: Callable[[GradientBuilder, NodeT, SSAValue], Gradients], *nodes: type[NodeT]
) -> dict[type[Operation], Rule]:
    """Rows of a table: nodes of one result, with a rule that is written for its gradient."""

    def apply(
        builder: GradientBuilder, op: Operation, gradients: Gradients
    ) -> Gradients:
        (gradient,) = gradients
        assert isinstance(op, nodes)
        assert gradient is not None
        return rule(builder, op, gradient)

    return dict.fromkeys(nodes, apply)
