"""From a histogram to a range: min-max, least squared error, percentile, entropy.

Min-max is the default: ranges that clip cost accuracy in measured networks, and the
entropy method is offered because other tools have it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.passes.quantization.profiling.value_profile import ValueProfile

Range = tuple[float, float]
Floats = npt.NDArray[np.float64]

MIN_MAX = "minmax"
PERCENTILE = 0.9999
MSE_STEPS = 64
KL_SMOOTHING = 1e-4


def centres_of(profile: ValueProfile) -> npt.NDArray[np.floating]:
    """The numbers in the middle of the bins."""
    bins = profile.histogram.size
    width = (profile.high - profile.low) / bins
    return profile.low + width * (np.arange(bins, dtype=np.float64) + 0.5)


def min_max(profile: ValueProfile, bits: int) -> Range:
    """Everything that was seen."""
    return profile.low, profile.high


def squared_error(profile: ValueProfile, limits: Range, bits: int) -> float:
    """The sum of squared errors of quantizing a histogram over a range."""
    low, high = min(limits[0], 0.0), max(limits[1], 0.0)
    step = (high - low) / ((1 << bits) - 1)
    if step == 0:
        return float("inf")
    centres = centres_of(profile)
    kept = np.clip(np.rint((centres - low) / step) * step + low, low, high)
    return float(((kept - centres) ** 2 * profile.histogram).sum())


def least_squares(profile: ValueProfile, bits: int) -> Range:
    """The range of least squared error: both ends shrink together, then one by one."""
    best = (profile.low, profile.high)
    least = squared_error(profile, best, bits)
    for moved in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0)):
        start = best
        for shrink in np.linspace(0, 0.9, MSE_STEPS)[1:]:
            limits = (
                start[0] * (1 - shrink * moved[0]),
                start[1] * (1 - shrink * moved[1]),
            )
            error = squared_error(profile, limits, bits)
            if error < least:
                best, least = limits, error
    return best


def percentile(profile: ValueProfile, bits: int) -> Range:
    """All but the outermost values on each side."""
    total = np.cumsum(profile.histogram) / max(profile.histogram.sum(), 1)
    centres = centres_of(profile)
    low = centres[int(np.searchsorted(total, 1 - PERCENTILE))]
    high = centres[min(int(np.searchsorted(total, PERCENTILE)), centres.size - 1)]
    return max(float(low), profile.low), min(float(high), profile.high)


def divergence(histogram: Floats, bins: int, levels: int) -> float:
    """Kullback-Leibler divergence of the first `bins`, outliers in the last, to `levels`."""
    clipped = histogram[:bins].copy()
    clipped[-1] += histogram[bins:].sum()
    edges = np.linspace(0, bins, levels + 1).astype(int)
    sums = np.add.reduceat(histogram[:bins], edges[:-1])
    filled = np.add.reduceat((histogram[:bins] > 0).astype(float), edges[:-1])
    means = np.divide(sums, filled, out=np.zeros_like(sums), where=filled > 0)
    spread = np.repeat(means, np.diff(edges)) * (histogram[:bins] > 0)
    p = clipped / max(clipped.sum(), 1) + KL_SMOOTHING / bins
    q = spread / max(spread.sum(), 1) + KL_SMOOTHING / bins
    return float((p * np.log(p / q)).sum())


def entropy(profile: ValueProfile, bits: int) -> Range:
    """The magnitude whose quantized histogram diverges least; zeros do not count."""
    largest = max(-profile.low, profile.high)
    levels = 1 << (min(bits, 8) - 1)
    bins = profile.histogram.size
    positions = np.abs(centres_of(profile)) / max(largest, 1e-30) * bins
    counts = profile.histogram.astype(float)
    places = np.minimum(positions.astype(int), bins - 1)
    folded = np.bincount(places, counts, bins).astype(np.float64)
    folded[0] = 0  # the zeros of ReLU outputs would pull the range to nothing
    candidates = range(levels, bins + 1, 16)
    best = min(candidates, key=lambda count: divergence(folded, count, levels))
    limit = best / bins * largest
    return max(profile.low, -limit), min(profile.high, limit)


METHODS: dict[str, Callable[[ValueProfile, int], Range]] = {
    MIN_MAX: min_max,
    "mse": least_squares,
    "percentile": percentile,
    "entropy": entropy,
}


def calibrated_range(profile: ValueProfile, method: str, bits: int) -> Range:
    """The range that a method chooses; GlowError lists the known ones."""
    if method not in METHODS:
        raise GlowError(
            f"unknown calibration '{method}'", hint=f"one of {', '.join(METHODS)}"
        )
    if not profile.histogram.any():
        return min_max(profile, bits)
    return METHODS[method](profile, bits)
