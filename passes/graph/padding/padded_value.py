"""Which axes of a value are padded, and what stands there.

    words 3 of 4                axis 1 is padded, beyond its end are zeros
    [[ 5, 7, 2 | 0 ],
     [ 8, 1, 3 | 0 ]]

    past 3 of 4, and a new one  axis 0 is padded at its front
    [ 0 | 5, 7, 2, 9 ]

The elements inside of all padded axes are those of the network without padding: that is what
rules keep up. An axis that a reshape has merged holds the padded one somewhere in it. All axes
are padded by one number of elements, whatever their sizes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from glow.dialects.node import shape_of
from glow.passes.graph.padding.element_range import MODERATE, ZERO, Range, joined


class PaddedAxis(NamedTuple):
    """The padded axis and what an axis has beside it: `outer` times it, of `inner` each."""

    size: int
    """With padding."""
    outer: int = 1
    inner: int = 1
    at_front: bool = False
    """Whether padding stands before the first element, not behind the last."""

    @property
    def is_plain(self) -> bool:
        """Whether the axis is nothing but the padded one."""
        return self.outer == self.inner == 1

    def shorter(self, by: int) -> int:
        """The size of the axis without so many elements of the padded one."""
        return self.outer * (self.size - by) * self.inner


@dataclass(frozen=True)
class PaddedValue:
    """A value some of whose axes are padded."""

    axes: Mapping[int, PaddedAxis] = field(default_factory=dict[int, PaddedAxis])
    inside: Range = MODERATE
    """The elements that no padding has added: of an input what a network takes."""
    beyond: Mapping[int, Range] = field(default_factory=dict[int, Range])
    """Those beyond the end of one axis, and of no other."""
    corner: Range = ZERO
    """Those beyond the ends of several."""

    @property
    def everywhere(self) -> Range:
        """The range of all elements."""
        corner = [self.corner] if len(self.axes) > 1 else []
        return joined([self.inside, *self.beyond.values(), *corner])

    @property
    def outside(self) -> Range:
        """The range of all elements that padding has added."""
        corner = [self.corner] if len(self.axes) > 1 else []
        return joined([*self.beyond.values(), *corner]) if self.axes else ZERO

    def at(self, axis: int) -> Range:
        """What stands beyond the end of an axis, on which the value may be repeated."""
        return self.beyond.get(axis, self.inside)

    def shifted(self, by: int) -> PaddedValue:
        """The value with so many axes before its own."""
        return self.moved({axis: axis + by for axis in self.axes})

    def moved(self, places: Mapping[int, int]) -> PaddedValue:
        """The value whose padded axes are elsewhere; those without a place are gone."""
        return replace(
            self,
            axes={
                places[axis]: one for axis, one in self.axes.items() if axis in places
            },
            beyond={
                places[axis]: one for axis, one in self.beyond.items() if axis in places
            },
        )


def marked_forms(
    shape: tuple[int, ...], axes: Mapping[int, bool]
) -> dict[int, PaddedAxis]:
    """The padded axes of a value, some of them at their front."""
    return {
        axis: PaddedAxis(shape[axis], at_front=front) for axis, front in axes.items()
    }


def padded_input(value: SSAValue, axes: Mapping[int, bool]) -> PaddedValue:
    """An input whose axes are padded with zeros, some of them at their front."""
    sizes = marked_forms(shape_of(value), axes)
    return PaddedValue(sizes, MODERATE, dict.fromkeys(axes, ZERO), ZERO)


def reshaped_axes(
    axes: Mapping[int, PaddedAxis], source: tuple[int, ...], target: tuple[int, ...]
) -> dict[int, tuple[int, PaddedAxis]] | int:
    """Where the padded axes are in another shape; the first that is torn apart.

    In row-major order an axis is a size and a stride; it stays one where an axis of the result
    has all of it.
    """
    found: dict[int, tuple[int, PaddedAxis]] = {}
    for axis, padded in axes.items():
        stride = prod(source[axis + 1 :]) * padded.inner
        place = _place_of(padded, stride, target)
        if place is None or place[0] in [taken for taken, _ in found.values()]:
            return axis
        found[axis] = place
    return found


def _place_of(
    padded: PaddedAxis, stride: int, target: tuple[int, ...]
) -> tuple[int, PaddedAxis] | None:
    """The axis of a shape that has all of a padded axis of some stride."""
    size = padded.size
    for place, extent in enumerate(target):
        step = prod(target[place + 1 :])
        inner, rest = divmod(stride, step) if step else (0, 1)
        if not rest and inner and extent > 1 and extent % (inner * size) == 0:
            outer = extent // (inner * size)
            return place, padded._replace(outer=outer, inner=inner)
    return None
