"""How many requests a second a model does in batches of 1, 2, 4 and 8 on one core.

Measured once for a model and the sizes of its inputs, in half a second, and kept in the
cache's folder. What counts is the processor time of the thread that runs the network: other
threads may have the cores meanwhile. They share caches and clocks too, so each time is known
twice, by every other call: as far as these differ, a batch may be no faster than it seems. Where
they differ much it is measured for longer, and again later. Where a batch of 2 does not pay
nothing larger is tried, so that a convolutional network is compiled for no others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from glow.runtime.caches.cache_folder import (
    default_directory,
    open_private,
    prune,
    whole_file,
)

if TYPE_CHECKING:
    from pathlib import Path

    from glow.compiled_model import Array
    from glow.specialized_model import SpecializedModel

BATCH_SIZES = (1, 2, 4, 8)

GAIN = 1.05
"""What a larger batch must gain: who is measured wrong by a little loses nothing."""

SECONDS = 0.5
"""For the measurement of a size together with the one before, on a machine that is quiet."""

BUSY_SECONDS = 1.0
"""For that on one that is not."""

ROUNDS = 40
"""At most in so many seconds, of which the shortest counts."""

NOISE = 0.02
"""By how much, in parts, the times of a quiet machine differ."""

LONGEST = 0.25
"""Seconds of a request beyond which there are no batches: eight would keep each other waiting
for seconds."""

TOLERANCE = 1e-4
"""How far results in a batch may be from single ones, of the largest value."""

FOLDER, SUFFIX, LIMIT = "batches", ".json", 1 << 20


@dataclass(frozen=True)
class Backlog:
    """What is asked of a network that has no free slot."""

    waiting: int
    """Requests that may join each other."""
    slots: int
    """How many run at a time."""
    coming: int
    """Requests that will come while it is as busy: as many as have since it is."""


@dataclass(frozen=True)
class BatchTable:
    """The seconds of batches by their size, and whether they give what single requests do."""

    seconds: dict[int, float]
    is_exact: bool = True
    noise: float = 0.0
    """How far times were from those of the same calls, in parts of them."""

    @property
    def is_sure(self) -> bool:
        """Whether other times within the noise would say the same."""
        doubt = 1 + 2 * max(self.noise - NOISE, 0)
        return self._paying(GAIN * doubt) == self._paying(GAIN / doubt)

    @cached_property
    def paying(self) -> list[int]:
        """The sizes that do more requests a second than all smaller ones, with a margin.

        That is larger than what both times of a comparison may be wrong by.
        """
        return self._paying(max(GAIN, 1 + 2 * self.noise)) if self.is_exact else [1]

    def _paying(self, margin: float) -> list[int]:
        found = [1]
        for size in sorted(self.seconds):
            each, last = self.seconds[size] / size, self.seconds[found[-1]] / found[-1]
            if size > 1 and each * margin <= last:
                found.append(size)
        return found

    def best_of(self, most: int, backlog: Backlog) -> int:
        """The largest batch of at most `most` with which nobody waits longer, on average.

        Those of a batch are all done at its end, where most would be sooner alone; who comes
        behind them gains a part of what they save. So of few only those join that gain much.
        """
        alone = self._ends(1, backlog)
        for size in reversed(self.paying):
            if size <= most and self._ends(size, backlog) <= alone:
                return size
        return 1

    def _ends(self, size: int, backlog: Backlog) -> float:
        """The sum of when requests are done, the first of which begin together.

        It leaves out what is the same for all sizes.
        """
        single, joined, slots = self.seconds[1], self.seconds[size], backlog.slots
        behind = backlog.waiting - size
        turns = behind * (behind - 1) / 2 * single / slots
        waiting = size * joined + behind * (single + joined / slots) + turns
        return waiting - backlog.coming * (size * single - joined) / slots

    @property
    def best(self) -> int:
        """The size that does most."""
        return self.paying[-1]

    def rates(self) -> dict[int, float]:
        """Requests a second by size."""
        return {size: size / seconds for size, seconds in self.seconds.items()}


def measure_table(
    model: SpecializedModel,
    inputs: Sequence[Array],
    clock: Callable[[], float] = time.thread_time,
) -> BatchTable:
    """The table of a model for the inputs of one request, [1, ...] each.

    Raises GlowError for what a call does.
    """
    single, noise = model.run_in_order(inputs, 1), 0.0
    seconds = {1: _seconds(model, inputs, clock)}
    if seconds[1] > LONGEST:
        return BatchTable(seconds)
    for size in BATCH_SIZES[1:]:
        rows = [mixed_rows(array, size) for array in inputs]
        if not is_exact(model, rows, single):
            return BatchTable(seconds, is_exact=False)
        times = _times(model, rows, clock)
        for count, found in times.items():
            least = min(found)
            seconds[count] = min(least, seconds.get(count, least))
        noise = max(noise, noise_of(times))
        if BatchTable(dict(seconds), noise=noise).best == 1:
            break
    return BatchTable(seconds, noise=noise)


def _times(
    model: SpecializedModel, rows: Sequence[Array], clock: Callable[[], float]
) -> Mapping[int, Sequence[float]]:
    """The times of a batch and of half of it, which take turns, until they are quiet."""
    size = len(rows[0])
    times: dict[int, list[float]] = {size // 2: [], size: []}
    begin = time.monotonic()
    while True:
        for count, found in times.items():
            found.append(_seconds(model, [array[:count] for array in rows], clock))
        taken, rounds = time.monotonic() - begin, len(times[size])
        share = 1.0 if noise_of(times) <= NOISE else SECONDS / BUSY_SECONDS
        if taken * share > SECONDS or rounds * share >= ROUNDS:
            return times


def noise_of(times: Mapping[int, Sequence[float]]) -> float:
    """How far the shortest of every other call are from the shortest of the rest, in parts."""
    noise = 0.0
    for found in times.values():
        one, other = sorted((min(found[::2]), min(found[1::2], default=found[0])))
        noise = max(noise, other / one - 1)
    return noise


def _seconds(
    model: SpecializedModel, inputs: Sequence[Array], clock: Callable[[], float]
) -> float:
    """The time of a call on one thread; never nothing."""
    begin = clock()
    model.run_in_order(inputs, 1)
    return max(clock() - begin, 1e-9)


def mixed_rows(array: Array, count: int) -> Array:
    """A batch whose first row is the array's, and whose others are that with values moved.

    All values are of the array, so that they mean something wherever it does.
    """
    rows = [np.roll(array[0].reshape(-1), row) for row in range(count)]
    return np.stack(rows).reshape(count, *array.shape[1:])


def is_exact(
    model: SpecializedModel, rows: Sequence[Array], single: Sequence[Array]
) -> bool:
    """Whether a batch gives its first and last row what they give alone."""
    batch = model.run_in_order(rows, 1)
    last = model.run_in_order([array[-1:] for array in rows], 1)
    return all(
        array.shape[:1] == rows[0].shape[:1]
        and are_close(array[:1], alone)
        and are_close(array[-1:], end)
        for array, alone, end in zip(batch, single, last, strict=True)
    )


def are_close(found: Array, expected: Array) -> bool:
    """Whether arrays are the same to `TOLERANCE` of the largest value."""
    if found.shape != expected.shape:
        return False
    if not np.issubdtype(expected.dtype, np.inexact):
        return bool(np.array_equal(found, expected))
    wanted = expected.astype(np.float64)
    bound = TOLERANCE * max(float(np.max(np.abs(wanted), initial=0)), 1e-30)
    return bool(np.allclose(found.astype(np.float64), wanted, 0, bound, equal_nan=True))


class TableCache:
    """The tables of a model that the cache of models knows by a key."""

    def __init__(self, key: str, directory: Path | None = None) -> None:
        self._key = key
        self._base = directory or default_directory()
        self._given: set[Path] = set()

    def measure(self, model: SpecializedModel, inputs: Sequence[Array]) -> BatchTable:
        """The table that is kept, else a new one, which is kept.

        Who asks again for one that a busy machine has disturbed gets a new one.
        """
        path = self._path(inputs)
        found = self._load(path)
        if found is not None and (found.is_sure or path not in self._given):
            make_programs(model, inputs, found)
        else:
            found = measure_table(model, inputs)
            with contextlib.suppress(OSError):
                with whole_file(path, self._base) as file:
                    parts = [found.is_exact, found.seconds, found.noise]
                    file.write(json.dumps(parts).encode())
                prune(path.parent, SUFFIX, LIMIT)
        self._given.add(path)
        return found

    def _path(self, inputs: Sequence[Array]) -> Path:
        parts = [self._key, *(f"{array.dtype} {array.shape}" for array in inputs)]
        name = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self._base / FOLDER / f"{name}{SUFFIX}"

    def _load(self, path: Path) -> BatchTable | None:
        try:
            with os.fdopen(open_private(path, self._base), "rb") as file:
                is_exact_, seconds, noise = json.loads(file.read())
            times = {int(size): float(each) for size, each in seconds.items()}
            return BatchTable(times, is_exact_, float(noise))
        except (OSError, ValueError, TypeError, AttributeError):
            return None


def make_programs(
    model: SpecializedModel, inputs: Sequence[Array], table: BatchTable
) -> None:
    """Compile what batches that pay need, which the cache of models has."""
    for size in table.paying:
        model.prepare([mixed_rows(array, size) for array in inputs])
