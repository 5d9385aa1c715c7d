"""Attention: through its products, computing the softmax again.

With P = softmax(Q K' * scale + mask), Y = P V and G the gradient of Y:

    V.grad = P' G
    S.grad = P * (D - rowsum(D * P))  with  D = G V'
    Q.grad = S.grad K * scale         K.grad = S.grad' Q * scale        mask.grad = S.grad

The scores are not kept from the forward graph, whose kernel never stores them.
"""

from __future__ import annotations

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule


def attention(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """See the module."""
    assert isinstance(op, glow.AttentionOp)
    gradient = gradients[0]
    assert gradient is not None
    scale = op.attributes_view().float("scale")
    queries = builder.scale(op.queries, scale)
    scores = builder.node(glow.MatmulOp, queries, op.keys, transpose_rhs=True)
    if op.mask is not None:
        scores = builder.node(glow.AddOp, scores, op.mask)
    last = len(shape_of(scores)) - 1
    shares = builder.node(glow.SoftmaxOp, scores, axis=last)
    of_values = builder.node(glow.MatmulOp, shares, gradient, transpose_lhs=True)
    of_shares = builder.node(glow.MatmulOp, gradient, op.values, transpose_rhs=True)
    weighted = builder.node(glow.MulOp, of_shares, shares)
    last = len(shape_of(weighted)) - 1
    total = builder.node(glow.ReduceSumOp, weighted, axes=[last], keepdims=True)
    centered = builder.node(glow.SubOp, of_shares, total)
    of_scores = builder.node(glow.MulOp, centered, shares)
    of_queries = builder.node(glow.MatmulOp, of_scores, op.keys)
    of_keys = builder.node(glow.MatmulOp, of_scores, queries, transpose_lhs=True)
    found = [builder.scale(of_queries, scale), of_keys, of_values]
    return found if op.mask is None else [*found, of_scores]


RULES: dict[type[Operation], Rule] = {glow.AttentionOp: attention}
