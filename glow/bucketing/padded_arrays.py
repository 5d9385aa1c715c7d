"""Arrays with zeros around them, and without them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glow.compiled_model import Array
from glow.open_sizes import Margins

Around = Sequence[tuple[int, Margins]]
"""How many zeros are before and behind an array, for the axes that have some."""


class Padded(NamedTuple):
    """An array with zeros around it."""

    array: Array
    margins: Around
    """None around an array that is somebody else's."""


def padded_shape(shape: tuple[int, ...], margins: Around) -> tuple[int, ...]:
    """The shape of an array with zeros around it."""
    if not margins:
        return shape
    sizes = list(shape)
    for axis, (front, back) in margins:
        sizes[axis] += front + back
    return tuple(sizes)


def padded(array: Array, margins: Around, before: Padded | None = None) -> Padded:
    """An array with zeros around it, in the memory of an earlier one where that fits.

    Zeros of the earlier one are those of this one where it has no more of them.
    """
    if not any(front or back for _, (front, back) in margins):
        return Padded(array, ())
    shape = padded_shape(array.shape, margins)
    if before is None or not _fits(before, margins, shape, array.dtype):
        before = Padded(np.zeros(shape, array.dtype), ())
    cut(before.array, margins)[...] = array
    return Padded(before.array, margins)


def write_padded(target: Array, array: Array, margins: Around) -> None:
    """Write an array with zeros around it."""
    for axis, (front, back) in margins:
        before = (slice(None),) * axis
        if front:
            target[(*before, slice(front))] = 0
        if back:
            target[(*before, slice(target.shape[axis] - back, None))] = 0
    cut(target, margins)[...] = array


def _fits(
    padded: Padded,
    margins: Around,
    shape: tuple[int, ...],
    dtype: np.dtype[np.generic],
) -> bool:
    """Whether memory has zeros wherever they are needed."""
    if (padded.array.shape, padded.array.dtype) != (shape, dtype):
        return False
    zeros = dict(padded.margins)
    return all(
        axis in zeros and front <= zeros[axis].front and back <= zeros[axis].back
        for axis, (front, back) in margins
    )


def cut(array: Array, margins: Around) -> Array:
    """A view of an array without what is around it; an axis may have margins twice."""
    if not margins:
        return array
    kept = [slice(None)] * array.ndim
    for axis, (front, back) in margins:
        start = kept[axis].start or 0
        stop = array.shape[axis] if kept[axis].stop is None else kept[axis].stop
        kept[axis] = slice(start + front, stop - back)
    return array[tuple(kept)]
