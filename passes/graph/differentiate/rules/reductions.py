"""Reductions, and sums and products along an axis."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.normalization import ReduceOp
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule, rule_of
from glow.passes.rewriting.node_builder import element_type


def repeatable(builder: GradientBuilder, op: ReduceOp, value: SSAValue) -> SSAValue:
    """A value of the result's shape, so that it broadcasts to the input's."""
    axes = op.attributes_view().ints("axes")
    shape = [1 if i in axes else size for i, size in enumerate(shape_of(op.input))]
    return builder.reshape(value, shape)


def reduce_sum(
    builder: GradientBuilder, op: glow.ReduceSumOp, gradient: SSAValue
) -> Gradients:
    """Each element of the input counts once."""
    return [repeatable(builder, op, gradient)]


def reduce_mean(
    builder: GradientBuilder, op: glow.ReduceMeanOp, gradient: SSAValue
) -> Gradients:
    """Each element of the input counts by one of their number."""
    axes = op.attributes_view().ints("axes")
    count = prod(shape_of(op.input)[axis] for axis in axes)
    return [builder.scale(repeatable(builder, op, gradient), 1 / max(count, 1))]


def reduce_extreme(
    builder: GradientBuilder,
    op: glow.ReduceMaxOp | glow.ReduceMinOp,
    gradient: SSAValue,
) -> Gradients:
    """Equal parts for the elements that equal the result (torch.amax)."""
    extreme = repeatable(builder, op, op.result)
    is_extreme = builder.node(glow.EqualOp, op.input, extreme)
    counted = builder.convert(is_extreme, element_type(op.input))
    axes = op.attributes_view().ints("axes")
    count = builder.sum(counted, axes, keepdims=True)
    share = builder.div(repeatable(builder, op, gradient), count)
    zero = builder.number(0.0, gradient)
    return [builder.node(glow.SelectOp, is_extreme, share, zero)]


def reduce_product(
    builder: GradientBuilder, op: glow.ReduceProdOp, gradient: SSAValue
) -> Gradients:
    """The product of all others: of those before times of those behind, since one may be 0."""
    axes, shape = op.attributes_view().ints("axes"), shape_of(op.input)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = [*kept, *axes]
    rows = prod(shape[axis] for axis in kept)
    flat = (rows, prod(shape[axis] for axis in axes))
    moved = builder.transpose(op.input, order)
    line = builder.reshape(moved, flat)

    def others(reverse: bool) -> SSAValue:
        settings = {"kind": "prod", "axis": 1, "exclusive": True, "reverse": reverse}
        return builder.node(glow.CumulativeOp, line, **settings)

    product = builder.mul(others(reverse=False), others(reverse=True))
    product = builder.reshape(product, shape_of(moved))
    product = builder.transpose(product, [order.index(i) for i in range(len(order))])
    return [builder.mul(repeatable(builder, op, gradient), product)]


def cumulative(
    builder: GradientBuilder, op: glow.CumulativeOp, gradient: SSAValue
) -> Gradients:
    """Of sums, the sum from the other end; of products as `cumulative_product` says."""
    attributes = op.attributes_view()
    if attributes.string("kind") == "prod":
        return [cumulative_product(builder, op, gradient)]
    return [
        builder.node(
            glow.CumulativeOp,
            gradient,
            kind="sum",
            axis=attributes.int("axis"),
            exclusive=attributes.has("exclusive"),
            reverse=not attributes.has("reverse"),
        )
    ]


def cumulative_product(
    builder: GradientBuilder, op: glow.CumulativeOp, gradient: SSAValue
) -> SSAValue:
    """The gradient of n products along an axis: n^2 products, since an element may be 0.

    Row i holds the products with a 1 in the place of element i: what they are multiplied
    with. Only products that element i is part of count.
    """
    attributes, shape = op.attributes_view(), shape_of(op.input)
    axis, element = attributes.int("axis"), element_type(op.input)
    settings = {name: attributes.has(name) for name in ("exclusive", "reverse")}
    with_rows = (*shape[:axis], 1, *shape[axis:])
    is_own, is_part = element_masks(builder, op)
    one, zero = builder.splat(1.0, element), builder.splat(0.0, element)
    rows = builder.reshape(op.input, with_rows)
    others = builder.node(glow.SelectOp, is_own, one, rows)
    settings |= {"kind": "prod", "axis": axis + 1}
    products = builder.node(glow.CumulativeOp, others, **settings)
    weighted = builder.mul(builder.reshape(gradient, with_rows), products)
    weighted = builder.node(glow.SelectOp, is_part, weighted, zero)
    return builder.sum(weighted, [axis + 1])


def element_masks(
    builder: GradientBuilder, op: glow.CumulativeOp
) -> tuple[SSAValue, SSAValue]:
    """Of products along an axis: in row i, which is element i, and which it is part of."""
    attributes, shape = op.attributes_view(), shape_of(op.input)
    axis = attributes.int("axis")
    place = np.arange(shape[axis])
    distance = place[None, :] - place[:, None]
    if attributes.has("reverse"):
        distance = -distance
    masks = distance == 0, distance >= int(attributes.has("exclusive"))
    sizes = (*distance.shape, *[1] * (len(shape) - axis - 1))
    is_own, is_part = (
        builder.constant(mask.reshape(sizes), "cumulative_mask") for mask in masks
    )
    return is_own, is_part


RULES: dict[type[Operation], Rule] = {
    **rule_of(reduce_sum, glow.ReduceSumOp),
    **rule_of(reduce_mean, glow.ReduceMeanOp),
    **rule_of(reduce_extreme, glow.ReduceMaxOp, glow.ReduceMinOp),
    **rule_of(reduce_product, glow.ReduceProdOp),
    **rule_of(cumulative, glow.CumulativeOp),
}
