"""Nodes that read or write at indices: what was read from a place goes back to it.

    %y = glow.gather %table, %i axis 0             // %table : tensor<100x8xf32>
    %zeros = glow.splat 0.0 : tensor<100x8xf32>
    %table.grad = glow.scatter %zeros, %i, %y.grad coordinates [-1, 1] reduction "add"

Updates of one place are summed in row-major order, so that repeated indices count as often
as they occur and results do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of, tensor_type
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.node_builder import element_type, like


def zeros_like(builder: GradientBuilder, value: SSAValue) -> SSAValue:
    """Zeros of a value's type."""
    return builder.full(0.0, like(value, shape_of(value)))


def add_at(
    builder: GradientBuilder,
    data: SSAValue,
    indices: SSAValue,
    updates: SSAValue,
    coordinates: Sequence[int],
) -> SSAValue:
    """`glow.scatter` into zeros of the data's type, which adds."""
    zeros = zeros_like(builder, data)
    return builder.node(
        glow.ScatterOp,
        zeros,
        indices,
        updates,
        coordinates=list(coordinates),
        reduction="add",
    )


def with_column(builder: GradientBuilder, indices: SSAValue) -> SSAValue:
    """Indices as a scatter wants them: a coordinate each along a last axis."""
    return builder.reshape(indices, (*shape_of(indices), 1))


