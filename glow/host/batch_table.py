"""How many requests a second a model does in batches of 1, 2, 4 and 8 on one core.

Measured once for a model and the sizes of its inputs, in half a second, and kept in the
cache's folder. What counts is the processor time of the thread that runs the network: other
threads may have the cores meanwhile. Where a batch of 2 does not pay nothing larger is tried,
so that a convolutional network is compiled for no others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
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
"""For the measurement of a size together with the one before."""

ROUNDS = 40
"""At most, of which the shortest counts."""

LONGEST = 0.25
"""Seconds of a request beyond which there are no batches: eight would keep each other waiting
for seconds."""

TOLERANCE = 1e-4
"""How far results in a batch may be from single ones, of the largest value."""

FOLDER, SUFFIX, LIMIT = "batches", ".json", 1 << 20


@dataclass(frozen=True)
class BatchTable:
    """The seconds of batches by their size, and whether they give what single requests do."""

    seconds: dict[int, float]
    is_exact: bool = True

    @cached_property
    def paying(self) -> list[int]:
        """The sizes that do more requests a second than all smaller ones, with a margin."""
        found = [1]
        for size in sorted(self.seconds):
            each, last = self.seconds[size] / size, self.seconds[found[-1]] / found[-1]
            if size > 1 and each * GAIN <= last:
                found.append(size)
        return found if self.is_exact else [1]

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
    single = model.run_in_order(inputs, 1)
    seconds = {1: _seconds(model, inputs, clock)}
    if seconds[1] > LONGEST:
        return BatchTable(seconds)
    for size in BATCH_SIZES[1:]:
        rows = [mixed_rows(array, size) for array in inputs]
        if not is_exact(model, rows, single):
            return BatchTable(seconds, is_exact=False)
        for count, least in _least(model, rows, clock).items():
            seconds[count] = min(least, seconds.get(count, least))
        if BatchTable(dict(seconds)).best == 1:
            break
    return BatchTable(seconds)


def _least(
    model: SpecializedModel, rows: Sequence[Array], clock: Callable[[], float]
) -> dict[int, float]:
    """The shortest times of a batch and of half of it, which take turns."""
    size = len(rows[0])
    least = dict.fromkeys((size // 2, size), float("inf"))
    end = time.monotonic() + SECONDS
    for _ in range(ROUNDS):
        for count in least:
            taken = _seconds(model, [array[:count] for array in rows], clock)
            least[count] = min(least[count], taken)
        if time.monotonic() > end:
            break
    return least


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

    def measure(self, model: SpecializedModel, inputs: Sequence[Array]) -> BatchTable:
        """The table that is kept, else a new one, which is kept."""
        path = self._path(inputs)
        found = self._load(path)
        if found is None:
            found = measure_table(model, inputs)
            with contextlib.suppress(OSError):
                with whole_file(path, self._base) as file:
                    parts = [found.is_exact, found.seconds]
                    file.write(json.dumps(parts).encode())
                prune(path.parent, SUFFIX, LIMIT)
        else:
            make_programs(model, inputs, found)
        return found

    def _path(self, inputs: Sequence[Array]) -> Path:
        parts = [self._key, *(f"{array.dtype} {array.shape}" for array in inputs)]
        name = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self._base / FOLDER / f"{name}{SUFFIX}"

    def _load(self, path: Path) -> BatchTable | None:
        try:
            with os.fdopen(open_private(path, self._base), "rb") as file:
                is_exact_, seconds = json.loads(file.read())
            return BatchTable({int(k): float(v) for k, v in seconds.items()}, is_exact_)
        except (OSError, ValueError, TypeError, AttributeError):
            return None


def make_programs(
    model: SpecializedModel, inputs: Sequence[Array], table: BatchTable
) -> None:
    """Compile what batches that pay need, which the cache of models has."""
    for size in table.paying:
        model.prepare([mixed_rows(array, size) for array in inputs])
