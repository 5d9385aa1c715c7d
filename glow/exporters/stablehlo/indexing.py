"""Gathers and scatters; positions that count from the end are moved to the front before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.stablehlo.attributes import ScatterAttr
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import stored_value
from glow.exporters.programs.writer import Handler, result_type
from glow.exporters.stablehlo.hlo_writer import HloWriter


def counted_from_front(
    writer: HloWriter, source: SSAValue, indices: SSAValue, extent: int
) -> SSAValue:
    """Indices of an axis without those that are negative; `source` is what they were."""
    array = stored_value(source)
    if array is not None:
        is_negative = np.less(array, 0)
        if not is_negative.any():
            return indices
        moved = np.add(array, extent).astype(array.dtype)
        return writer.array(np.where(is_negative, moved, array), "indices")
    if dtype_of(element_of(indices)).kind == "u":
        return indices
    is_negative = writer.compare("LT", indices, writer.number(0, indices))
    moved = writer.op("add", indices, writer.number(extent, indices))
    return writer.select(is_negative, moved, indices)


def _gather(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    value, indices = inputs
    shape, count = shape_of(value), len(shape_of(indices))
    axis = op.attributes_view().int("axis") % len(shape)
    places = counted_from_front(writer, op.operands[1], indices, shape[axis])
    rest = [
        at if at < axis else at - 1 + count for at in range(len(shape)) if at != axis
    ]
    sizes = [1 if at == axis else size for at, size in enumerate(shape)]
    lists = {
        "offset_dims": rest,
        "collapsed_slice_dims": [axis],
        "start_index_map": [axis],
    }
    return writer.gather(value, places, lists, sizes, result_type(op), count)


def coordinate(
    writer: HloWriter, indices: SSAValue, number: int, extent: int
) -> SSAValue:
    """One coordinate of indices [U..., k] as [U..., 1]."""
    shape = shape_of(indices)
    starts = [0] * (len(shape) - 1) + [number]
    part = writer.slice(indices, starts, [*shape[:-1], 1])
    return counted_from_front(writer, indices, part, extent)


def _gather_elements(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """All coordinates of each element: its own, but along the axis."""
    value, indices = inputs
    shape, extents = shape_of(indices), shape_of(value)
    axis = op.attributes_view().int("axis") % len(shape)
    own = counted_from_front(writer, op.operands[1], indices, extents[axis])
    places = [
        own if at == axis else writer.iota(shape, at, element_of(indices))
        for at in range(len(shape))
    ]
    places = [writer.reshape(one, (*shape, 1)) for one in places]
    lists = {
        "collapsed_slice_dims": range(len(shape)),
        "start_index_map": range(len(shape)),
    }
    joined = writer.concatenate(places, len(shape))
    to = result_type(op)
    return writer.gather(value, joined, lists, [1] * len(shape), to, len(shape))


def _gather_nd(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """The coordinates of the batch are their positions."""
    value, indices = inputs
    batch, extents = op.attributes_view().int("batch_dims"), shape_of(value)
    *outer, count = shape_of(indices)
    places = [
        writer.iota([*outer, 1], axis, element_of(indices)) for axis in range(batch)
    ]
    places += [
        coordinate(writer, indices, number, extents[batch + number])
        for number in range(count)
    ]
    depth = batch + count
    sizes = [1] * depth + list(extents[depth:])
    offsets = range(len(outer), len(outer) + len(extents) - depth)
    lists = {
        "offset_dims": offsets,
        "collapsed_slice_dims": range(depth),
        "start_index_map": range(depth),
    }
    joined = writer.concatenate(places, len(outer)) if places else indices
    return writer.gather(value, joined, lists, sizes, result_type(op), len(outer))


COMBINED = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}


def _scatter(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """All coordinates of each update: of the indices, or its own."""
    value, indices, updates = inputs
    view, extents, shape = op.attributes_view(), shape_of(value), shape_of(updates)
    outer = len(shape_of(indices)) - 1
    places: list[SSAValue] = []
    for axis, source in enumerate(view.ints("coordinates")):
        if source >= 0:
            places.append(writer.iota([*shape, 1], source, element_of(indices)))
            continue
        own = coordinate(writer, indices, -1 - source, extents[axis])
        axes = [*range(outer), len(shape)]
        places.append(writer.broadcast(own, [*shape, 1], axes))
    numbers = ScatterAttr.of(
        {
            "inserted_window_dims": range(len(extents)),
            "scatter_dims_to_operand_dims": range(len(extents)),
        },
        len(shape),
    )
    joined = writer.concatenate(places, len(shape))
    return writer.scatter(
        [value, joined, updates], numbers, COMBINED.get(view.string("reduction"), "")
    )


HANDLERS: Mapping[type[Operation], Handler[HloWriter]] = {
    glow.GatherOp: _gather,
    glow.GatherElementsOp: _gather_elements,
    glow.GatherNDOp: _gather_nd,
    glow.ScatterOp: _scatter,
}
