"""How long kernels take: alternating rounds, warm and cold, without those that were disturbed.

Candidates run in turns (ABAB), so that a clock rate that falls falls for all of them. In each
turn a candidate runs once after its operands were evicted from the nearer caches (cold), then as
often as a millisecond allows (warm). Times are those of the processor. A turn in which this thread
waited for its core, as wall time beyond that tells, does not count: another process had the caches.
Medians, never the best.

Boards measure by the same code (`remote/`): it needs Python's library, no more.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WARM_SECONDS = 0.001
MOST_CALLS = 200
CROWDED = 1.05
"""Wall time over processor time from which on another process had the core."""
SLACK_SECONDS = 20e-6
"""What the two clocks may differ by in a short turn."""
MORE_TURNS = 2
"""How many times as many turns are tried where some are disturbed."""

Trial = Callable[[], None]


@dataclass(frozen=True)
class Times:
    """Median seconds of a call, with operands in the caches and without."""

    warm: float
    cold: float

    def weighted(self, cold_share: float) -> float:
        """The seconds where operands are cold in that share of the calls."""
        return (1 - cold_share) * self.warm + cold_share * self.cold


@dataclass
class _Samples:
    calls: int = 0
    warm: list[float] = field(default_factory=list[float])
    cold: list[float] = field(default_factory=list[float])
    disturbed: list[tuple[float, float]] = field(
        default_factory=list[tuple[float, float]]
    )

    def times(self) -> Times:
        """The medians; of disturbed turns where there are no others."""
        warm, cold = self.warm, self.cold
        if not warm:
            warm, cold = zip(*self.disturbed, strict=True)
        return Times(statistics.median(warm), statistics.median(cold))


class Meter:
    """Measures candidates on a machine whose caches up to the second hold `cache_bytes`."""

    def __init__(self, cache_bytes: int) -> None:
        self._bytes = cache_bytes
        self._other = ctypes.create_string_buffer(2 * cache_bytes)

    def measure(self, trials: Sequence[Trial], turns: int) -> list[Times]:
        """The times of each, from so many turns."""
        samples = [_Samples() for _ in trials]
        for trial, sample in zip(trials, samples, strict=True):
            sample.calls = self._calls(trial)
        for _ in range(turns * MORE_TURNS):
            waiting = False
            for trial, sample in zip(trials, samples, strict=True):
                if len(sample.warm) < turns:
                    self._turn(trial, sample)
                    waiting = waiting or len(sample.warm) < turns
            if not waiting:
                break
        return [sample.times() for sample in samples]

    def _calls(self, trial: Trial) -> int:
        """How many calls a turn has, after one that loads the code."""
        trial()
        start = time.perf_counter()
        trial()
        seconds = max(time.perf_counter() - start, 1e-7)
        return int(min(MOST_CALLS, max(1, WARM_SECONDS / seconds)))

    def _evict(self) -> None:
        """Leave nothing of the operands in the nearer caches."""
        place = ctypes.addressof(self._other)
        ctypes.memmove(place, place + self._bytes, self._bytes)

    def _turn(self, trial: Trial, sample: _Samples) -> None:
        self._evict()
        start, began = time.perf_counter(), time.thread_time()
        trial()
        middle = time.thread_time()
        for _ in range(sample.calls):
            trial()
        end, ended = time.perf_counter(), time.thread_time()
        cold, warm = middle - began, (ended - middle) / sample.calls
        if end - start > CROWDED * (ended - began) + SLACK_SECONDS:
            sample.disturbed.append((warm, cold))
        else:
            sample.warm.append(warm)
            sample.cold.append(cold)
