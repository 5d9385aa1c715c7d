"""Branches: back through the branch that was taken, which computes its values again."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region

from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.region_copies import (
    builder_in,
    captured_by,
    copy_ops,
    go_back,
)
from glow.passes.graph.differentiate.reverse_walk import inputs_of
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule


def branch(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """The gradients by the branch that was taken: zeros of what it does not use."""
    assert isinstance(op, scf.IfOp)
    captured = captured_by(builder, op)
    types = [value.type for value in captured]
    blocks = [Block() for _ in op.regions]
    inners = [builder_in(block, builder) for block in blocks]
    then, otherwise = map(Region, blocks)
    back = builder.insert(scf.IfOp(op.cond, types, then, otherwise))
    for inner, region in zip(inners, op.regions, strict=True):
        ops, ends = copy_ops(inner, region.block, ())
        given = zip(ends, gradients, strict=True)
        inner.anchor.operands = go_back(inner, ops, captured, given, {})
        inner.erase_unused()
    found = dict(zip(captured, back.results, strict=True))
    return [None, *(found.get(value) for value in inputs_of(op)[1:])]


RULES: dict[type[Operation], Rule] = {scf.IfOp: branch}
