"""Gathers, scatters, slices at computed places, and sorting.

StableHLO moves the start of a slice until the slice is inside, and leaves out updates that are
outside; `glow` counts negative positions from the end, and refuses others. So positions are
clamped here, and updates from outside are written into a border that is cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.stablehlo import StableHloOp
from glow.dialects.stablehlo.attributes import GatherAttr, ScatterAttr
from glow.dialects.weight_table import dtype_of
from glow.frontends.stablehlo.hlo_builder import Handlers, HloBuilder
from glow.frontends.stablehlo.reductions import combiner, direction


def coordinates(
    builder: HloBuilder, indices: SSAValue, vector_axis: int
) -> tuple[list[SSAValue], list[int]]:
    """Each coordinate that the indices hold, and the shape that all of them have."""
    shape = list(shape_of(indices))
    if vector_axis == len(shape):
        return [indices], shape
    outer = [*shape[:vector_axis], *shape[vector_axis + 1 :]]
    parts: list[SSAValue] = []
    for number in range(shape[vector_axis]):
        starts, sizes = [0] * len(shape), list(shape)
        starts[vector_axis], sizes[vector_axis] = number, 1
        part = builder.slice(indices, starts, sizes, [1] * len(shape))
        parts.append(builder.reshape(part, outer))
    return parts, outer


def positions(
    builder: HloBuilder, shape: Sequence[int], axis: int, like: SSAValue
) -> SSAValue:
    """The position along an axis of a shape."""
    line = np.arange(shape[axis]).astype(dtype_of(element_of(like)))
    sizes = [-1 if at == axis else 1 for at in range(len(shape))]
    full = np.ascontiguousarray(np.broadcast_to(line.reshape(sizes), shape))
    return builder.constant(full, "positions")


def widened(
    builder: HloBuilder, starts: SSAValue, count: int, place: int, rank: int
) -> SSAValue:
    """Starts [B...] plus 0 to count - 1 along a further axis, as [B..., 1 or count, ...].

    `place` is the number of that axis among `rank` further ones, which are 1.
    """
    outer = shape_of(starts)
    starts = builder.reshape(starts, [*outer, *[1] * rank])
    if count == 1:
        return starts
    sizes = [1] * (len(outer) + rank)
    sizes[len(outer) + place] = count
    line = np.arange(count).astype(dtype_of(element_of(starts))).reshape(sizes)
    return builder.node(glow.AddOp, starts, builder.constant(line, "offsets"))


def stacked(
    builder: HloBuilder, parts: Sequence[SSAValue], shape: Sequence[int]
) -> SSAValue:
    """Coordinates that broadcast to a shape as the last axis of one tensor."""
    columns: list[SSAValue] = []
    for part in parts:
        wanted = tensor_type(shape, element_of(part))
        if shape_of(part) != tuple(shape):
            part = builder.create(glow.BroadcastOp, [part], {}, types=[wanted])
        columns.append(builder.reshape(part, [*shape, 1]))
    if len(columns) == 1:
        return columns[0]
    return builder.node(glow.ConcatOp, *columns, axis=len(shape))


def gather(builder: HloBuilder) -> SSAValue:
    """Slices of fixed sizes from computed starts."""
    op = builder.op
    numbers = op.properties.get("dimension_numbers")
    if not isinstance(numbers, GatherAttr):
        raise GlowError("a gather without dimension_numbers")
    value, indices = op.operands
    sizes, shape = op.integers("slice_sizes"), shape_of(value)
    found, outer = coordinates(builder, indices, numbers.integer("index_vector_dim"))
    starts: dict[int, SSAValue] = {}
    for axis, part in zip(numbers.integers("start_index_map"), found, strict=True):
        if sizes[axis] < shape[axis]:
            starts[axis] = builder.clamp(part, 0, shape[axis] - sizes[axis])
    batching = numbers.integers("operand_batching_dims")
    places = numbers.integers("start_indices_batching_dims")
    vector = numbers.integer("index_vector_dim")
    for axis, place in zip(batching, places, strict=True):
        place -= place > vector
        starts[axis] = positions(builder, outer, place, indices)
    kept = [axis for axis in range(len(shape)) if axis not in starts]
    for axis in range(len(shape)):
        if axis in kept and sizes[axis] != shape[axis]:
            starts[axis] = builder.put(
                np.broadcast_to(np.zeros((), dtype_of(element_of(indices))), outer)
            )
    kept = [axis for axis in range(len(shape)) if axis not in starts]
    result = gathered(builder, value, starts, sizes, outer)
    # The axes are now [outer..., a slice's for each start..., the rest...].
    order = [*sorted(starts), *kept]
    dropped = {*numbers.integers("collapsed_slice_dims"), *batching}
    shape_now = [*outer, *(sizes[axis] for axis in order if axis not in dropped)]
    result = builder.reshape(result, shape_now)
    left = [axis for axis in order if axis not in dropped]
    by_axis = sorted(range(len(left)), key=left.__getitem__)
    offsets = numbers.integers("offset_dims")
    permutation: list[int] = []
    batches, slices = iter(range(len(outer))), iter(by_axis)
    for place in range(len(shape_now)):
        is_offset = place in offsets
        permutation.append(len(outer) + next(slices) if is_offset else next(batches))
    return builder.transpose(result, permutation)


def gathered(
    builder: HloBuilder,
    value: SSAValue,
    starts: Mapping[int, SSAValue],
    sizes: Sequence[int],
    outer: Sequence[int],
) -> SSAValue:
    """Slices at starts that are inside: [outer..., a size for each start..., the rest...]."""
    axes = sorted(starts)
    rest = [axis for axis in range(len(shape_of(value))) if axis not in axes]
    counts = [sizes[axis] for axis in axes]
    if not axes:
        wanted = [*outer, *shape_of(value)]
        result = tensor_type(wanted, element_of(value))
        return builder.create(glow.BroadcastOp, [value], {}, types=[result])
    value = builder.transpose(value, [*axes, *rest])
    if counts == [1]:
        found = builder.node(glow.GatherOp, value, starts[axes[0]], axis=0)
        return builder.reshape(found, [*outer, 1, *shape_of(value)[1:]])
    parts = [
        widened(builder, starts[axis], counts[number], number, len(axes))
        for number, axis in enumerate(axes)
    ]
    if len(parts) == 1:
        return builder.node(glow.GatherOp, value, parts[0], axis=0)
    indices = stacked(builder, parts, [*outer, *counts])
    return builder.node(glow.GatherNDOp, value, indices)


def dynamic_slice(builder: HloBuilder) -> SSAValue:
    """A slice whose start is computed; it is moved until it is inside."""
    value, *starts = builder.op.operands
    sizes = builder.op.integers("slice_sizes")
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        extent = shape_of(value)[axis]
        if size == extent:
            continue
        found = builder.loop_indices.get(start)
        if axis == 0 and size == 1 and found and found.is_inside(extent):
            element = builder.node(glow.DynamicSliceOp, value, found.index)
            value = builder.reshape(element, [1, *shape_of(element)])
            continue
        start = builder.clamp(start, 0, extent - size)
        places = widened(builder, start, size, 0, 1)
        known = builder.known(start)
        if known is not None:
            begins, extents = [0] * len(sizes), list(shape_of(value))
            begins[axis], extents[axis] = int(known.item()), size
            value = builder.slice(value, begins, extents, [1] * len(sizes))
            continue
        value = builder.node(glow.GatherOp, value, places, axis=axis)
    return value


def dynamic_update_slice(builder: HloBuilder) -> SSAValue:
    """A part replaced, from a computed start on; it is moved until it is inside."""
    value, update, *starts = builder.op.operands
    shape, sizes = shape_of(value), shape_of(update)
    moving = [axis for axis in range(len(shape)) if sizes[axis] != shape[axis]]
    if not moving:
        return update
    found = builder.loop_indices.get(starts[0])
    if moving == [0] and sizes[0] == 1 and found and found.is_inside(shape[0]):
        element = builder.reshape(update, sizes[1:])
        return builder.node(glow.DynamicUpdateOp, value, element, found.index)
    outer = sizes[: moving[-1] + 1]
    parts: list[SSAValue] = []
    for axis in moving:
        start = builder.clamp(starts[axis], 0, shape[axis] - sizes[axis])
        parts.append(widened(builder, start, sizes[axis], axis, len(outer)))
    indices = stacked(builder, parts, outer)
    places = [
        -1 - moving.index(axis) if axis in moving else axis
        for axis in range(len(shape))
    ]
    return builder.node(glow.ScatterOp, value, indices, update, coordinates=places)


SCATTERS = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


def scatter(builder: HloBuilder) -> SSAValue:
    """Updates written, or added and so on, at computed places."""
    op = builder.op
    numbers = op.properties.get("scatter_dimension_numbers")
    if not isinstance(numbers, ScatterAttr) or len(op.operands) != 3:
        raise GlowError("a scatter of several operands")
    value, indices, updates = op.operands
    windows = numbers.integers("update_window_dims")
    inserted = numbers.integers("inserted_window_dims")
    batching = numbers.integers("input_batching_dims")
    vector = numbers.integer("index_vector_dim")
    found, outer = coordinates(builder, indices, vector)
    order = [at for at in range(len(shape_of(updates))) if at not in windows]
    updates = builder.transpose(updates, [*order, *windows])
    shape = shape_of(value)
    dropped = {*inserted, *batching}
    left = [axis for axis in range(len(shape)) if axis not in dropped]
    extents = dict(zip(left, shape_of(updates)[len(outer) :], strict=True))
    starts = dict(
        zip(numbers.integers("scatter_dims_to_operand_dims"), found, strict=True)
    )
    places = numbers.integers("scatter_indices_batching_dims")
    for axis, place in zip(batching, places, strict=True):
        starts[axis] = positions(builder, outer, place - (place > vector), indices)
    for axis in left:
        if axis not in starts and extents[axis] != shape[axis]:
            zeros = np.zeros((), dtype_of(element_of(indices)))
            starts[axis] = builder.put(np.broadcast_to(zeros, outer))
    return _scattered(builder, value, updates, starts, (left, extents, list(outer)))


def _scattered(
    builder: HloBuilder,
    value: SSAValue,
    updates: SSAValue,
    starts: Mapping[int, SSAValue],
    layout: tuple[Sequence[int], Mapping[int, int], list[int]],
) -> SSAValue:
    """Updates [outer..., windows...] at starts, without those that are not whole inside."""
    left, extents, outer = layout
    shape = shape_of(value)
    windows = [extents[axis] for axis in left]
    axes = sorted(starts)
    grid = [*outer, *windows]
    high = [0] * len(shape)
    parts: list[SSAValue] = []
    for axis in axes:
        size = extents.get(axis, 1)
        start = _outside_last(builder, starts[axis], shape[axis], size)
        high[axis] = size
        place = left.index(axis) if axis in left else 0
        parts.append(widened(builder, start, size, place, len(windows)))
    indices = stacked(builder, parts, grid)
    padded = builder.pad(value, [0] * len(shape), high)
    places = [
        -1 - axes.index(axis) if axis in axes else len(outer) + left.index(axis)
        for axis in range(len(shape))
    ]
    kind = _scatter_kind(builder.op)
    result = builder.node(
        glow.ScatterOp,
        padded,
        indices,
        updates,
        coordinates=places,
        reduction=kind,
    )
    return builder.slice(result, [0] * len(shape), shape, [1] * len(shape))


def _outside_last(
    builder: HloBuilder, start: SSAValue, extent: int, size: int
) -> SSAValue:
    """The start, or the extent where the window is not inside."""
    low, high = builder.number(0, start), builder.number(extent - size, start)
    inside = builder.node(
        glow.AndOp,
        builder.node(glow.LessEqualOp, low, start),
        builder.node(glow.LessEqualOp, start, high),
    )
    return builder.node(glow.SelectOp, inside, start, builder.number(extent, start))


def _scatter_kind(op: StableHloOp) -> str:
    block = op.regions[0].block
    steps = list(block.ops)
    if len(steps) == 1 and steps[0].operands[0] is block.args[1]:
        return "none"
    kind = combiner(op)
    if kind not in SCATTERS:
        raise GlowError(f"a scatter by {kind} is not supported")
    return SCATTERS[kind]


def top_k(builder: HloBuilder) -> Sequence[SSAValue]:
    """The largest elements of the last axis, and where they are."""
    (value,) = builder.op.operands
    k = builder.op.integer("k")
    return _sorted(builder, value, k=k, smallest=False)


def _sorted(
    builder: HloBuilder, value: SSAValue, *, k: int, smallest: bool
) -> list[SSAValue]:
    attributes: dict[str, int | bool] = {"k": k}
    if smallest:
        attributes["smallest"] = True
    values = builder.node(glow.TopKOp, value, **attributes)
    node = values.owner
    assert isinstance(node, Operation)
    results = builder.op.results
    indices = node.results[1]
    if len(results) > 1:
        indices = builder.convert(indices, element_of(results[1]))
    return [values, indices]


SORTING = {"compare", "select", "constant", "return"}
"""What comparators that order numbers are made of; JAX makes all NaN and zeros equal first."""


def sort(builder: HloBuilder) -> Sequence[SSAValue]:
    """Operands sorted along an axis by the first of them; equal elements stay in order."""
    op = builder.op
    key, *others = op.operands
    rank = len(shape_of(key))
    axis = op.integer("dimension", -1) % rank
    smallest = _order(op) == "LT"
    order = [*(at for at in range(rank) if at != axis), axis]
    back = [order.index(at) for at in range(rank)]
    moved = builder.transpose(key, order)
    k = shape_of(moved)[-1]
    attributes: dict[str, int | bool] = {"k": k}
    if smallest:
        attributes["smallest"] = True
    values = builder.node(glow.TopKOp, moved, **attributes)
    node = values.owner
    assert isinstance(node, Operation)
    results = [builder.transpose(values, back)]
    for other in others:
        part = builder.transpose(other, order)
        part = builder.node(glow.GatherElementsOp, part, node.results[1], axis=rank - 1)
        results.append(builder.transpose(part, back))
    return results


def _order(op: StableHloOp) -> str:
    """LT or GT: how a comparator orders the first pair of its arguments."""
    block = op.regions[0].block
    steps = list(block.ops)
    ends = steps[-1].operands[0].owner
    known = all(step.name.partition(".")[2] in SORTING for step in steps)
    used = {
        block.args.index(value)
        for step in steps
        for value in step.operands
        if value in block.args
    }
    if not (known and isinstance(ends, Operation) and used <= {0, 1}):
        raise GlowError("a sort whose comparator is not one comparison of the keys")
    found = direction(ends)
    if found not in ("LT", "GT") or not _is_in_order(ends, block.args[0]):
        raise GlowError(f"a sort by {found or ends.name}")
    return found


def _is_in_order(op: Operation, first: SSAValue) -> bool:
    """Whether the left operand of a comparison is made from the first argument."""
    seen = [op.operands[0]]
    while seen:
        value = seen.pop()
        if value is first:
            return True
        if isinstance(value.owner, Operation):
            seen += value.owner.operands
    return False


HANDLERS: Handlers = {
    "chlo.top_k": top_k,
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather,
    "stablehlo.scatter": scatter,
    "stablehlo.sort": sort,
}
