"""What was seen of each value: its range, its histogram, and ranges by channel.

A histogram has a fixed number of bins over the range seen so far; when the range grows
the old counts move to the bins that now hold their centres. Channels are axis 1 of
[N, C, H, W] and the last axis otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array

BINS = 2048

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def channel_axis(rank: int) -> int | None:
    """The axis of channels of a tensor of that rank, or None."""
    if rank < 2:
        return None
    return 1 if rank == 4 else rank - 1


def rebinned(
    counts: Counts, old: tuple[float, float], new: tuple[float, float]
) -> Counts:
    """Counts over one range as counts over a wider one."""
    width = (old[1] - old[0]) / counts.size
    centres = old[0] + width * (np.arange(counts.size) + 0.5)
    return np.bincount(bins_of(centres, new), counts, BINS).astype(np.int64)


def bins_of(values: Array, limits: tuple[float, float]) -> npt.NDArray[np.intp]:
    """The bin of each value."""
    low, high = limits
    span = high - low
    if span <= 0:
        return np.zeros(values.shape, np.intp)
    positions = (values.astype(np.float64) - low) * (BINS / span)
    return np.clip(positions.astype(np.intp), 0, BINS - 1)


@dataclass
class ValueProfile:
    """Everything that was seen of one value."""

    low: float = np.inf
    high: float = -np.inf
    histogram: Counts = field(default_factory=lambda: np.zeros(BINS, np.int64))
    channel_low: Floats | None = None
    channel_high: Floats | None = None
    channel_mean: Floats | None = None
    batches: int = 0

    def add(self, array: Array) -> None:
        """Take another batch into account; the numbers must be finite."""
        low, high = float(array.min()), float(array.max())
        if self.batches == 0:
            limits = (low, high)
        else:
            limits = (min(low, self.low), max(high, self.high))
            if limits != (self.low, self.high):
                old = (self.low, self.high)
                self.histogram = rebinned(self.histogram, old, limits)
        self.low, self.high = limits
        found = bins_of(array.reshape(-1), limits)
        self.histogram += np.bincount(found, minlength=BINS)
        self._add_channels(array)
        self.batches += 1

    def _add_channels(self, array: Array) -> None:
        axis = channel_axis(array.ndim)
        if axis is None:
            return
        others = tuple(index for index in range(array.ndim) if index != axis)
        low = array.min(axis=others).astype(np.float64)
        high = array.max(axis=others).astype(np.float64)
        mean = array.mean(axis=others, dtype=np.float64)
        if self.channel_low is None or self.channel_high is None:
            self.channel_low, self.channel_high = low, high
            self.channel_mean = mean
            return
        assert self.channel_mean is not None
        self.channel_low = np.minimum(self.channel_low, low)
        self.channel_high = np.maximum(self.channel_high, high)
        self.channel_mean += (mean - self.channel_mean) / (self.batches + 1)


@dataclass
class Profile:
    """The profiles of a network's values by name."""

    values: dict[str, ValueProfile] = field(default_factory=dict[str, ValueProfile])
    batches: int = 0

    def add(self, arrays: Mapping[str, Array]) -> None:
        """Take the values of another batch into account.

        Raises GlowError for NaN and infinity, naming value and batch.
        """
        for name, array in arrays.items():
            if array.size == 0:
                continue
            if not np.isfinite(array).all():
                kind = "NaN" if np.isnan(array).any() else "infinity"
                raise GlowError(f"{kind} in value '{name}' in batch {self.batches}")
            self.values.setdefault(name, ValueProfile()).add(array)
        self.batches += 1

    def __getitem__(self, name: str) -> ValueProfile:
        if name not in self.values:
            raise GlowError(f"the profile has no value '{name}'")
        return self.values[name]
