"""Weighted sums of elements along an axis, as elements that are gathered, products and a sum."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder, element_type


def sample(op: Operation) -> None:
    """Each tap is gathered, or 0 where its place is outside; then products are folded."""
    assert isinstance(op, glow.SampleOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    axis, shape, table = (
        attributes.int("axis"),
        shape_of(op.input),
        shape_of(op.places),
    )
    outer, extent, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    *batch, count, taps = table
    spread = (prod(batch), count, taps, 1)
    found = _gathered(builder, op, (outer, extent, inner))
    found = builder.reshape(found, (outer, count, taps, inner))
    wide = element_of(op.weights)
    found = _converted(builder, found, wide)
    inside = builder.reshape(_is_inside(builder, op.places, extent), spread)
    found = builder.node(glow.SelectOp, inside, found, builder.splat(0, wide))
    product = builder.node(glow.MulOp, found, builder.reshape(op.weights, spread))
    fold = glow.ReduceMaxOp if attributes.has("largest") else glow.ReduceSumOp
    result = builder.node(fold, product, axes=[2])
    result = _converted(builder, result, element_of(op.input))
    builder.replace(builder.reshape(result, shape_of(op.result)))


def _gathered(
    builder: NodeBuilder, op: glow.SampleOp, sizes: tuple[int, int, int]
) -> SSAValue:
    """The elements of all taps, [outer, count * taps, inner]; those outside are others."""
    places, element = op.places, element_type(op.places)
    last = builder.splat(sizes[1] - 1, element)
    safe = builder.node(glow.MaxOp, places, builder.splat(0, element))
    safe = builder.node(glow.MinOp, safe, last)
    rows = builder.reshape(op.input, sizes)
    *batch, count, taps = shape_of(places)
    if not batch:
        safe = builder.reshape(safe, (count * taps,))
        return builder.node(glow.GatherOp, rows, safe, axis=1)
    safe = builder.reshape(safe, (sizes[0], count * taps, 1))
    return builder.node(glow.GatherNDOp, rows, safe, batch_dims=1)


def _is_inside(builder: NodeBuilder, places: SSAValue, extent: int) -> SSAValue:
    """Whether places are in [0, extent)."""
    element = element_type(places)
    above = builder.node(glow.LessEqualOp, builder.splat(0, element), places)
    below = builder.node(glow.LessOp, places, builder.splat(extent, element))
    return builder.node(glow.AndOp, above, below)


def _converted(builder: NodeBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """The value in another element type."""
    if element_of(value) == element:
        return value
    wanted = tensor_type(shape_of(value), element)
    return builder.create(glow.ConvertOp, [value], {}, types=[wanted])


LOWERINGS = {glow.SampleOp: sample}
