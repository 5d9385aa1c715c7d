"""Operands that meet on the axes of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from glow.dialects.attributes import array_values, ints_attr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import (
    AROUND_PADDED_AXES,
    FRONT_PADDED_AXES,
    PADDED_AXES,
    PADDED_PER_STEP,
)
from glow.dialects.locations import place_of
from glow.dialects.node import NodeOp, node_name
from glow.passes.graph.padding.element_range import Range
from glow.passes.graph.padding.padded_value import (
    MarkedAxis,
    PaddedAxis,
    PaddedValue,
)

MARKS = ((PADDED_AXES, False), (FRONT_PADDED_AXES, True))
"""The attributes that list padded axes, and whether those are padded at their front."""


@dataclass(frozen=True)
class Placed:
    """An operand, on axes of the result."""

    value: PaddedValue
    sizes: Mapping[int, int]
    """Its sizes by the axes of the result that it has."""

    @classmethod
    def at(
        cls, value: PaddedValue, shape: Sequence[int], places: Mapping[int, int]
    ) -> Placed:
        """An operand whose axes are elsewhere; those without a place are not the result's."""
        sizes = {place: shape[axis] for axis, place in places.items()}
        return cls(value.moved(places), sizes)

    @classmethod
    def broadcast(cls, value: PaddedValue, shape: Sequence[int], rank: int) -> Placed:
        """An operand whose last axes are the result's last."""
        shift = rank - len(shape)
        return cls.at(value, shape, {axis: axis + shift for axis in range(len(shape))})


def marked_axes(attributes: Mapping[str, Attribute]) -> dict[int, MarkedAxis]:
    """The padded axes that attributes list."""
    around = _listed(attributes, AROUND_PADDED_AXES)
    found = {axis: MarkedAxis(per_step=0, around=True) for axis in around}
    for name, at_front in MARKS:
        steps = _listed(attributes, PADDED_PER_STEP) if not at_front else []
        for place, axis in enumerate(_listed(attributes, name)):
            found[axis] = MarkedAxis(at_front, steps[place] if steps else 1)
    return found


def _listed(attributes: Mapping[str, Attribute], name: str) -> list[int]:
    listed = attributes.get(name)
    return list(map(int, array_values(listed))) if isa(listed, DenseArrayBase) else []


def marks(axes: Mapping[int, MarkedAxis]) -> dict[str, Attribute]:
    """The attributes that list padded axes."""
    found: dict[str, Attribute] = {}
    for name, at_front in MARKS:
        listed = sorted(axis for axis, one in axes.items() if one.at_front == at_front)
        if listed:
            found[name] = ints_attr(*listed)
        steps = [axes[axis].per_step for axis in listed]
        if any(step != 1 for step in steps):
            found[PADDED_PER_STEP] = ints_attr(*steps)
    return found


class Mask(NamedTuple):
    """What would make a node not see padding: a number beyond the end of an operand's axis."""

    operand: int
    axis: int
    number: float | None
    """None for the last element before the end."""


class PaddingError(GlowError):
    """A node that padding of an axis changes, and the masks with which it would not."""

    masks: tuple[Mask, ...] = ()


def refusal(op: NodeOp, axis: int, what: str, *masks: Mask) -> PaddingError:
    """The error for a node that padding of an axis changes."""
    error = PaddingError(
        f"padding changes results: {op.name} {what} axis {axis}, which is padded",
        node=node_name(op),
        location=place_of(op),
    )
    error.masks = masks
    return error


def check_plain(op: NodeOp, others: Sequence[PaddedValue]) -> None:
    """Refuse operands that are padded, where only the first may be."""
    for other in others:
        for axis in other.axes:
            raise refusal(op, axis, "takes a parameter with")


def aligned(op: NodeOp, placed: Sequence[Placed]) -> dict[int, PaddedAxis]:
    """The padded axes of a result, on which no operand has elements of its own beyond the end."""
    found: dict[int, PaddedAxis] = {}
    for each in placed:
        for axis, form in each.value.axes.items():
            if axis not in found or not form.is_open:
                found[axis] = form
    for axis, form in found.items():
        for each in placed:
            is_same = form.agrees(each.value.axes.get(axis))
            if each.sizes.get(axis, 1) != 1 and not is_same:
                raise refusal(op, axis, "joins other elements to those of")
    return found


def combined(
    op: NodeOp, placed: Sequence[Placed], of: Callable[[Sequence[Range]], Range]
) -> PaddedValue:
    """The result whose elements are a function of one element of each operand."""
    axes = aligned(op, placed)
    values = [each.value for each in placed]
    beyond = {axis: of([one.at(axis) for one in values]) for axis in axes}
    corner = of([one.everywhere for one in values])
    return PaddedValue(axes, of([one.inside for one in values]), beyond, corner)
