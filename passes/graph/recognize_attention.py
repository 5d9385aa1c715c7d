"""Finds attention in the products and the softmax that exporters spell it with.

    %s = glow.matmul %q, %k transpose_rhs       (or times a transpose)
    %t = glow.mul %s, %scale                    (or div; or nothing)
    %m = glow.add %t, %mask                     (or nothing)
    %p = glow.softmax %m axis 3
    %y = glow.matmul %p, %v
  becomes
    %y = glow.attention %q, %k, %v, %mask scale ...

Values that something else reads stay what they are. The pass belongs to backends with
attention as an operation of their own, and behind quantization, in which products take part
one by one.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.passes.graph.fold_scale import factor_of
from glow.passes.rewriting.contract import NODES, VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of
from glow.passes.rewriting.patterns import RewritePass

Found = tuple[SSAValue, SSAValue, tuple[int, ...] | None]
"""Queries, what the keys are made from, and the transposition that makes them."""


def inner(value: SSAValue, op_class: type[NodeOp]) -> NodeOp | None:
    """The node of a class that makes a value, if only one node reads that."""
    owner = value.owner
    return owner if isinstance(owner, op_class) and value.has_one_use() else None


def masked(scores: SSAValue) -> tuple[SSAValue, SSAValue | None]:
    """Scores and mask of a sum of a product (scaled or not) and something smaller."""
    total = inner(scores, glow.AddOp)
    if total is not None:
        for product, mask in (total.inputs, total.inputs[::-1]):
            if product.type == scores.type and queries_and_keys(scaled(product)[0]):
                return product, mask
    return scores, None


def scaled(scores: SSAValue) -> tuple[SSAValue, float]:
    """x and c of scores that are `x * c` or `x / (1 / c)`; c is 1 for others."""
    node = inner(scores, glow.MulOp) or inner(scores, glow.DivOp)
    found = None if node is None else factor_of(node)
    return found or (scores, 1.0)


def queries_and_keys(scores: SSAValue) -> Found | None:
    """The operands of the product of queries and transposed keys."""
    product = inner(scores, glow.MatmulOp)
    if product is None or "transpose_lhs" in attributes_of(product):
        return None
    queries, keys = product.inputs
    if "transpose_rhs" in attributes_of(product):
        return queries, keys, None
    moved = keys.owner
    if not isinstance(moved, glow.TransposeOp):
        return None
    *batch, size, count = moved.attributes_view().ints("permutation")
    return queries, moved.input, (*batch, count, size)


def attention(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """One node for `softmax(queries x keys' * scale + mask) x values`."""
    shares, values = op.inputs
    softmax = inner(shares, glow.SoftmaxOp)
    if softmax is None or attributes_of(op):
        return None
    if softmax.attributes_view().int("axis") != len(shape_of(shares)) - 1:
        return None
    scores, mask = masked(softmax.inputs[0])
    product, scale = scaled(scores)
    found = queries_and_keys(product)
    if found is None:
        return None
    queries, keys, permutation = found
    operands = [queries, keys, values, *([] if mask is None else [mask])]
    if not _are_of_one_float(op.results[0], product, shares, *operands):
        return None
    if permutation is not None:
        operands[1] = builder.transpose(keys, permutation)
    return builder.node(glow.AttentionOp, *operands, scale=scale)


def _are_of_one_float(*values: SSAValue) -> bool:
    """Whether nothing is quantized, nor stored in another type than its operands.

    The node's scale has the bits of f32, which are too few for f64.
    """
    elements = {element_of(value) for value in values}
    return len(elements) == 1 and isinstance(
        elements.pop(), Float16Type | BFloat16Type | Float32Type
    )


class RecognizeAttentionPass(RewritePass):
    """Find attention in its parts."""

    name = "recognize-attention"
    requires = ensures = (NODES,)
    preserves = VALUES
    rewrites = {glow.MatmulOp: (attention,)}
