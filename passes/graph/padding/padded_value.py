"""Which axes of a value are padded, and what stands there.

    words 3 of 4                axis 1 is padded, beyond its end are zeros
    [[ 5, 7, 2 | 0 ],
     [ 8, 1, 3 | 0 ]]

    past 3 of 4, and a new one  axis 0 is padded at its front
    [ 0 | 5, 7, 2, 9 ]

The elements inside of all padded axes are those of the network without padding: that is what
rules keep up. An axis that a reshape has merged holds the padded one somewhere in it. All axes
are padded because of one size, of which each knows how it depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import gcd, prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from glow.dialects.node import shape_of
from glow.passes.graph.padding.element_range import MODERATE, ZERO, Range, joined


class Shrinking(NamedTuple):
    """By how much an axis of `size` elements is shorter where some were added to the inputs.

    For `added` steps of padding there are (size * divisor + remainder - multiplier * added) //
    divisor elements without it: one for each window of a stride of two has a divisor of two.
    """

    multiplier: int = 1
    divisor: int = 1
    remainder: int = 0

    def size(self, padded: int, added: int) -> int:
        """How many of so many elements are not padding."""
        whole = padded * self.divisor + self.remainder
        return (whole - self.multiplier * added) // self.divisor


class PaddedAxis(NamedTuple):
    """The padded axis and what an axis has beside it: `outer` times it, of `inner` each."""

    size: int
    """With padding."""
    outer: int = 1
    inner: int = 1
    at_front: bool = False
    """Whether padding stands before the first element, not behind the last."""
    around: bool = False
    """Whether as much stands before the first element as behind the last."""
    shrinking: Shrinking = Shrinking()

    @property
    def is_plain(self) -> bool:
        """Whether the axis is nothing but the padded one."""
        return self.outer == self.inner == 1

    @property
    def is_open(self) -> bool:
        """Whether nothing tells how the axis depends on the size, but what it meets."""
        return self.shrinking.multiplier == 0

    def agrees(self, other: PaddedAxis | None) -> bool:
        """Whether all that is kept of another axis is where it is here."""
        if other is None:
            return False
        mine, its = self.merged, other.merged
        if mine.is_open or its.is_open:
            mine = mine._replace(shrinking=its.shrinking)
        return mine == its

    @property
    def merged(self) -> PaddedAxis:
        """The same as a plain axis, where all that is kept comes first."""
        if self.outer > 1 or self.inner == 1 or self.at_front or self.around:
            return self
        return self.spread(0, self.inner) or self

    def shorter(self, added: int) -> int:
        """The size of the axis without so many steps of padding."""
        return self.outer * self.shrinking.size(self.size, added) * self.inner

    def windows(self, more: int, stride: int) -> PaddedAxis:
        """The axis of windows over this plain one: (size + more) // stride of them."""
        multiplier, divisor, remainder = self.shrinking
        whole = (self.size + more) * divisor + remainder
        size, rest = divmod(whole, divisor * stride)
        common = gcd(multiplier, divisor * stride)
        shrinking = Shrinking(
            multiplier // common, divisor * stride // common, rest // common
        )
        return PaddedAxis(size, shrinking=shrinking)

    def spread(self, more: int, stride: int) -> PaddedAxis | None:
        """The axis of size * stride + more elements; None where that is no such function."""
        multiplier, divisor, _ = self.shrinking
        if divisor > 1:
            return None
        shrinking = Shrinking(multiplier * stride)
        return PaddedAxis(self.size * stride + more, shrinking=shrinking)


class MarkedAxis(NamedTuple):
    """What an attribute tells of a padded axis."""

    at_front: bool = False
    per_step: int = 1
    """How many elements it is longer by for each step of padding; 0 for a part of one.

    A table of positions has one for each window of a convolution, say: how many there are is
    known where it meets these.
    """
    around: bool = False


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
    repeats: int | None = None
    """The axis beyond whose end its last element is repeated."""

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

    def masked(self, axis: int, number: float) -> PaddedValue:
        """The value with a number beyond the end of an axis."""
        same = Range(number, number)
        others = [one for other, one in self.beyond.items() if other != axis]
        corner = same if len(others) < 2 else joined([same, self.corner])
        beyond = {**self.beyond, axis: same}
        return replace(self, beyond=beyond, corner=corner, repeats=None)

    def repeating(self, axis: int) -> PaddedValue:
        """The value with its last element beyond the end of an axis."""
        beyond = {**self.beyond, axis: self.inside}
        return replace(self, beyond=beyond, corner=self.everywhere, repeats=axis)

    def shifted(self, by: int) -> PaddedValue:
        """The value with so many axes before its own."""
        return self.moved({axis: axis + by for axis in self.axes})

    def moved(self, places: Mapping[int, int]) -> PaddedValue:
        """The value whose padded axes are elsewhere; those without a place are gone."""
        return replace(
            self,
            repeats=None,
            axes={
                places[axis]: one for axis, one in self.axes.items() if axis in places
            },
            beyond={
                places[axis]: one for axis, one in self.beyond.items() if axis in places
            },
        )


def marked_forms(
    shape: tuple[int, ...], axes: Mapping[int, MarkedAxis]
) -> dict[int, PaddedAxis]:
    """The padded axes of a value, as marks tell them."""
    return {
        axis: PaddedAxis(
            shape[axis],
            at_front=mark.at_front,
            around=mark.around,
            shrinking=Shrinking(mark.per_step),
        )
        for axis, mark in axes.items()
    }


def padded_input(value: SSAValue, axes: Mapping[int, MarkedAxis]) -> PaddedValue:
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
