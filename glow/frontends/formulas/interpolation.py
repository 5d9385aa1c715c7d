"""Tables of places and weights for the resizing of one axis (ONNX Resize-19).

A point of the result lies somewhere between the points of the input: `positions` says where,
`nearest` which point is nearest, `neighbours` which are beside it and what each one weighs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ResizedAxis:
    """An axis of `size` points that becomes one of `count`, `scale` times as long.

    `start` and `end` are the part of the axis that `tf_crop_and_resize` reads, from 0 to 1.
    """

    size: int
    count: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    @property
    def length(self) -> float:
        """The length of the result before it is rounded down to points."""
        return self.scale * self.size


def _half_pixel(axis: ResizedAxis, x: Floats) -> Floats:
    return (x + 0.5) / axis.scale - 0.5


def _pytorch_half_pixel(axis: ResizedAxis, x: Floats) -> Floats:
    return np.full_like(x, -0.5) if axis.length == 1 else _half_pixel(axis, x)


def _half_pixel_symmetric(axis: ResizedAxis, x: Floats) -> Floats:
    return axis.size / 2 * (1 - axis.count / axis.length) + _half_pixel(axis, x)


def _align_corners(axis: ResizedAxis, x: Floats) -> Floats:
    if axis.length == 1:
        return np.zeros_like(x)
    return x * (axis.size - 1) / (axis.length - 1)


def _crop(axis: ResizedAxis, x: Floats) -> Floats:
    part, last = axis.end - axis.start, axis.size - 1
    if axis.length == 1:
        return np.full_like(x, part * last / 2 + axis.start * last)
    return x * part * last / (axis.length - 1) + axis.start * last


TRANSFORMATIONS: Mapping[str, Callable[[ResizedAxis, Floats], Floats]] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "align_corners": _align_corners,
    "asymmetric": lambda axis, x: x / axis.scale,
    "tf_half_pixel_for_nn": lambda axis, x: (x + 0.5) / axis.scale,
    "tf_crop_and_resize": _crop,
}
"""Where the points of a result lie among those of the input."""

ROUNDINGS: Mapping[str, Callable[[Floats], Floats]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""Which point is nearest to a position."""


def positions(axis: ResizedAxis, transformation: str) -> Floats:
    """Where the points of the result lie among those of the input: [count]."""
    return TRANSFORMATIONS[transformation](axis, np.arange(axis.count, dtype=float))


def nearest(axis: ResizedAxis, places: Floats, rounding: str) -> Places:
    """The point of the input that is nearest to each position: [count]."""
    return np.clip(ROUNDINGS[rounding](places), 0, axis.size - 1).astype(np.int64)


def linear(distance: Floats) -> Floats:
    """What a point so far away weighs."""
    return np.clip(1 - np.abs(distance), 0, 1)


def cubic(factor: float) -> Callable[[Floats], Floats]:
    """What a point so far away weighs (Keys, "Cubic convolution interpolation", 1981)."""

    def weight(distance: Floats) -> Floats:
        x, a = np.abs(distance), factor
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < REACH["cubic"], far, 0.0))

    return weight


REACH = {"linear": 1, "cubic": 2}
"""How far away points count."""


def neighbours(
    axis: ResizedAxis,
    places: Floats,
    reach: int,
    weight: Callable[[Floats], Floats],
    *,
    antialias: bool,
    exclude_outside: bool,
) -> tuple[Places, Floats]:
    """The points beside each position, and their weights: two tables [count, taps].

    With `antialias` the weights of a shrinking axis reach as far as a point of the result
    does. Points outside of the axis are those at its ends; with `exclude_outside` they have
    no weight.
    """
    scale = min(axis.scale, 1.0) if antialias else 1.0
    first = int(np.floor(-reach / scale)) + 1
    offsets = np.arange(first, 2 - first)
    # The point before a position is the first neighbour, also of a position at a point.
    base = np.ceil(places) - 1
    points = base[:, None] + offsets
    weights = weight((points - places[:, None]) * scale)
    if exclude_outside:
        weights = np.where((points >= 0) & (points < axis.size), weights, 0.0)
    if exclude_outside or antialias:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return np.clip(points, 0, axis.size - 1).astype(np.int64), weights