def gather(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """Slices go back; the axes of the indices come first for it."""
    assert isinstance(op, glow.GatherOp)
    assert gradients[0] is not None
    axis, rank = op.attributes_view().int("axis"), len(shape_of(op.indices))
    size = len(shape_of(op.result))
    order = [*range(axis, axis + rank), *range(axis), *range(axis + rank, size)]
    updates = builder.transpose(gradients[0], order)
    coordinates = [
        rank + place - (place > axis) for place in range(len(shape_of(op.input)))
    ]
    coordinates[axis] = -1
    indices = with_column(builder, op.indices)
    return [add_at(builder, op.input, indices, updates, coordinates), None]


def gather_elements(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Elements go back along the axis."""
    assert isinstance(op, glow.GatherElementsOp)
    assert gradients[0] is not None
    coordinates = list(range(len(shape_of(op.input))))
    coordinates[op.attributes_view().int("axis")] = -1
    indices = with_column(builder, op.indices)
    return [add_at(builder, op.input, indices, gradients[0], coordinates), None]


def gather_nd(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Slices go back to the positions that were read."""
    assert isinstance(op, glow.GatherNDOp)
    assert gradients[0] is not None
    *walked, count = shape_of(op.indices)
    batch = op.attributes_view().int("batch_dims")
    left = len(shape_of(op.input)) - batch - count
    coordinates = [
        *range(batch),
        *(-1 - number for number in range(count)),
        *(len(walked) + number for number in range(left)),
    ]
    return [add_at(builder, op.input, op.indices, gradients[0], coordinates), None]


def top_k(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """Values go back to where they were."""
    assert isinstance(op, glow.TopKOp)
    if gradients[0] is None:
        return [None]
    coordinates = [*range(len(shape_of(op.input)) - 1), -1]
    indices = with_column(builder, op.indices)
    return [add_at(builder, op.input, indices, gradients[0], coordinates)]


def max_pool2d(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Each window's largest element, the first of equal ones as in PyTorch, gets it all."""
    assert isinstance(op, glow.MaxPool2dOp)
    assert gradients[0] is not None
    batch, channels, height, width = shape_of(op.input)
    planes, windows = batch * channels, prod(shape_of(op.result)[2:])
    places = builder.create(glow.ArgMaxPool2dOp, [op.input], dict(op.properties))
    image = builder.reshape(op.input, (planes, height * width))
    found = add_at(
        builder,
        image,
        builder.reshape(places, (planes, windows, 1)),
        builder.reshape(gradients[0], (planes, windows)),
        [0, -1],
    )
    return [builder.reshape(found, shape_of(op.input))]


def scatter(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """By the reduction."""
    assert isinstance(op, glow.ScatterOp)
    assert gradients[0] is not None
    of_data, of_updates = REDUCTIONS[op.attributes_view().string("reduction")](
        builder, op, gradients[0]
    )
    return [of_data, None, of_updates]


def scattered(
    builder: GradientBuilder,
    op: glow.ScatterOp,
    data: SSAValue,
    updates: SSAValue,
    reduction: str,
) -> SSAValue:
    """Other data and updates scattered to the same places."""
    coordinates = op.attributes_view().ints("coordinates")
    return builder.node(
        glow.ScatterOp,
        data,
        op.indices,
        updates,
        coordinates=list(coordinates),
        reduction=reduction,
    )


def at_places(
    builder: GradientBuilder, op: glow.ScatterOp, value: SSAValue
) -> SSAValue:
    """For each update the element of a value like the data that it goes to."""
    coordinates = list(op.attributes_view().ints("coordinates"))
    walked, sizes = list(shape_of(op.updates)), shape_of(value)
    rank = len(shape_of(op.indices)) - 1
    while (  # runs of whole axes need no coordinates
        coordinates
        and len(walked) > rank
        and coordinates[-1] == len(walked) - 1
        and sizes[len(coordinates) - 1] == walked[-1]
    ):
        coordinates.pop()
        walked.pop()
    if not coordinates:
        return builder.broadcast(value, shape_of(op.updates))
    columns = [column(builder, op, walked, source) for source in coordinates]
    where = builder.node(glow.ConcatOp, *columns, axis=len(walked))
    return builder.node(glow.GatherNDOp, value, where)


def column(
    builder: GradientBuilder, op: glow.ScatterOp, walked: Sequence[int], source: int
) -> SSAValue:
    """One coordinate of all updates, [walked..., 1]."""
    element, shape = element_type(op.indices), (*walked, 1)
    if source < 0:
        rank, number = len(shape_of(op.indices)) - 1, -1 - source
        picked = builder.node(
            glow.SliceOp,
            op.indices,
            starts=[0] * rank + [number],
            sizes=[*walked[:rank], 1],
            steps=[1] * (rank + 1),
        )
        spread = (*walked[:rank], *[1] * (len(walked) - rank), 1)
        return builder.broadcast(builder.reshape(picked, spread), shape)
    counted = count_along(builder, walked[source], len(shape), source)
    return builder.broadcast(builder.convert(counted, element), shape)


def count_along(builder: GradientBuilder, size: int, rank: int, axis: int) -> SSAValue:
    """0, 1, ... along an axis, of size 1 along the others; `i64`."""
    shape = [1] * rank
    shape[axis] = size
    return builder.constant(np.arange(size).reshape(shape), "positions")


Reduced = tuple[SSAValue, SSAValue]


def _replaced(
    builder: GradientBuilder, op: glow.ScatterOp, gradient: SSAValue
) -> Reduced:
    """What is overwritten has none; of the updates of a place the last one has it."""
    of_data = scattered(builder, op, gradient, zeros_like(builder, op.updates), "none")
    shape = shape_of(op.updates)
    numbers = builder.constant(np.arange(prod(shape)).reshape(shape), "updates")
    nobody = builder.full(-1, tensor_type(shape_of(op.data), i64))
    winners = scattered(builder, op, nobody, numbers, "none")
    wins = builder.node(glow.EqualOp, at_places(builder, op, winners), numbers)
    found = at_places(builder, op, gradient)
    return of_data, builder.node(glow.SelectOp, wins, found, builder.number(0, found))


def _summed(
    builder: GradientBuilder, op: glow.ScatterOp, gradient: SSAValue
) -> Reduced:
    """Data and updates count once."""
    return gradient, at_places(builder, op, gradient)


def _multiplied(
    builder: GradientBuilder, op: glow.ScatterOp, gradient: SSAValue
) -> Reduced:
    """Each factor gets the product of the others: zeros are counted, not divided by."""
    zero, one = (builder.number(number, op.data) for number in (0, 1))

    def is_zero(value: SSAValue) -> SSAValue:
        return builder.node(glow.EqualOp, value, zero)

    def without_zeros(value: SSAValue) -> SSAValue:
        return builder.node(glow.SelectOp, is_zero(value), one, value)

    def zeros_in(value: SSAValue) -> SSAValue:
        return builder.node(glow.SelectOp, is_zero(value), one, zero)

    product = scattered(
        builder, op, without_zeros(op.data), without_zeros(op.updates), "mul"
    )
    zeros = scattered(builder, op, zeros_in(op.data), zeros_in(op.updates), "add")
    total = builder.node(glow.MulOp, gradient, product)

    def of_factor(factor: SSAValue, total: SSAValue, zeros: SSAValue) -> SSAValue:
        others = builder.node(glow.SubOp, zeros, zeros_in(factor))
        quotient = builder.node(glow.DivOp, total, without_zeros(factor))
        return builder.node(glow.SelectOp, is_zero(others), quotient, zero)

    return (
        of_factor(op.data, total, zeros),
        of_factor(
            op.updates, at_places(builder, op, total), at_places(builder, op, zeros)
        ),
    )


def _extreme(
    builder: GradientBuilder, op: glow.ScatterOp, gradient: SSAValue
) -> Reduced:
    """Data and updates that equal the result share in equal parts, as in PyTorch."""
    zero, one = (builder.number(number, op.data) for number in (0, 1))

    def wins(value: SSAValue, result: SSAValue) -> SSAValue:
        return builder.node(glow.EqualOp, value, result)

    def counted(value: SSAValue, result: SSAValue) -> SSAValue:
        return builder.node(glow.SelectOp, wins(value, result), one, zero)

    found = at_places(builder, op, op.result)
    winners = scattered(
        builder, op, counted(op.data, op.result), counted(op.updates, found), "add"
    )
    # Elements that are NaN equal nothing, and have nobody to share with.
    share = builder.node(glow.DivOp, gradient, builder.node(glow.MaxOp, winners, one))
    return (
        builder.node(glow.SelectOp, wins(op.data, op.result), share, zero),
        builder.node(
            glow.SelectOp, wins(op.updates, found), at_places(builder, op, share), zero
        ),
    )


REDUCTIONS = {
    "none": _replaced,
    "add": _summed,
    "mul": _multiplied,
    "max": _extreme,
    "min": _extreme,
}
"""Reduction of a scatter to the gradients of its data and its updates."""


def dynamic_slice(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """One row among zeros, which the walk adds to that row only."""
    assert isinstance(op, glow.DynamicSliceOp)
    assert gradients[0] is not None
    zeros = zeros_like(builder, op.input)
    return [builder.node(glow.DynamicUpdateOp, zeros, gradients[0], op.index), None]


def dynamic_update(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """The row that is written has its gradient; what was there has none."""
    assert isinstance(op, glow.DynamicUpdateOp)
    gradient = gradients[0]
    assert gradient is not None
    zeros = zeros_like(builder, op.value)
    return [
        builder.node(glow.DynamicUpdateOp, gradient, zeros, op.index),
        builder.node(glow.DynamicSliceOp, gradient, op.index),
        None,
    ]


RULES: dict[type[Operation], Rule] = {
    glow.DynamicSliceOp: dynamic_slice,
    glow.DynamicUpdateOp: dynamic_update,
    glow.GatherOp: gather,
    glow.GatherElementsOp: gather_elements,
    glow.GatherNDOp: gather_nd,
    glow.ScatterOp: scatter,
    glow.TopKOp: top_k,
    glow.MaxPool2dOp: max_pool2d,
}
