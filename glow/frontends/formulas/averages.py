"""Means and average pools in the divisions and products that they come as."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weight_table import Array
from glow.frontends.graph_builder import GraphBuilder
from glow.interpreter.convolution import fold_windows
from glow.passes.rewriting.node_builder import attributes_of


def summed(value: SSAValue) -> Operation | Block:
    """What makes a value before it was reshaped."""
    owner = value.owner
    return owner.input.owner if isinstance(owner, glow.ReshapeOp) else owner


def mean(builder: GraphBuilder, value: SSAValue, count: Array) -> SSAValue | None:
    """The mean, if a value is the sum of so many terms."""
    total = summed(value)
    if not isinstance(total, glow.ReduceSumOp) or total.keepdims is None:
        return None
    axes = total.attributes_view().ints("axes")
    terms = prod(shape_of(total.input)[axis] for axis in axes)
    if count.dtype.kind in "biu" or not (count == terms).all():
        return None
    found = builder.node(glow.ReduceMeanOp, total.input, axes=list(axes), keepdims=True)
    return builder.reshape(found, shape_of(value))


def spread(builder: GraphBuilder, value: SSAValue) -> Array | None:
    """A constant that is repeated, in the shape that it gets."""
    repeated = value.owner
    if not isinstance(repeated, glow.BroadcastOp):
        return None
    shaped = repeated.input.owner
    source = shaped.input if isinstance(shaped, glow.ReshapeOp) else repeated.input
    array = builder.known(source)
    if array is None:
        return None
    return np.broadcast_to(array.reshape(shape_of(repeated.input)), shape_of(value))


def pool(
    builder: GraphBuilder, dividend: SSAValue, count: Array | None
) -> SSAValue | None:
    """The average pool, if the dividend is one times the size of its window.

    Where the divisors are how many elements each window has inside, padding does not count.
    Channels may be last: the pool was transposed to have them first, and its sums back.
    """
    scaled = dividend.owner
    if count is None or not count.size:
        return None
    if isinstance(scaled, glow.TransposeOp):
        order = scaled.attributes_view().ints("permutation")
        count = np.broadcast_to(count, shape_of(dividend)).transpose(np.argsort(order))
        average = pool(builder, scaled.input, count)
        return None if average is None else builder.transpose(average, order)
    if not isinstance(scaled, glow.MulOp):
        return None
    average, size = scaled.lhs.owner, builder.known(scaled.rhs)
    if not isinstance(average, glow.AvgPool2dOp) or size is None or not size.size:
        return None
    if (count == size.flat[0]).all():
        return average.result
    value, border = _unpadded(average.input)
    ones = np.pad(np.ones((1, 1, *shape_of(value)[2:])), border)
    inside = fold_windows(ones, average.attributes_view(), (0, 0), np.add)
    if count.ndim > inside.ndim or not (count == inside).all():
        return None
    attributes = {**attributes_of(average), "count_include_pad": False}
    (top, bottom), (left, right) = border[2:]
    own = average.attributes_view().ints("pads")
    pads = [a + b for a, b in zip(own, (top, left, bottom, right), strict=True)]
    return builder.create(glow.AvgPool2dOp, [value], {**attributes, "pads": pads})


def _unpadded(value: SSAValue) -> tuple[SSAValue, list[tuple[int, int]]]:
    """A plane before zeros were put around it, and how many of them: first, last of each axis."""
    padded, rank = value.owner, len(shape_of(value))
    if isinstance(padded, glow.PadOp):
        view = padded.attributes_view()
        pads = view.ints("pads")
        border = list(zip(pads[:rank], pads[rank:], strict=True))
        is_plane = not any(border[0] + border[1]) and min(pads) >= 0
        if is_plane and view.string("mode") == "constant" and not view.float("value"):
            return padded.input, border
    return value, [(0, 0)] * rank


def scaled_sum(builder: GraphBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue | None:
    """The mean, if a product is of a sum and one over the number of its terms."""
    for value, other in ((lhs, rhs), (rhs, lhs)):
        factor = builder.known(other)
        if factor is None or not factor.size or factor.dtype.kind in "biu":
            continue
        if not isinstance(summed(value), glow.ReduceSumOp) or not factor.all():
            continue
        counts = np.round(1 / factor.astype(np.float64))
        if counts.all() and ((1 / counts).astype(factor.dtype) == factor).all():
            return mean(builder, value, counts)
    return None
