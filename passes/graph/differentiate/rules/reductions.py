"""Reductions: the gradient is repeated along the reduced axes."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule


def kept_shape(op: glow.ReduceSumOp | glow.ReduceMeanOp) -> list[int]:
    """The result's shape with a 1 for each reduced axis."""
    axes = op.attributes_view().ints("axes")
    return [1 if i in axes else size for i, size in enumerate(shape_of(op.input))]


def reduce_sum(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Each element of the input counts once."""
    assert isinstance(op, glow.ReduceSumOp)
    assert gradients[0] is not None
    return [builder.reshape(gradients[0], kept_shape(op))]


def reduce_mean(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Each element of the input counts by one of their number."""
    assert isinstance(op, glow.ReduceMeanOp)
    assert gradients[0] is not None
    count = prod(shape_of(op.input)) / max(prod(shape_of(op.result)), 1)
    kept = builder.reshape(gradients[0], kept_shape(op))
    return [builder.scale(kept, 1 / max(count, 1))]


RULES: dict[type[Operation], Rule] = {
    glow.ReduceSumOp: reduce_sum,
    glow.ReduceMeanOp: reduce_mean,
}
