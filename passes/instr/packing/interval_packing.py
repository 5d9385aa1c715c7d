"""Packs intervals of time into the least memory: the heart of `plan-memory`.

A buffer of some size is alive from one position to another; buffers that are alive
together must not overlap. The largest live set is a bound that no packing can beat.
The problem is NP-hard in general, but networks are easy: placing buffers in some order,
each at the lowest offset that is free for its whole life, almost always reaches the
bound. Glow's three orders are among those tried, so that no packing is worse than
Glow's. Where none reaches the bound, the buffer that sticks out goes to the front of the
order, a few times (a "squeaky wheel" search), and at last `packing_search` looks for the
optimum within a budget. All budgets count steps, so that equal inputs give equal plans.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, islice
from math import isqrt

import numpy as np

from glow.passes.instr.packing.packing_search import search_packing

MOST_IMPROVED = 400, 100_000
"""So many improved packings are tried, and of so many intervals in all."""

FEWEST_ROUNDS = 4
"""So often an order is improved before the next gets its turn."""


@dataclass(frozen=True)
class Interval:
    """`size` bytes that are alive in positions [start, end]."""

    size: int
    start: int
    end: int

    def overlaps(self, other: Interval) -> bool:
        """Whether both are alive at some position."""
        return self.start <= other.end and other.start <= self.end


Order = Sequence[int]
"""Numbers of intervals."""

Placed = tuple[int, int, int, int]
"""Offset, end offset, first and last position of a placed interval."""


def live_bound(intervals: Sequence[Interval]) -> int:
    """The largest number of bytes alive at once: no packing can be smaller."""
    changes: dict[int, int] = {}
    for interval in intervals:
        changes[interval.start] = changes.get(interval.start, 0) + interval.size
        changes[interval.end + 1] = changes.get(interval.end + 1, 0) - interval.size
    peak = live = 0
    for position in sorted(changes):
        live += changes[position]
        peak = max(peak, live)
    return peak


def height(intervals: Sequence[Interval], offsets: Sequence[int]) -> int:
    """The bytes that a packing needs."""
    ends = (i.size + offset for i, offset in zip(intervals, offsets, strict=True))
    return max(ends, default=0)


def pack(intervals: Sequence[Interval]) -> list[int]:
    """The offset of each interval; optimal when the height meets the live bound."""
    bound = live_bound(intervals)
    best: list[int] = []
    for offsets in _candidates(intervals):
        if not best or height(intervals, offsets) < height(intervals, best):
            best = offsets
        if height(intervals, best) == bound:
            return best
    return search_packing([(i.size, i.start, i.end) for i in intervals], bound, best)


def place(intervals: Sequence[Interval], order: Order) -> list[int]:
    """Offsets by placing each interval in turn at the lowest free place."""
    placed = PlacedIntervals(intervals)
    offsets = [0] * len(intervals)
    for number in order:
        offsets[number] = placed.add(intervals[number])
    return offsets


class PlacedIntervals:
    """Intervals with their offsets, by the spans of time that they are alive in.

    The positions are cut into about sqrt(n) spans, so that placing one interval looks
    only at those that may be alive at the same time.
    """

    def __init__(self, intervals: Sequence[Interval]) -> None:
        count = max(isqrt(len(intervals)), 1)
        last = max((interval.end for interval in intervals), default=0)
        self.length = last // count + 1
        self.spans: list[list[Placed]] = [[] for _ in range(count + 1)]

    def add(self, interval: Interval) -> int:
        """Place one more interval; returns its offset."""
        offset = 0
        for placed_offset, end in self._alive_with(interval):
            if offset + interval.size <= placed_offset:
                break
            offset = max(offset, end)
        item = (offset, offset + interval.size, interval.start, interval.end)
        for span in self._spans_of(interval):
            insort(span, item)
        return offset

    def _spans_of(self, interval: Interval) -> Sequence[list[Placed]]:
        first, last = interval.start // self.length, interval.end // self.length
        return self.spans[first : last + 1]

    def _alive_with(self, interval: Interval) -> Iterable[tuple[int, int]]:
        """Offset and end of those alive together with this one, ascending."""
        start, end = interval.start, interval.end
        spans = self._spans_of(interval)
        return (
            (placed[0], placed[1])
            for placed in (spans[0] if len(spans) == 1 else merge(*spans))
            if placed[2] <= end and start <= placed[3]
        )


# -- orders


def _peak_order(intervals: Sequence[Interval], ranking: Order) -> list[int]:
    """Glow's orders: always the first of the ranking that is alive at the peak.

    The peak is the first position of the most bytes that are not yet placed.
    """
    ranked = [intervals[number] for number in ranking]
    positions, starts = np.unique([i.start for i in ranked], return_inverse=True)
    ends = np.searchsorted(positions, [i.end for i in ranked], side="right")
    live = np.zeros(len(positions), np.int64)
    for interval, start, end in zip(ranked, starts, ends, strict=True):
        live[start:end] += interval.size
    first = starts.copy()
    order: list[int] = []
    for _ in ranked:
        peak = live.argmax()
        number = int(((first <= peak) & (ends > peak)).argmax())
        live[starts[number] : ends[number]] -= ranked[number].size
        first[number] = len(positions)  # placed: alive nowhere any more
        order.append(ranking[number])
    return order


def _ranked(
    intervals: Sequence[Interval], key: Callable[[Interval], tuple[int, ...]]
) -> list[int]:
    return sorted(range(len(intervals)), key=lambda number: key(intervals[number]))


def _length(interval: Interval) -> int:
    return interval.end - interval.start


def glow_orders(intervals: Sequence[Interval]) -> Iterator[list[int]]:
    """MaxLiveSizeMaxBuffSize, MaxLiveSizeMaxBuffTime and SameOrder of Glow."""
    yield _peak_order(intervals, _ranked(intervals, lambda i: (-i.size, -_length(i))))
    yield _peak_order(intervals, _ranked(intervals, lambda i: (-_length(i), -i.size)))
    yield _ranked(intervals, lambda i: (i.start,))


_KEYS: Sequence[Callable[[Interval], tuple[int, ...]]] = (
    lambda interval: (-interval.size, interval.start),
    lambda interval: (-interval.size * (_length(interval) + 1), interval.start),
    lambda interval: (interval.start, -interval.size),
    lambda interval: (-_length(interval), -interval.size),
    lambda interval: (-interval.end, -interval.size),
)


def _candidates(intervals: Sequence[Interval]) -> Iterator[list[int]]:
    """Packings in all orders, then in improved ones."""
    tried: list[tuple[int, list[int]]] = []
    for order in (
        *(_ranked(intervals, key) for key in _KEYS),
        *(glow_orders(intervals) if intervals else ()),
    ):
        offsets = place(intervals, order)
        tried.append((height(intervals, offsets), order))
        yield offsets
    tried.sort(key=lambda candidate: candidate[0])
    most, work = MOST_IMPROVED
    total = min(most, work // max(len(intervals), 1))
    rounds = max(total // len(tried), FEWEST_ROUNDS)
    orders = [order for _, order in tried if order]
    improved = (improvements(intervals, order, rounds) for order in orders)
    yield from islice(chain.from_iterable(improved), total)


def improvements(
    intervals: Sequence[Interval], order: list[int], rounds: int
) -> Iterator[list[int]]:
    """Packings after the interval that sticks out has gone to the front."""
    for _ in range(rounds):
        offsets = place(intervals, order)
        yield offsets
        highest = max(order, key=lambda n: offsets[n] + intervals[n].size)
        order.remove(highest)
        order.insert(0, highest)
