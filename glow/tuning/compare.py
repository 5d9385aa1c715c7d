"""Whether a network is faster than another one: alternating runs, and what their noise hides."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NETWORK_GAIN = 0.003
"""Of a network, beyond its noise."""
NOISES = 2.0
"""How many standard errors a gain must be larger than."""
PAIRS, MOST_PAIRS = 20, 80
"""Alternating runs that judge a choice."""
MEDIAN_ERROR = 1.2533 * 1.4826
"""The standard error of a median of normal noise, over its median deviation and the root of how
many numbers there are."""


@dataclass(frozen=True)
class Verdict:
    """How a network compares with another one in alternating runs."""

    ratio: float
    """Its time over the other's: the median of pairs."""
    noise: float
    """The standard error of that."""

    @property
    def is_faster(self) -> bool:
        """Whether it is faster by more than its noise."""
        return self.ratio < 1 - max(NETWORK_GAIN, NOISES * self.noise)


def compare(other: Callable[[], float], mine: Callable[[], float]) -> Verdict:
    """My time over the other's, in alternating runs: more of them where noise hides a gain."""
    other()
    mine()
    ratios: list[float] = []
    while True:
        for number in range(PAIRS):
            if number % 2:
                first, second = other(), mine()
            else:
                second, first = mine(), other()
            ratios.append(second / first)
        verdict = judge(ratios)
        hidden = verdict.ratio < 1 - NETWORK_GAIN and not verdict.is_faster
        if not hidden or len(ratios) >= MOST_PAIRS:
            return verdict


def judge(ratios: Sequence[float]) -> Verdict:
    """The median of ratios, and its standard error from the median deviation."""
    middle = statistics.median(ratios)
    spread = statistics.median(abs(ratio - middle) for ratio in ratios)
    return Verdict(middle, MEDIAN_ERROR * spread / len(ratios) ** 0.5)
