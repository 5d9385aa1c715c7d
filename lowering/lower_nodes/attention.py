"""Attention as the products and the softmax that networks spell it with."""

from __future__ import annotations

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.lowering.lower_nodes.products import scaled
from glow.passes.rewriting.node_builder import NodeBuilder


def attention(op: Operation) -> None:
    """softmax(queries x keys' * scale + mask) x values."""
    assert isinstance(op, glow.AttentionOp)
    builder = NodeBuilder(op)
    scores = builder.node(glow.MatmulOp, op.queries, op.keys, transpose_rhs=True)
    scores = scaled(builder, scores, op.attributes_view().float("scale"))
    if op.mask is not None:
        scores = builder.node(glow.AddOp, scores, op.mask)
    shares = builder.node(glow.SoftmaxOp, scores, axis=len(shape_of(scores)) - 1)
    builder.replace(builder.node(glow.MatmulOp, shares, op.values))


LOWERINGS = {glow.AttentionOp: attention}
