"""The rules of nodes that read or write at places that are data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.padding.element_range import MODERATE, UNKNOWN, joined
from glow.passes.graph.padding.padded_value import PaddedAxis, PaddedValue
from glow.passes.graph.padding.placing import Mask, refusal

Values = Sequence[PaddedValue]


Indexed = Mapping[int, int | None]
"""The axes that indices tell places of, and by which column of theirs; None for all of them."""


class Lookup(NamedTuple):
    """A kind of node that reads or writes at places of its first operand."""

    what: str
    indexed: Callable[[NodeOp], Indexed]
    result: Callable[..., PaddedValue]
    """Where indices are of no padding of an axis that they tell places of."""


def lookup_results(op: NodeOp, operands: Values) -> Values:
    """The result of a node whose indices do not see padding of what they tell places of."""
    lookup = LOOKUPS[type(op)]
    for axis in padded_places(op, *operands[:2]):
        raise refusal(op, axis, lookup.what)
    return moved_results(op, operands)


def moved_results(op: NodeOp, operands: Values) -> Values:
    """The same for indices that go on as if there were no padding."""
    return [LOOKUPS[type(op)].result(op, *operands)]


def padded_places(op: NodeOp, source: PaddedValue, indices: PaddedValue) -> Indexed:
    """The axes where indices may be of padding, or from an end that is elsewhere."""
    indexed = LOOKUPS[type(op)].indexed(op)
    found = {axis: one for axis, one in indexed.items() if axis in source.axes}
    is_safe = isinstance(op, glow.GatherOp) and all(
        _is_list(op, indices) or _is_kept(op, source.axes[axis]) for axis in found
    )
    return {} if is_safe else found


def _is_list(op: NodeOp, indices: PaddedValue) -> bool:
    """Whether indices are a list that is longer for a longer axis, as of an enlarged image."""
    return constant_value(op.inputs[1]) is not None and set(indices.axes) == {0}


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


def _axis(op: NodeOp) -> Indexed:
    return {op.attributes_view().int("axis"): None}


def _coordinates(op: NodeOp) -> Indexed:
    """The axes behind those of the batch, a column each."""
    first, count = op.attributes_view().int("batch_dims"), shape_of(op.inputs[1])[-1]
    return {first + column: column for column in range(count)}


def _written(op: NodeOp) -> Indexed:
    coordinates = op.attributes_view().ints("coordinates")
    return {axis: -1 - one for axis, one in enumerate(coordinates) if one < 0}


def _check_inside(op: NodeOp, indices: PaddedValue) -> None:
    """Refuse indices that are padded with others than their axes have."""
    shape, indexed = shape_of(op.inputs[0]), LOOKUPS[type(op)].indexed(op)
    extent, added = min((shape[axis] for axis in indexed), default=1), indices.outside
    last = len(shape_of(op.inputs[1])) - 1
    if last in indices.axes and None not in indexed.values():
        raise refusal(op, last, "has coordinates along")
    if -extent <= added.low and added.high < extent:
        return
    if _is_of_constants(op.inputs[1]):
        return  # Those of a network for the larger size, which looks up no less.
    for place in indices.axes:
        what = "may look up what is not there, by indices along"
        raise refusal(op, place, what, Mask(1, place, 0.0))


def _is_of_constants(value: SSAValue) -> bool:
    """Whether a value is computed from nothing but constants."""
    left, seen = [value.owner], {value.owner}
    while left:
        owner = left.pop()
        if not isinstance(owner, NodeOp):
            return False
        makers = {operand.owner for operand in owner.inputs} - seen
        left += makers
        seen |= makers
    return True


def _slices(op: NodeOp, source: PaddedValue, indices: PaddedValue) -> PaddedValue:
    """Slices of the axis, in the place of which are those of the indices."""
    axis = op.attributes_view().int("axis")
    added = len(shape_of(op.inputs[1])) - 1
    _check_inside(op, indices)
    others = [other for other in source.axes if other != axis]
    places = {other: other + added * (other > axis) for other in others}
    table, index = source.moved(places), indices.shifted(axis)
    axes = {**table.axes, **index.axes}
    listed = joined([source.inside, source.at(axis)])
    beyond = {place: table.beyond.get(place, listed) for place in axes}
    return PaddedValue(axes, source.inside, beyond, source.everywhere)


def _elements(op: NodeOp, source: PaddedValue, indices: PaddedValue) -> PaddedValue:
    """An element for each index, at its own place on all other axes."""
    _check_inside(op, indices)
    for axis, form in source.axes.items():
        mine = indices.axes.get(axis)
        if axis not in _axis(op) and not form.agrees(mine):
            raise refusal(op, axis, "looks up some of the elements along")
    return _of_any(source, indices.axes)


def _tuples(op: NodeOp, source: PaddedValue, indices: PaddedValue) -> PaddedValue:
    """Slices at tuples of indices, whose axes stand before those that are left."""
    _check_inside(op, indices)
    batch, indexed = op.attributes_view().int("batch_dims"), _coordinates(op)
    rank, behind = len(shape_of(op.inputs[1])) - 1, batch + len(indexed)
    for axis in range(batch):
        if (axis in source.axes) != (axis in indices.axes):
            raise refusal(op, axis, "looks up some of the elements along")
    left = {
        axis - behind + rank: form
        for axis, form in source.axes.items()
        if axis >= behind
    }
    return _of_any(source, {**indices.axes, **left})


def _of_any(source: PaddedValue, axes: Mapping[int, PaddedAxis]) -> PaddedValue:
    """Elements of a value: beyond the ends of axes may be any."""
    beyond = dict.fromkeys(axes, source.everywhere)
    return PaddedValue(axes, source.inside, beyond, source.everywhere)


NEUTRAL: Mapping[str, float] = {
    "add": 0.0,
    "mul": 1.0,
    "max": -math.inf,
    "min": math.inf,
}
"""Updates that change nothing, by the reduction of a scatter."""


def _scattered(
    op: NodeOp, data: PaddedValue, indices: PaddedValue, updates: PaddedValue
) -> PaddedValue:
    """The result of a scatter whose indices are of no padding of the data."""
    coordinates = op.attributes_view().ints("coordinates")
    along = {one: axis for axis, one in enumerate(coordinates) if one >= 0}
    for axis, form in data.axes.items():
        other = updates.axes.get(coordinates[axis])
        if coordinates[axis] >= 0 and not form.agrees(other):
            raise refusal(op, axis, "writes other elements along")
    for axis in updates.axes:
        if along.get(axis) not in data.axes:
            _check_neutral(op, axis, updates)
    _check_inside(op, indices)
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


LOOKUPS: Mapping[type[Operation], Lookup] = {
    glow.GatherOp: Lookup("looks up elements of", _axis, _slices),
    glow.GatherElementsOp: Lookup("looks up elements of", _axis, _elements),
    glow.GatherNDOp: Lookup("looks up elements of", _coordinates, _tuples),
    glow.ScatterOp: Lookup("writes at places along", _written, _scattered),
}

Rule = Callable[[NodeOp, Values], Values]

LOOKUP_RULES: dict[type[Operation], Rule] = dict.fromkeys(LOOKUPS, lookup_results)
