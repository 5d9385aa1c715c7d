"""Finds attention in the products and the softmax that exporters spell it with.

    %s = glow.matmul %q, %k transpose_rhs       (or times a transpose)
    %t = glow.mul %s, %scale                    (or div; of %q, %k too; or nothing)
    %m = glow.add %t, %mask                     (or a select; or nothing)
    %p = glow.softmax %m axis 3
    %y = glow.matmul %p, %v
  becomes
    %y = glow.attention %q, %k, %v, %mask scale ...

A select between scores and a number so low that scores vanish beside it is the sum of scores
and a mask that holds the number.
Values that something else reads stay what they are. The pass belongs to backends with
attention as an operation of their own, and behind quantization, in which products take part
one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.fold_scale import factor_of
from glow.passes.rewriting.contract import NODES, VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of
from glow.passes.rewriting.patterns import RewritePass

VANISHING = -1e30
"""A score that is added to such a number does not change it."""

NEGLIGIBLE = -1e8
"""The weight of a key with such a score is 0 wherever a row has another key."""


class Moved(NamedTuple):
    """A value, and the transposition of it that is meant."""

    value: SSAValue
    permutation: tuple[int, ...] | None = None

    def made(self, builder: NodeBuilder) -> SSAValue:
        """The transposed value."""
        if self.permutation is None:
            return self.value
        return builder.transpose(self.value, self.permutation)


class Found(NamedTuple):
    """What a product of queries and transposed keys is made from."""

    queries: Moved
    keys: Moved
    scale: float
    """The factors of both."""


class Mask(NamedTuple):
    """What is added to scores."""

    added: SSAValue
    """The mask; of a select the numbers that are taken where the condition fails."""
    condition: SSAValue | None = None
    is_kept: bool = True
    """Whether scores stay where the condition holds, or else where it does not."""


def inner(value: SSAValue, op_class: type[NodeOp]) -> NodeOp | None:
    """The node of a class that makes a value, if only one node reads that."""
    owner = value.owner
    return owner if isinstance(owner, op_class) and value.has_one_use() else None


def masked(scores: SSAValue) -> tuple[SSAValue, Mask | None]:
    """Scores and mask of a sum of a product (scaled or not) and something smaller."""
    total = inner(scores, glow.AddOp)
    if total is not None:
        for product, mask in (total.inputs, total.inputs[::-1]):
            if _are_scores(product, scores):
                return product, Mask(mask)
    choice = inner(scores, glow.SelectOp)
    if choice is not None:
        condition, *pair = choice.inputs
        for is_kept, product, low in ((True, *pair), (False, *pair[::-1])):
            rows = _are_all_rows_kept(condition, is_kept)
            bound = NEGLIGIBLE if rows else VANISHING
            if _are_scores(product, scores) and _is_below(low, bound):
                return product, Mask(low, condition, is_kept)
    return scores, None


def _are_scores(product: SSAValue, scores: SSAValue) -> bool:
    """Whether scores before a mask are a product of queries and keys."""
    same = product.type == scores.type
    return same and queries_and_keys(scaled(product)[0]) is not None


def _is_below(value: SSAValue, bound: float) -> bool:
    """Whether a value is a constant with no number above a bound."""
    array = constant_value(value)
    return array is not None and bool(np.less_equal(array, bound).all())


def _are_all_rows_kept(condition: SSAValue, is_kept: bool) -> bool:
    """Whether a condition is a constant that masks no row of scores as a whole."""
    array = constant_value(condition)
    return array is not None and bool((array == is_kept).any(axis=-1).all())


def _added(mask: Mask, builder: NodeBuilder) -> SSAValue:
    """The mask as an addend."""
    if mask.condition is None:
        return mask.added
    nothing = builder.splat(0.0, element_of(mask.added))
    pair = (nothing, mask.added) if mask.is_kept else (mask.added, nothing)
    return builder.node(glow.SelectOp, mask.condition, *pair)


def scaled(value: SSAValue) -> tuple[SSAValue, float]:
    """x and c of a value that is `x * c` or `x / (1 / c)`; c is 1 for others."""
    node = inner(value, glow.MulOp) or inner(value, glow.DivOp)
    found = None if node is None else factor_of(node)
    return found or (value, 1.0)


def scaled_inside(value: SSAValue) -> tuple[Moved, float]:
    """`scaled`, of a transposition too whose operand has the factor."""
    value, outside = scaled(value)
    moved = inner(value, glow.TransposeOp)
    if moved is not None:
        source, inside = scaled(moved.inputs[0])
        if source is not moved.inputs[0]:
            permutation = moved.attributes_view().ints("permutation")
            return Moved(source, tuple(permutation)), outside * inside
    return Moved(value), outside


def queries_and_keys(scores: SSAValue) -> Found | None:
    """The operands of the product of queries and transposed keys."""
    product = inner(scores, glow.MatmulOp)
    if product is None or "transpose_lhs" in attributes_of(product):
        return None
    queries, of_queries = scaled_inside(product.inputs[0])
    if "transpose_rhs" in attributes_of(product):
        moved_keys, of_keys = scaled_inside(product.inputs[1])
        return Found(queries, moved_keys, of_queries * of_keys)
    keys, of_keys = scaled(product.inputs[1])
    scale = of_queries * of_keys
    moved = keys.owner
    if not isinstance(moved, glow.TransposeOp):
        return None
    *batch, size, count = moved.attributes_view().ints("permutation")
    keys, inside = scaled(moved.input) if keys.has_one_use() else (moved.input, 1.0)
    return Found(queries, Moved(keys, (*batch, count, size)), scale * inside)


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
    operands = [found.queries.value, found.keys.value, values]
    addends = [] if mask is None else [mask.added]
    if not _are_of_one_float(op.results[0], product, shares, *operands, *addends):
        return None
    operands[:2] = [found.queries.made(builder), found.keys.made(builder)]
    if mask is not None:
        operands.append(_added(mask, builder))
    return builder.node(glow.AttentionOp, *operands, scale=scale * found.scale)


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
