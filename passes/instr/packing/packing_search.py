"""Searches the optimal packing of intervals: branch and bound in order of offsets.

Some optimal packing is made by placing intervals at non-decreasing offsets, each on top
of what lies in its span of time (as in MiniMalloc, ASPLOS 2024). Time is cut into the
sections between starts and ends; each has a floor, the end of the highest interval in
it. A branch dies when in some section what is left does not fit over the floor, where
the floor counts as at least the lowest offset that anything left in the section can
have. Nothing is tried that leaves room below itself for another interval, nor the second of
two equal ones.

First the live bound is tried as the height, then heights between it and the best packing
so far; without the budget of `MOST_WORK` the result would always be optimal.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from math import gcd
from operator import add

MOST_WORK = 1_500_000
"""So many intervals are looked at, about a second, before the best packing is taken."""

Ranking = Callable[[int, int], int]
"""Which of two intervals at equal offsets is tried first, by size and sections."""

RANKINGS: Sequence[Ranking] = (
    lambda size, sections: -sections,
    lambda size, sections: -size,
)

Item = tuple[int, int, int]
"""Size, first and last position."""


MOST_ITEMS = 400
"""More than so many that hang together are not searched: each level is a recursion."""


class OutOfSteps(Exception):
    """The budget is spent."""


def search_packing(items: Sequence[Item], bound: int, best: list[int]) -> list[int]:
    """Offsets of the least height; `best` where the budget finds none better."""
    budget = [MOST_WORK]
    offsets = list(best)
    for group in independent_groups(items):
        members = [items[number] for number in group]
        known = [best[number] for number in group]
        found = (
            _search_group(members, bound, known, budget)
            if len(members) <= MOST_ITEMS
            else known
        )
        for number, offset in zip(group, found, strict=True):
            offsets[number] = offset
        # What one group needs, the others may use too.
        bound = max(bound, _height(members, found))
    return offsets


def _height(items: Sequence[Item], offsets: Sequence[int]) -> int:
    return max(item[0] + offset for item, offset in zip(items, offsets, strict=True))


def independent_groups(items: Sequence[Item]) -> list[list[int]]:
    """Numbers of the items, apart where no life crosses a moment."""
    groups: list[list[int]] = []
    last = -1
    for number in sorted(range(len(items)), key=lambda number: items[number][1]):
        _, start, end = items[number]
        if start > last:
            groups.append([])
        groups[-1].append(number)
        last = max(last, end)
    return groups


def _search_group(
    items: Sequence[Item], bound: int, known: list[int], budget: list[int]
) -> list[int]:
    """The bound is tried first, then the middle of what may be and what is known."""
    unit = gcd(*(size for size, _, _ in items))
    best, reached = known, _height(items, known)
    limit, impossible = bound, bound - unit
    while impossible + unit < reached and budget[0] > 0:
        found = _attempts(items, limit, budget)
        if found is None:
            impossible = limit  # or too hard to find
        else:
            best, reached = found, _height(items, found)
        limit = impossible + max((reached - impossible) // unit // 2, 1) * unit
    return best


def _attempts(items: Sequence[Item], limit: int, budget: list[int]) -> list[int] | None:
    """A packing of so many bytes; the rankings share half of what is left to spend."""
    for ranking in RANKINGS:
        share = [budget[0] // (2 * len(RANKINGS)) + 1]
        budget[0] -= share[0]
        try:
            return Search(items, limit, share).run(ranking)
        except OutOfSteps:
            continue
        finally:
            budget[0] += max(share[0], 0)
    return None


class Search:
    """One depth-first search for a packing of at most `limit` bytes."""

    def __init__(self, items: Sequence[Item], limit: int, budget: list[int]) -> None:
        self.limit, self.budget = limit, budget
        self.sizes = [size for size, _, _ in items]
        starts = sorted({start for _, start, _ in items})
        self.firsts = [bisect_left(starts, start) for _, start, _ in items]
        self.ends = [bisect_right(starts, end) for _, _, end in items]
        self.floor = [0] * len(starts)
        self.left = [0] * len(starts)
        """The bytes of each section that are not placed."""
        for number, size in enumerate(self.sizes):
            for section in range(self.firsts[number], self.ends[number]):
                self.left[section] += size
        self.offsets = [0] * len(items)

    def run(self, ranking: Ranking) -> list[int] | None:
        """The offsets, or None when there are none."""
        waiting = sorted(
            range(len(self.sizes)),
            key=lambda n: ranking(self.sizes[n], self.ends[n] - self.firsts[n]),
        )
        return self.offsets if self._place(waiting, 0) else None

    def _place(self, waiting: list[int], lowest: int) -> bool:
        """Place what is waiting, at no offset below `lowest`."""
        if not waiting:
            return True
        offsets = self._least_offsets(waiting, lowest)
        waiting.sort(key=offsets.__getitem__)
        if not self._may_fit(waiting, offsets):
            return False
        ceiling = min(offset + self.sizes[n] for n, offset in offsets.items())
        tried: set[tuple[int, int, int]] = set()
        for number in waiting:
            kind = (self.sizes[number], self.firsts[number], self.ends[number])
            if offsets[number] >= ceiling:
                break
            if kind not in tried:
                tried.add(kind)
                others = [other for other in waiting if other != number]
                before = self._put(number, offsets[number], len(waiting))
                if self._place(others, offsets[number]):
                    return True
                self._take_back(number, before)
        return False

    def _least_offsets(self, waiting: Sequence[int], lowest: int) -> dict[int, int]:
        floor, firsts, ends = self.floor, self.firsts, self.ends
        return {n: max(lowest, *floor[firsts[n] : ends[n]]) for n in waiting}

    def _may_fit(self, rising: Sequence[int], offsets: dict[int, int]) -> bool:
        """Whether each section holds what is left of it above its true floor."""
        floor = [0] * len(self.floor)
        for number in reversed(rising):
            first, end = self.firsts[number], self.ends[number]
            floor[first:end] = [offsets[number]] * (end - first)
        return max(map(add, floor, self.left)) <= self.limit

    def _put(self, number: int, offset: int, work: int) -> list[int]:
        """Place an interval; returns the floors that it covers."""
        self.budget[0] -= work
        if self.budget[0] < 0:
            raise OutOfSteps
        first, end = self.firsts[number], self.ends[number]
        before = self.floor[first:end]
        self.floor[first:end] = [offset + self.sizes[number]] * (end - first)
        for section in range(first, end):
            self.left[section] -= self.sizes[number]
        self.offsets[number] = offset
        return before

    def _take_back(self, number: int, before: list[int]) -> None:
        first, end = self.firsts[number], self.ends[number]
        self.floor[first:end] = before
        for section in range(first, end):
            self.left[section] += self.sizes[number]
