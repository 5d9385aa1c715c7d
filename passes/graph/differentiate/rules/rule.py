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
    node: type[NodeT],
    rule: Callable[[GradientBuilder, NodeT, SSAValue], Gradients],
) -> tuple[type[Operation], Rule]:
    """A node and its rule, written for the gradient of its only result."""

    def apply(
        builder: GradientBuilder, op: Operation, gradients: Gradients
    ) -> Gradients:
        (gradient,) = gradients
        assert isinstance(op, node)
        assert gradient is not None
        return rule(builder, op, gradient)

    return node, apply
