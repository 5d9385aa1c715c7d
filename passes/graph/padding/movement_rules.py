"""The rules of nodes that move elements."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.function_attributes import CLAMPED
from glow.dialects.node import NodeOp, shape_of
from glow.passes.graph.padding.element_range import MODERATE, ZERO, Range, joined
from glow.passes.graph.padding.lookup_rules import kept_place
from glow.passes.graph.padding.padded_value import (
    PaddedAxis,
    PaddedValue,
    marked_forms,
    reshaped_axes,
)
from glow.passes.graph.padding.placing import (
    Mask,
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
    form = longer.axes[axis].merged._replace(size=shape_of(op.results[0])[axis])
    axes, beyond = {**result.axes, axis: form}, {**result.beyond, axis: longer.at(axis)}
    whole = joined([value.everywhere for value in operands])
    return [PaddedValue(axes, result.inside, beyond, whole)]


def _longer_end(op: NodeOp, operands: Values, axis: int) -> PaddedValue | None:
    """The operand at the end of a result that is padded there, as a past before a new word."""
    last = len(operands) - 1
    padded = [place for place, value in enumerate(operands) if axis in value.axes]
    for place in padded:
        form = operands[place].axes[axis].merged
        at_end = place == (0 if form.at_front else last)
        if len(padded) > 1 or form.around or not (at_end and form.is_plain):
            raise refusal(op, axis, "joins tensors along")
    return operands[padded[0]] if padded else None


def _without(value: PaddedValue, axis: int) -> PaddedValue:
    """The value with an axis that is not padded, of which others take the place."""
    rest = {one: one for one in value.axes if one != axis}
    return value.moved(rest)


def _slice(op: NodeOp, operands: Values) -> Values:
    """A part of a padded axis that is as much shorter, or the element that every length has.

    A longer part of what is not padded is padded with elements of it.
    """
    (value,) = operands
    shape = shape_of(op.results[0])
    marked = marked_axes(op.attributes)
    kept = {
        axis: form
        for axis in value.axes
        if (form := _sliced_axis(op, value, axis, axis in marked)) is not None
    }
    more = {axis: one for axis, one in marked.items() if axis not in value.axes}
    view, whole = op.attributes_view(), shape_of(op.inputs[0])
    names = ("starts", "sizes", "steps")
    parts = zip(whole, *map(view.ints, names), strict=True)
    cut = [
        k for k, (n, start, size, step) in enumerate(parts) if start + size * step < n
    ]
    result = _cut(value.moved({axis: axis for axis in kept}), kept, cut)
    axes = {**kept, **marked_forms(shape, more)}
    beyond = {**dict.fromkeys(more, value.inside), **result.beyond}
    return [PaddedValue(axes, value.inside, beyond, value.everywhere)]


def _cut(
    value: PaddedValue, axes: Mapping[int, PaddedAxis], cut: Container[int]
) -> PaddedValue:
    """A value with other axes; beyond the end of some is what was cut off there."""
    beyond = {
        axis: joined([one, value.inside]) if axis in cut else one
        for axis, one in value.beyond.items()
    }
    return replace(value, axes=axes, beyond=beyond)


def _sliced_axis(
    op: NodeOp, value: PaddedValue, axis: int, is_shorter: bool
) -> PaddedAxis | None:
    """A padded axis of which a part is taken; None for a part that every length has."""
    form, view = value.axes[axis].merged, op.attributes_view()
    names = ("starts", "sizes", "steps")
    start, size, step = (view.ints(name)[axis] for name in names)
    whole = shape_of(op.inputs[0])[axis]
    if (start, size, step) == (0, whole, 1):
        return value.axes[axis]
    if form.around:
        raise refusal(op, axis, "takes a part of")
    if not is_shorter and start == kept_place(form) and size == 1 and form.is_plain:
        return None
    to_end = step > 0 and start + size * step >= whole
    if is_shorter and form.is_plain and not form.at_front and (step == 1 or to_end):
        left = 0 if to_end else whole - start - size
        return form.windows(step - 1 - start - left, step)
    which = "last" if form.at_front else "first"
    raise refusal(op, axis, f"takes more than the {which} element of")


def _pad(op: NodeOp, operands: Values) -> Values:
    (value,) = operands
    view = op.attributes_view()
    pads, rank = view.ints("pads"), len(shape_of(op.results[0]))
    number = view.float("value")
    axes: dict[int, PaddedAxis] = {}
    for axis, form in value.axes.items():
        ends = pads[axis], pads[axis + rank]
        axes[axis] = form
        if any(ends):
            _check_pads(op, value, axis, ends)
            axes[axis] = form.merged._replace(size=shape_of(op.results[0])[axis])
    added = Range(number, number)
    cut = [axis for axis in value.axes if pads[axis + rank] < 0]
    ends = _cut(value, axes, cut).beyond
    beyond = {axis: joined([one, added]) for axis, one in ends.items()}
    return [PaddedValue(axes, MODERATE, beyond, joined([value.everywhere, added]))]


def _check_pads(
    op: NodeOp, value: PaddedValue, axis: int, ends: tuple[int, int]
) -> None:
    """Refuse elements at an end of a padded axis that would not be those of a call."""
    form, number = value.axes[axis].merged, op.attributes_view().float("value")
    if form.at_front or form.around or not form.is_plain:
        raise refusal(op, axis, "adds elements to")
    mode = op.attributes_view().string("mode")
    if mode not in ("constant", "edge") or (mode == "edge" and min(ends) < 0):
        raise refusal(op, axis, "repeats elements of")
    if ends[1] > 0 and mode == "edge" and value.repeats != axis:
        raise refusal(op, axis, "repeats the last element of", Mask(0, axis, None))
    if ends[1] > 0 and mode == "constant" and value.beyond[axis].number != number:
        raise refusal(op, axis, "adds elements to", Mask(0, axis, number))


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


Rule = Callable[[NodeOp, Values], Values]


def _sample(op: NodeOp, operands: Values) -> Values:
    """Elements at places that a longer table lists, as those of an enlarged image."""
    value, places, weights = operands
    axis = op.attributes_view().int("axis")
    tables = places.axes, weights.axes
    if axis not in value.axes and not any(tables):
        return [replace(value, beyond=dict.fromkeys(value.axes, value.everywhere))]
    if len(shape_of(op.inputs[1])) != 2 or any(set(one) != {0} for one in tables):
        raise refusal(op, axis, "looks up elements of")
    if axis in value.axes and value.axes[axis].shrinking.divisor > 1:
        raise refusal(op, axis, "enlarges as many windows as fit into")
    if not value.at(axis).is_finite:  # Of which a part of 0 is NaN.
        raise refusal(op, axis, "takes parts of", Mask(0, axis, 0.0))
    if _is_clamped(op) and value.repeats != axis:
        raise refusal(op, axis, "repeats the last element of", Mask(0, axis, None))
    others = {one: form for one, form in value.axes.items() if one != axis}
    axes = {**others, axis: places.axes[0]}
    everywhere = joined([value.everywhere, ZERO])
    beyond = dict.fromkeys(axes, everywhere)
    return [PaddedValue(axes, joined([value.inside, ZERO]), beyond, everywhere)]


def _is_clamped(op: NodeOp) -> bool:
    """Whether places are those of a shorter axis but for some at its end."""
    owner = op.inputs[1].owner
    return isinstance(owner, Operation) and CLAMPED in owner.attributes


MOVEMENT_RULES: dict[type[Operation], Rule] = {
    glow.ReshapeOp: _reshape,
    glow.TransposeOp: _transpose,
    glow.ConcatOp: _concat,
    glow.SliceOp: _slice,
    glow.PadOp: _pad,
    glow.BroadcastOp: _broadcast,
    glow.TileOp: _tile,
    glow.SampleOp: _sample,
}
