"""What was seen of one value: its range, its histogram, and ranges by channel.

A histogram has a fixed number of bins over the range seen so far; when the range grows
the old counts move to the bins that now hold their centres. Channels are axis 1 of
[N, C, H, W] and the last axis otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

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
    range: tuple[float, float] | None = None
    """The range to quantize by, where it was searched for (`glow tune-quantization`)."""
    precision: str | None = None
    """The precision that was found to be needed, instead of the one that is asked for."""

    def add(self, array: Array, *, ranges_only: bool = False) -> None:
        """Take another batch into account, or just its ranges.

        Raises FloatingPointError, and takes nothing, where a number is not finite: NaN goes
        through minimum and maximum, and infinity is one.
        """
        axis = channel_axis(array.ndim)
        others = tuple(index for index in range(array.ndim) if index != axis)
        low, high = array.min(axis=others), array.max(axis=others)
        lowest, highest = float(low.min()), float(high.max())
        if not (isfinite(lowest) and isfinite(highest)):
            raise FloatingPointError
        self._widen(lowest, highest)
        if not ranges_only:
            found = bins_of(array.reshape(-1), (self.low, self.high))
            self.histogram += np.bincount(found, minlength=BINS)
        if axis is not None:
            mean = None if ranges_only else array.mean(axis=others, dtype=np.float64)
            channels = low.astype(np.float64), high.astype(np.float64)
            self._add_channels(*channels, mean, 1)
        self.batches += 1

    def merge(self, other: ValueProfile) -> None:
        """Take everything into account that another profile saw of the value."""
        if other.batches == 0:
            return
        self._widen(other.low, other.high)
        limits = (self.low, self.high)
        self.histogram += rebinned(other.histogram, (other.low, other.high), limits)
        channels = (other.channel_low, other.channel_high, other.channel_mean)
        low, high, mean = channels
        if low is not None and high is not None and mean is not None:
            self._add_channels(low, high, mean, other.batches)
        self.batches += other.batches

    def check(self, name: str) -> None:
        """Raise GlowError where the parts do not belong together; programs may set them."""
        if self.histogram.shape != (BINS,):
            found = " x ".join(map(str, self.histogram.shape))
            raise GlowError(
                f"the histogram of '{name}' in the profile has {found} counts, not {BINS}"
            )
        channels = (self.channel_low, self.channel_high, self.channel_mean)
        if len({part.shape for part in channels if part is not None}) > 1:
            raise GlowError(
                f"the channels of '{name}' in the profile have lows, highs and means of "
                "different numbers"
            )

    def _widen(self, low: float, high: float) -> None:
        """Make the histogram cover a range too."""
        limits = (min(low, self.low), max(high, self.high))
        old = (self.low, self.high)
        if self.batches > 0 and limits != old:
            self.histogram = rebinned(self.histogram, old, limits)
        self.low, self.high = limits

    def _add_channels(
        self, low: Floats, high: Floats, mean: Floats | None, batches: int
    ) -> None:
        """Take ranges and means by channel over some batches into account.

        There are none where the number of channels is another each time.
        """
        if self.batches == 0:
            self.channel_low, self.channel_high = low.copy(), high.copy()
            self.channel_mean = None if mean is None else mean.copy()
            return
        if self.channel_low is None or self.channel_high is None:
            return
        if self.channel_low.shape != low.shape:
            self.channel_low = self.channel_high = self.channel_mean = None
            return
        self.channel_low = np.minimum(self.channel_low, low)
        self.channel_high = np.maximum(self.channel_high, high)
        if mean is None or self.channel_mean is None:
            self.channel_mean = None
            return
        share = batches / (self.batches + batches)
        self.channel_mean += (mean - self.channel_mean) * share


@dataclass
class ProfileData:
    """The profiles of a network's values by name."""

    values: dict[str, ValueProfile] = field(default_factory=dict[str, ValueProfile])
    batches: int = 0
    keep: tuple[str, ...] = ()
    """Nodes that were found to be better left in float."""
