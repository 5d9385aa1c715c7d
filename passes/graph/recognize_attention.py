"""Finds attention in the products and the softmax that exporters spell it with.

    %s = glow.matmul %q, %k transpose_rhs       (or times a transpose)
    %t = glow.mul %s, %scale                    (or div; of %q, %k too; or nothing)
    %m = glow.add %t, %mask                     (or a select; several; or nothing)
    %p = glow.softmax %m axis 3
    %y = glow.matmul %p, %v
  becomes
    %y = glow.attention %q, %k, %v, %mask scale ...

Masks may be added to the scores under other leading axes, as windows of an image have them, and
weights be 0 where they are NaN; then so is the result. A select between scores and a number so
low that scores vanish beside it is the sum of scores and a mask that holds the number.
Values that something else reads stay what they are. The pass belongs to backends with
attention as an operation of their own, and behind quantization, in which products take part
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.fold_scale import factor_of
from glow.passes.rewriting.contract import NODES, VALUES
from glow.passes.rewriting.matching import number_of
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, like
from glow.passes.rewriting.patterns import RewritePass

Shape = tuple[int, ...]

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


Addend = Callable[[NodeBuilder], SSAValue]
"""Makes what is added to scores."""


class Scores(NamedTuple):
    """What a softmax reads: scaled products of queries and keys, and what is added to them."""

    product: SSAValue
    scale: float
    found: Found
    addends: tuple[Addend, ...] = ()
    """Those added first come first; they fit the product."""
    masks: tuple[SSAValue, ...] = ()
    """The floats that they are made of."""

    @property
    def shape(self) -> Shape:
        """That of the product."""
        return shape_of(self.product)

    def mask(self, builder: NodeBuilder) -> list[SSAValue]:
        """The sum of all that is added, as a list that may be empty."""
        values = [addend(builder) for addend in self.addends]
        return [reduce(partial(builder.node, glow.AddOp), values)] if values else []


def inner(value: SSAValue, op_class: type[NodeOp]) -> NodeOp | None:
    """The node of a class that makes a value, if only one node reads that."""
    owner = value.owner
    return owner if isinstance(owner, op_class) and value.has_one_use() else None


def scores_of(value: SSAValue, bound: float = NEGLIGIBLE) -> Scores | None:
    """The products that scores are made of, behind sums, selects and reshapes.

    `bound`: what may stand for scores where a constant masks no row as a whole.
    """
    product, scale = scaled(value)
    found = queries_and_keys(product)
    if found is not None:
        return Scores(product, scale, found)
    for op_class, step in STEPS.items():
        owner = inner(value, op_class)
        if owner is not None:
            return step(owner, bound)
    return None


def _behind_sum(op: NodeOp, bound: float) -> Scores | None:
    """The scores that a mask is added to, which is not larger."""
    for scores, mask in (op.inputs, op.inputs[::-1]):
        found = scores_of(scores, VANISHING) if _has_type_of(op, scores) else None
        if found is not None:
            return _with(found, op, mask, shape_of(mask), lambda _, mask=mask: mask)
    return None


def _behind_select(op: NodeOp, bound: float) -> Scores | None:
    """The scores that a condition keeps, where a low number stands for the others."""
    condition, *pair = op.inputs
    for is_kept, scores, low in ((True, *pair), (False, *pair[::-1])):
        most = bound if _are_all_rows_kept(condition, is_kept) else VANISHING
        if _has_type_of(op, scores) and _is_below(low, most):
            found = scores_of(scores, VANISHING)
            if found is not None:
                shape = broadcast_shape([shape_of(condition), shape_of(low)])
                made = partial(_selected, condition, low, is_kept)
                return _with(found, op, low, shape, made)
    return None


def _behind_reshape(op: NodeOp, bound: float) -> Scores | None:
    """The scores under other leading axes."""
    keeps_rows = shape_of(op.inputs[0])[-2:] == shape_of(op.results[0])[-2:]
    return scores_of(op.inputs[0], bound) if keeps_rows else None


STEPS: Mapping[type[NodeOp], Callable[[NodeOp, float], Scores | None]] = {
    glow.AddOp: _behind_sum,
    glow.SelectOp: _behind_select,
    glow.ReshapeOp: _behind_reshape,
}
"""What may stand between a product and its softmax."""


def _has_type_of(op: NodeOp, value: SSAValue) -> bool:
    return value.type == op.results[0].type


def _with(
    scores: Scores, op: NodeOp, mask: SSAValue, shape: Shape, addend: Addend
) -> Scores | None:
    """The scores with what a node adds, a mask of a shape; None where that fits not."""
    outside = shape_of(op.results[0])
    if outside != scores.shape:
        from glow.passes.rewriting.fitted_masks import fitted_shapes

        fitted = fitted_shapes(shape, outside, scores.shape)
        if fitted is None:
            return None
        addend = partial(_reshaped, addend, *fitted)
    return scores._replace(
        addends=(*scores.addends, addend), masks=(*scores.masks, mask)
    )


def _reshaped(
    addend: Addend, wide: Shape, shape: Shape, builder: NodeBuilder
) -> SSAValue:
    """A mask of fewer or more axes."""
    value = addend(builder)
    if prod(shape_of(value)) != prod(wide):
        types = [like(value, wide)]
        value = builder.create(glow.BroadcastOp, [value], {}, types=types)
    return builder.reshape(value, shape)


def _selected(
    condition: SSAValue, low: SSAValue, is_kept: bool, builder: NodeBuilder
) -> SSAValue:
    """A select as an addend."""
    nothing = builder.splat(0.0, element_of(low))
    pair = (nothing, low) if is_kept else (low, nothing)
    return builder.node(glow.SelectOp, condition, *pair)


def _is_below(value: SSAValue, bound: float) -> bool:
    """Whether a value is a constant with no number above a bound."""
    array = constant_value(value)
    return array is not None and bool(np.less_equal(array, bound).all())


def _are_all_rows_kept(condition: SSAValue, is_kept: bool) -> bool:
    """Whether a condition is a constant that masks no row of scores as a whole."""
    array = constant_value(condition)
    return array is not None and bool((array == is_kept).any(axis=-1).all())


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
    weights, values = op.inputs
    shares, is_guarded = unguarded(weights)
    softmax = shares.owner if is_guarded else inner(shares, glow.SoftmaxOp)
    if not isinstance(softmax, glow.SoftmaxOp) or attributes_of(op):
        return None
    if softmax.attributes_view().int("axis") != len(shape_of(shares)) - 1:
        return None
    scores = scores_of(softmax.inputs[0])
    if scores is None or scores.shape != shape_of(shares):
        return None
    found = scores.found
    operands = [found.queries.value, found.keys.value, values]
    types = [op.results[0], scores.product, shares, *operands, *scores.masks]
    if not _are_of_one_float(*types):
        return None
    operands[:2] = [found.queries.made(builder), found.keys.made(builder)]
    operands += scores.mask(builder)
    scale = scores.scale * found.scale
    result = builder.node(glow.AttentionOp, *operands, scale=scale)
    return without_nans(result, builder) if is_guarded else result


def unguarded(weights: SSAValue) -> tuple[SSAValue, bool]:
    """The shares that weights are, and whether these are 0 where the shares are NaN.

    So it is for queries without any key that the mask lets through, whose shares are all NaN.
    """
    choice = inner(weights, glow.SelectOp)
    if choice is None:
        return weights, False
    condition, zero, shares = choice.inputs
    test = inner(condition, glow.IsNanOp)
    readers = {use.operation for use in shares.uses}
    if test is None or test.inputs[0] is not shares or number_of(zero) != 0:
        return weights, False
    return (shares, True) if readers == {choice, test} else (weights, False)


def without_nans(value: SSAValue, builder: NodeBuilder) -> SSAValue:
    """The value with 0 in the place of each NaN."""
    zero = builder.splat(0.0, element_of(value))
    return builder.node(glow.SelectOp, builder.node(glow.IsNanOp, value), zero, value)


def _are_of_one_float(*values: SSAValue) -> bool:
    """Whether nothing is quantized, nor stored in another type than its operands.

    The node's scale has the bits of f32, which are too few for f64.
    """
    elements = {element_of(value) for value in values}
    return len(elements) == 1 and isinstance(
        elements.pop(), Float16Type | BFloat16Type | Float32Type
    )


def share_heads(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Attention without repeated keys, if it has some (`shared_heads.py`)."""
    from glow.passes.graph import shared_heads

    return shared_heads.share_heads(op, builder)


class RecognizeAttentionPass(RewritePass):
    """Find attention in its parts; heads that share keys are one (`shared_heads.py`)."""

    name = "recognize-attention"
    requires = ensures = (NODES,)
    preserves = VALUES
    rewrites = {glow.MatmulOp: (attention,), glow.AttentionOp: (share_heads,)}
