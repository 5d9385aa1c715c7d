"""Integer multipliers that do to sums what a float does.

Here a sum is multiplied with an f32, rounded to f32, and rounded to even; `tosa.rescale` takes
`(sum * factor + half) >> shift`, in integers. Both are staircases whose 256 steps lie at some
sum each. A factor has 31 bits and an f32 has 24, so 127 factors are read back as the same f32;
of these one is taken that has all steps where ours are, or most. Those that are elsewhere, by one
sum, are `Corrections`. There are many where sums lie exactly between two results: halves go to the
even one here, up in TOSA.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from glow.dialects.weight_table import Array
from glow.interpreter.integer_arithmetic import (
    FACTOR_BITS,
    MAX_SHIFT,
    Integers,
    fixed_points,
    shifted,
)

MIN_SHIFT = 2
"""The shortest that TOSA allows."""

LARGEST = 2.0 ** (FACTOR_BITS - MIN_SHIFT)
"""Numbers below have shifts that are not shorter."""

SPARE_BITS = FACTOR_BITS - 24
"""Bits of a factor that an f32 does not have."""

EXACT = 1 << 22
"""Sums below this are f32 numbers, and so are four times as many."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Corrections:
    """Sums that become a step more or less than here, and neighbours that do not."""

    wrong: float = 0.0
    """The part of the sums between both limits, in the worst channel."""
    sums: Integers = field(default_factory=lambda: np.zeros((0, 1), np.int64))
    """[corrections, channels]."""
    steps: Integers = field(default_factory=lambda: np.zeros((0, 1), np.int64))
    """What to add: 1, -1, or 0 where a channel has fewer than others."""


@dataclass(frozen=True)
class Multipliers:
    """A factor and a shift for each channel, or one of each."""

    factors: Integers
    shifts: Integers
    corrections: Corrections = field(default_factory=Corrections)

    @classmethod
    def fixed(cls, numbers: Array) -> Multipliers | None:
        """Those of `glow.requantize = "fixed"`, which are TOSA's; None for large ones."""
        if not np.all(np.less(numbers, LARGEST)):
            return None
        factors, shifts = fixed_points(numbers.reshape(-1))
        is_small = factors == 0  # Nothing is halfway to 1; what is read back is not 0.
        rest = np.maximum(np.rint(np.ldexp(numbers.reshape(-1), MAX_SHIFT)), 1)
        factors = np.where(is_small, rest, factors).astype(np.int64)
        shifts = np.where(is_small, MAX_SHIFT, shifts)
        return cls(factors, shifts)

    @classmethod
    def power(cls, exponent: int) -> Multipliers:
        """2 to the power of `-exponent`, of at most 32."""
        one = np.array([1 << (FACTOR_BITS - 1)]), np.array([exponent + FACTOR_BITS - 1])
        return cls(*one)

    @classmethod
    def of(cls, numbers: Array, limits: tuple[int, int]) -> Multipliers | None:
        """Those of f32 numbers; `limits` are the least and the largest result, less zero point.

        None where a number is too large.
        """
        plain = cls.fixed(numbers)
        if plain is None:
            return None
        stairs = Stairs.of(numbers, limits)
        fitting = cls(stairs.fitting(plain), plain.shifts)
        return replace(fitting, corrections=stairs.corrections(fitting))

    def apply(self, values: Array) -> Integers:
        """Integers times the numbers, one for each of the last axis."""
        return shifted(values, self.factors, self.shifts)


@dataclass(frozen=True)
class Stairs:
    """For each channel and each result the least sum that becomes it, or more."""

    results: Integers
    """[results]: all but the least."""
    sums: Integers
    """[channels, results]."""

    @classmethod
    def of(cls, numbers: Array, limits: tuple[int, int]) -> Stairs:
        """The steps of multiplication with f32 numbers."""
        results = np.arange(limits[0] + 1, limits[1] + 1)
        scales = np.asarray(numbers, np.float32).reshape(-1, 1, 1)
        with np.errstate(divide="ignore"):
            near = np.floor((results - 0.5)[None, :, None] / scales.astype(np.float64))
        near = np.clip(near, -(2.0**40), 2.0**40).astype(np.int64)
        sums = near + np.arange(-1, 4)
        reached = np.rint(sums.astype(np.float32) * scales) >= results[:, None]
        first = np.argmax(reached, axis=-1)[..., None]
        return cls(results, np.take_along_axis(sums, first, -1)[..., 0])

    @property
    def near(self) -> npt.NDArray[np.bool_]:
        """Which steps are counted: floats have all sums near them."""
        return np.abs(self.sums) < EXACT

    def fitting(self, plain: Multipliers) -> Integers:
        """The factors that have most steps where these are, of those read back as the same."""
        edges = (self.results - 0.5) * 2.0 ** plain.shifts[:, None]
        last = (
            self.sums - 1
        )  # Which must stay below: last * factor < edge <= sum * factor.
        least = np.full(self.sums.shape, -np.inf)
        most = np.full(self.sums.shape, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(self.sums > 0, np.ceil(edges / self.sums), least)
            least = np.where(last < 0, np.floor(edges / last) + 1, least)
            most = np.where(last > 0, np.ceil(edges / last) - 1, most)
            most = np.where(self.sums < 0, np.floor(edges / self.sums), most)
        least, most = (
            np.where(self.near, least, -np.inf),
            np.where(self.near, most, np.inf),
        )
        chosen = [
            _most_covered(*row) for row in zip(plain.factors, least, most, strict=True)
        ]
        return np.array(chosen, np.int64)

    def corrections(self, how: Multipliers) -> Corrections:
        """The sums beside a step that is elsewhere."""
        factors, shifts = how.factors[:, None], how.shifts[:, None]
        sums = np.clip(self.sums, -EXACT, EXACT)
        low = (shifted(sums, factors, shifts) < self.results) & self.near
        high = (shifted(sums - 1, factors, shifts) >= self.results) & self.near
        wrong = np.concatenate([low, high], axis=1)
        values = np.concatenate([sums, sums - 1], axis=1)
        ones = np.ones_like(sums)
        steps = np.concatenate([ones, -ones], axis=1)
        counts = wrong.sum(axis=1)
        spans = self.sums[:, -1] - self.sums[:, 0] + 1
        first = np.argsort(~wrong, axis=1, kind="stable")[:, : counts.max(initial=0)]
        chosen = np.take_along_axis(wrong, first, 1)
        return Corrections(
            float(np.max(counts / spans, initial=0.0)),
            np.where(chosen, np.take_along_axis(values, first, 1), 0).T,
            np.where(chosen, np.take_along_axis(steps, first, 1), 0).T,
        )


def _most_covered(plain: int, least: Floats, most: Floats) -> int:
    """The factor near a plain one that lies inside of most intervals, itself if it is one."""
    low, high = _neighbours(plain)
    inside = (np.max(least, initial=-np.inf), np.min(most, initial=np.inf))
    if inside[0] <= plain <= inside[1]:
        return plain
    candidates = np.arange(low, high + 1)
    starts = np.searchsorted(np.sort(least), candidates, side="right")
    ends = np.searchsorted(np.sort(most), candidates, side="left")
    covered = starts - ends
    best = candidates[covered == covered.max()]
    return int(best[np.argmin(np.abs(best - plain))])


def _neighbours(factor: int) -> tuple[int, int]:
    """The least and the largest factor that round to the same f32.

    Floats below a power of two lie twice as close.
    """
    half = 1 << (SPARE_BITS - 1)
    is_power = factor == 1 << (FACTOR_BITS - 1)
    return factor - (half // 2 if is_power else half) + 1, factor + half - 1
