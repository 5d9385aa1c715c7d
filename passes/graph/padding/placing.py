"""Operands that meet on the axes of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from glow.dialects.attributes import array_values
from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of
from glow.dialects.node import NodeOp, node_name
from glow.passes.graph.padding.element_range import Range
from glow.passes.graph.padding.padded_value import PaddedAxis, PaddedValue


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


def axes_in(attribute: Attribute | None) -> tuple[int, ...]:
    """The axes that an attribute lists; none without one."""
    if not isa(attribute, DenseArrayBase):
        return ()
    return tuple(int(axis) for axis in array_values(attribute))


def refusal(op: NodeOp, axis: int, what: str) -> GlowError:
    """The error for a node that padding of an axis changes."""
    return GlowError(
        f"padding changes results: {op.name} {what} axis {axis}, which is padded",
        node=node_name(op),
        location=place_of(op),
    )


def aligned(op: NodeOp, placed: Sequence[Placed]) -> dict[int, PaddedAxis]:
    """The padded axes of a result, on which no operand has elements of its own behind the end."""
    found: dict[int, PaddedAxis] = {}
    for each in placed:
        found |= each.value.axes
    for axis, form in found.items():
        for each in placed:
            if each.sizes.get(axis, 1) != 1 and each.value.axes.get(axis) != form:
                raise refusal(op, axis, "joins other elements to those of")
    return found


def combined(
    op: NodeOp, placed: Sequence[Placed], of: Callable[[Sequence[Range]], Range]
) -> PaddedValue:
    """The result whose elements are a function of one element of each operand."""
    axes = aligned(op, placed)
    values = [each.value for each in placed]
    behind = {axis: of([one.at(axis) for one in values]) for axis in axes}
    corner = of([one.everywhere for one in values])
    return PaddedValue(axes, of([one.inside for one in values]), behind, corner)
