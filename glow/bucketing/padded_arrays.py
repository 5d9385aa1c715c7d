"""Arrays with zeros around them, and without them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from glow.compiled_model import Array
from glow.padded_sizes import Margins

Around = Sequence[tuple[int, Margins]]
"""How many zeros are before and behind an array, for the axes that have some."""

Take = Callable[[tuple[int, ...], np.dtype[np.generic]], Array]
"""Gives an array of a shape and a type, of whatever numbers."""


def padded_shape(shape: tuple[int, ...], margins: Around) -> tuple[int, ...]:
    """The shape of an array with zeros around it."""
    if not margins:
        return shape
    sizes = list(shape)
    for axis, (front, back) in margins:
        sizes[axis] += front + back
    return tuple(sizes)


def padded(array: Array, margins: Around, take: Take = np.empty) -> Array:
    """An array with zeros around it, which is taken from somewhere; one without is itself."""
    if not any(front or back for _, (front, back) in margins):
        return array
    result = take(padded_shape(array.shape, margins), array.dtype)
    write_padded(result, array, margins)
    return result


def write_padded(target: Array, array: Array, margins: Around) -> None:
    """Write an array with zeros around it."""
    for axis, (front, back) in margins:
        before = (slice(None),) * axis
        if front:
            target[(*before, slice(front))] = 0
        if back:
            target[(*before, slice(target.shape[axis] - back, None))] = 0
    cut(target, margins)[...] = array


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
