"""The rules of nodes that read or write at places that are data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.padding.element_range import MODERATE, UNKNOWN, joined
from glow.passes.graph.padding.padded_value import PaddedAxis, PaddedValue
from glow.passes.graph.padding.placing import Mask, refusal

Values = Sequence[PaddedValue]


def _gather(op: NodeOp, operands: Values) -> Values:
    """By indices that are padded with ones that are inside, or of the one at the other end.

    Of a padded axis also by a list that is longer for a longer one, as an enlarged image does.
    """
    source, indices = operands
    axis = op.attributes_view().int("axis")
    if axis in source.axes and may_see_padding(op, source, indices):
        raise refusal(op, axis, "looks up elements of")
    return [looked_up(op, source, indices)]


def may_see_padding(op: NodeOp, source: PaddedValue, indices: PaddedValue) -> bool:
    """Whether indices into a padded axis may be of padding, or of an end that is elsewhere."""
    axis = op.attributes_view().int("axis")
    is_list = constant_value(op.inputs[1]) is not None and set(indices.axes) == {0}
    return not is_list and not _is_kept(op, source.axes[axis])


def looked_up(op: NodeOp, source: PaddedValue, indices: PaddedValue) -> PaddedValue:
    """The result of lookups that do not see padding of their axis."""
    axis = op.attributes_view().int("axis")
    added = len(shape_of(op.inputs[1])) - 1
    _check_inside(op, indices, shape_of(op.inputs[0])[axis])
    others = [other for other in source.axes if other != axis]
    places = {other: other + added * (other > axis) for other in others}
    table, index = source.moved(places), indices.shifted(axis)
    axes = {**table.axes, **index.axes}
    listed = joined([source.inside, source.at(axis)])
    beyond = {place: table.beyond.get(place, listed) for place in axes}
    return PaddedValue(axes, source.inside, beyond, source.everywhere)


def _check_inside(op: NodeOp, indices: PaddedValue, extent: int) -> None:
    """Refuse indices that are padded with others than an axis of such an extent has."""
    added = indices.outside
    if -extent <= added.low and added.high < extent:
        return
    for place in indices.axes:
        what = "may look up what is not there, by indices along"
        raise refusal(op, place, what, Mask(1, place, 0.0))


def _is_kept(op: NodeOp, form: PaddedAxis) -> bool:
    """Whether a node looks up nothing but the element that every length has."""
    indices = constant_value(op.inputs[1])
    if indices is None or not form.is_plain:
        return False
    places = {int(place) % form.size for place in indices.reshape(-1)}
    return places <= {kept_place(form)}


def kept_place(form: PaddedAxis) -> int:
    """The place of the element that every length has."""
    return form.size - 1 if form.at_front else 0


NEUTRAL: Mapping[str, float] = {
    "add": 0.0,
    "mul": 1.0,
    "max": -math.inf,
    "min": math.inf,
}
"""Updates that change nothing, by the reduction of a scatter."""


def _scatter(op: NodeOp, operands: Values) -> Values:
    """Padding of the data, and updates that change nothing where there are none."""
    data = operands[0]
    for axis in written_axes(op):
        if axis in data.axes:
            raise refusal(op, axis, "writes at places along")
    return [scattered(op, *operands)]


def written_axes(op: NodeOp) -> dict[int, int]:
    """The axes of the data that indices tell places of, and by which column."""
    coordinates = op.attributes_view().ints("coordinates")
    return {axis: -1 - one for axis, one in enumerate(coordinates) if one < 0}


def scattered(
    op: NodeOp, data: PaddedValue, indices: PaddedValue, updates: PaddedValue
) -> PaddedValue:
    """The result of a scatter whose indices are of no padding of the data."""
    coordinates = op.attributes_view().ints("coordinates")
    along = {one: axis for axis, one in enumerate(coordinates) if one >= 0}
    for axis, form in data.axes.items():
        other = updates.axes.get(coordinates[axis])
        if coordinates[axis] >= 0 and (other is None or other.merged != form.merged):
            raise refusal(op, axis, "writes other elements along")
    for axis in updates.axes:
        if along.get(axis) not in data.axes:
            _check_neutral(op, axis, updates)
    extent = min((shape_of(op.inputs[0])[axis] for axis in written_axes(op)), default=1)
    _check_inside(op, indices, extent)
    is_finite = data.everywhere.is_finite and updates.everywhere.is_finite
    sums = joined([data.everywhere, MODERATE]) if is_finite else UNKNOWN
    beyond = {
        axis: one if coordinates[axis] < 0 else sums
        for axis, one in data.beyond.items()
    }
    return PaddedValue(data.axes, MODERATE, beyond, sums)


def _check_neutral(op: NodeOp, axis: int, updates: PaddedValue) -> None:
    """Refuse updates that change the data where they are padding."""
    reduction = op.attributes_view().string("reduction")
    number = NEUTRAL.get(reduction)
    if number is None:
        raise refusal(op, axis, "writes the updates of")
    if updates.beyond[axis].number != number:
        raise refusal(op, axis, "adds up", Mask(2, axis, number))


Rule = Callable[[NodeOp, Values], Values]

LOOKUP_RULES: dict[type[Operation], Rule] = {
    glow.GatherOp: _gather,
    glow.ScatterOp: _scatter,
}
