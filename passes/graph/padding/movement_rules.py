"""The rules of nodes that move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.function_attributes import PADDED_AXES
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.padding.element_range import MODERATE, Range, joined
from glow.passes.graph.padding.padded_value import (
    PaddedAxis,
    PaddedValue,
    reshaped_axes,
)
from glow.passes.graph.padding.placing import (
    Placed,
    aligned,
    axes_in,
    combined,
    refusal,
)

Values = Sequence[PaddedValue]


def _reshape(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    source, target = shape_of(op.inputs[0]), shape_of(op.results[0])
    found = reshaped_axes(value.axes, source, target)
    if isinstance(found, int):
        raise refusal(op, found, "tears apart or merges")
    moved = value.moved({axis: place for axis, (place, _) in found.items()})
    axes = dict(found.values())
    return [PaddedValue(axes, moved.inside, moved.behind, moved.corner)]


def _transpose(op: NodeOp, operands: Values) -> Values:
    permutation = op.attributes_view().ints("permutation")
    places = {axis: place for place, axis in enumerate(permutation)}
    return [operands[0].moved(places)]


def _concat(op: NodeOp, operands: Values) -> Values:
    axis = op.attributes_view().int("axis")
    for value in operands:
        if axis in value.axes:
            raise refusal(op, axis, "joins tensors along")
    shapes = [list(shape_of(operand)) for operand in op.inputs]
    for shape in shapes:
        shape[axis] = 1
    placed = [
        Placed.broadcast(value, shape, len(shape))
        for value, shape in zip(operands, shapes, strict=True)
    ]
    return [combined(op, placed, joined)]


def _slice(op: NodeOp, operands: Values) -> Values:
    """All of a padded axis, or its first element, which every length has."""
    (value,) = operands
    attributes = op.attributes_view()
    shape = shape_of(op.inputs[0])
    starts, sizes = attributes.ints("starts"), attributes.ints("sizes")
    steps = attributes.ints("steps")
    kept: dict[int, int] = {}
    for axis, form in value.axes.items():
        start, size = starts[axis], sizes[axis]
        if (start, size, steps[axis]) == (0, shape[axis], 1):
            kept[axis] = axis
        elif not (start == 0 and size == 1 and form.is_plain):
            raise refusal(op, axis, "takes more than the first element of")
    return [value.moved(kept)]


def _pad(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    attributes = op.attributes_view()
    pads, rank = attributes.ints("pads"), len(shape_of(op.results[0]))
    for axis in value.axes:
        if pads[axis] or pads[axis + rank]:
            raise refusal(op, axis, "adds elements to")
    added = attributes.float("value")
    added_range = Range(added, added)
    behind = {axis: joined([one, added_range]) for axis, one in value.behind.items()}
    corner = joined([value.corner, added_range])
    return [PaddedValue(value.axes, MODERATE, behind, corner)]


def _broadcast(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    shape = shape_of(op.results[0])
    placed = Placed.broadcast(value, shape_of(op.inputs[0]), len(shape))
    axes = aligned(op, [placed])
    for axis in axes_in(op.attributes.get(PADDED_AXES)):
        axes.setdefault(axis, PaddedAxis(shape[axis]))
    behind = {axis: placed.value.at(axis) for axis in axes}
    return [PaddedValue(axes, value.inside, behind, value.everywhere)]


def _tile(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    repeats = op.attributes_view().ints("repeats")
    for axis in value.axes:
        if repeats[axis] != 1:
            raise refusal(op, axis, "repeats")
    return [value]


def _gather(op: NodeOp, operands: Values) -> Values:
    """By indices that are padded with ones that are inside, or of the first element only."""
    source, indices = operands
    axis = op.attributes_view().int("axis")
    extent = shape_of(op.inputs[0])[axis]
    added = len(shape_of(op.inputs[1])) - 1
    if axis in source.axes and not _is_first(op, source.axes[axis]):
        raise refusal(op, axis, "looks up elements of")
    added_range = indices.outside
    for place in indices.axes:
        if not (-extent <= added_range.low and added_range.high < extent):
            raise refusal(op, place, "may look up what is not there, by indices along")
    others = [other for other in source.axes if other != axis]
    places = {other: other + added * (other > axis) for other in others}
    table, index = source.moved(places), indices.shifted(axis)
    axes = {**table.axes, **index.axes}
    behind = {place: table.at(place) for place in axes}
    return [PaddedValue(axes, source.inside, behind, source.everywhere)]


def _is_first(op: NodeOp, form: PaddedAxis) -> bool:
    indices = constant_value(op.inputs[1])
    return form.is_plain and indices is not None and not indices.any()


Rule = Callable[[NodeOp, Values], Values]

MOVEMENT_RULES: dict[type[Operation], Rule] = {
    glow.ReshapeOp: _reshape,
    glow.TransposeOp: _transpose,
    glow.ConcatOp: _concat,
    glow.SliceOp: _slice,
    glow.PadOp: _pad,
    glow.BroadcastOp: _broadcast,
    glow.TileOp: _tile,
    glow.GatherOp: _gather,
}
