"""The rules of nodes that move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.padding.element_range import MODERATE, Range, joined
from glow.passes.graph.padding.padded_value import (
    PaddedAxis,
    PaddedValue,
    marked_forms,
    reshaped_axes,
)
from glow.passes.graph.padding.placing import (
    Placed,
    aligned,
    combined,
    marked_axes,
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
    return [PaddedValue(axes, moved.inside, moved.beyond, moved.corner)]


def _transpose(op: NodeOp, operands: Values) -> Values:
    permutation = op.attributes_view().ints("permutation")
    places = {axis: place for place, axis in enumerate(permutation)}
    return [operands[0].moved(places)]


def _concat(op: NodeOp, operands: Values) -> Values:
    axis = op.attributes_view().int("axis")
    longer = _longer_end(op, operands, axis)
    shapes = [list(shape_of(operand)) for operand in op.inputs]
    for shape in shapes:
        shape[axis] = 1
    placed = [
        Placed.broadcast(_without(value, axis), shape, len(shape))
        for value, shape in zip(operands, shapes, strict=True)
    ]
    result = combined(op, placed, joined)
    if longer is None:
        return [result]
    form = longer.axes[axis]._replace(size=shape_of(op.results[0])[axis])
    axes, beyond = {**result.axes, axis: form}, {**result.beyond, axis: longer.at(axis)}
    whole = joined([value.everywhere for value in operands])
    return [PaddedValue(axes, result.inside, beyond, whole)]


def _longer_end(op: NodeOp, operands: Values, axis: int) -> PaddedValue | None:
    """The operand at the end of a result that is padded there, as a past before a new word."""
    last = len(operands) - 1
    padded = [place for place, value in enumerate(operands) if axis in value.axes]
    for place in padded:
        form = operands[place].axes[axis]
        at_end = place == (0 if form.at_front else last)
        if len(padded) > 1 or not (at_end and form.is_plain):
            raise refusal(op, axis, "joins tensors along")
    return operands[padded[0]] if padded else None


def _without(value: PaddedValue, axis: int) -> PaddedValue:
    """The value with an axis that is not padded, of which others take the place."""
    rest = {one: one for one in value.axes if one != axis}
    return value.moved(rest)


def _slice(op: NodeOp, operands: Values) -> Values:
    """All of a padded axis, or the element at its other end, which every length has.

    A longer part of what is not padded is padded with elements of it.
    """
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
        elif not (start == _kept(form) and size == 1 and form.is_plain):
            which = "last" if form.at_front else "first"
            raise refusal(op, axis, f"takes more than the {which} element of")
    more = marked_forms(shape_of(op.results[0]), marked_axes(op.attributes))
    result = value.moved(kept)
    axes = {**result.axes, **more}
    beyond = {**dict.fromkeys(more, value.inside), **result.beyond}
    return [PaddedValue(axes, value.inside, beyond, value.everywhere)]


def _kept(form: PaddedAxis) -> int:
    """The place of the element that every length has."""
    return form.size - 1 if form.at_front else 0


def _pad(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    attributes = op.attributes_view()
    pads, rank = attributes.ints("pads"), len(shape_of(op.results[0]))
    for axis in value.axes:
        if pads[axis] or pads[axis + rank]:
            raise refusal(op, axis, "adds elements to")
    added = attributes.float("value")
    added_range = Range(added, added)
    beyond = {axis: joined([one, added_range]) for axis, one in value.beyond.items()}
    corner = joined([value.corner, added_range])
    return [PaddedValue(value.axes, MODERATE, beyond, corner)]


def _broadcast(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    shape = shape_of(op.results[0])
    placed = Placed.broadcast(value, shape_of(op.inputs[0]), len(shape))
    axes = aligned(op, [placed])
    for axis, form in marked_forms(shape, marked_axes(op.attributes)).items():
        axes.setdefault(axis, form)
    beyond = {axis: placed.value.at(axis) for axis in axes}
    return [PaddedValue(axes, value.inside, beyond, value.everywhere)]


def _tile(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    repeats = op.attributes_view().ints("repeats")
    for axis in value.axes:
        if repeats[axis] != 1:
            raise refusal(op, axis, "repeats")
    return [value]


def _gather(op: NodeOp, operands: Values) -> Values:
    """By indices that are padded with ones that are inside, or of the one at the other end."""
    source, indices = operands
    axis = op.attributes_view().int("axis")
    extent = shape_of(op.inputs[0])[axis]
    added = len(shape_of(op.inputs[1])) - 1
    if axis in source.axes and not _is_kept(op, source.axes[axis]):
        raise refusal(op, axis, "looks up elements of")
    added_range = indices.outside
    for place in indices.axes:
        if not (-extent <= added_range.low and added_range.high < extent):
            raise refusal(op, place, "may look up what is not there, by indices along")
    others = [other for other in source.axes if other != axis]
    places = {other: other + added * (other > axis) for other in others}
    table, index = source.moved(places), indices.shifted(axis)
    axes = {**table.axes, **index.axes}
    beyond = {place: table.at(place) for place in axes}
    return [PaddedValue(axes, source.inside, beyond, source.everywhere)]


def _is_kept(op: NodeOp, form: PaddedAxis) -> bool:
    """Whether a node looks up nothing but the element that every length has."""
    indices = constant_value(op.inputs[1])
    if indices is None or not form.is_plain:
        return False
    places = {int(place) % form.size for place in indices.reshape(-1)}
    return places <= {_kept(form)}


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
