"""The memory plan against brute force, the live-set bound and Glow's allocator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise, permutations

import pytest

from glow.passes.instr.packing.interval_packing import (
    Interval,
    height,
    improvements,
    live_bound,
    pack,
    place,
)

LINE = 64


def random_intervals(count: int, seed: int, life: float = 10) -> list[Interval]:
    """Buffers of random sizes that live for a random, mostly short time."""
    choose = random.Random(seed)
    found: list[Interval] = []
    for _ in range(count):
        start = choose.randrange(2 * count)
        length = int(choose.expovariate(1 / life))
        found.append(Interval(LINE * choose.randint(1, 200), start, start + length))
    return found


def cut_rectangle(count: int, seed: int) -> list[Interval]:
    """The pieces of a rectangle of time and memory: they can be packed without a gap."""
    choose = random.Random(seed)
    pieces: list[tuple[int, int, int, int]] = [(0, 40 * count, 0, 10 * count)]
    while len(pieces) < count:
        start, end, low, high = pieces.pop(choose.randrange(len(pieces)))
        if choose.random() < 0.5 and end - start > 1:
            middle = choose.randint(start + 1, end - 1)
            pieces += [(start, middle, low, high), (middle, end, low, high)]
        elif high - low > 1:
            middle = choose.randint(low + 1, high - 1)
            pieces += [(start, end, low, middle), (start, end, middle, high)]
        else:
            pieces.append((start, end, low, high))
    choose.shuffle(pieces)
    return [Interval(LINE * (top - low), s, end - 1) for s, end, low, top in pieces]


def check(intervals: Sequence[Interval], offsets: Sequence[int]) -> None:
    """What is alive together lies apart, on cache lines."""
    placed = list(zip(intervals, offsets, strict=True))
    for number, (one, offset) in enumerate(placed):
        assert offset >= 0
        assert offset % LINE == 0
        for other, other_offset in placed[:number]:
            if one.overlaps(other):
                assert (
                    offset + one.size <= other_offset
                    or other_offset + other.size <= offset
                )


def least_height(intervals: Sequence[Interval]) -> int:
    """The optimum: some order of placing each at the lowest place reaches it."""
    orders = permutations(range(len(intervals)))
    return min(height(intervals, place(intervals, order)) for order in orders)


def glow_height(intervals: Sequence[Interval]) -> int:
    """What Glow's MemoryAllocator::allocateAll needs, written from its description."""
    by_size = glow_strategy(intervals, lambda i: (i.size, i.end - i.start))
    by_time = glow_strategy(intervals, lambda i: (i.end - i.start, i.size))
    same_order = sorted(intervals, key=lambda i: i.start)
    return min(map(glow_place, (by_size, by_time, same_order)))


def glow_strategy(intervals: Sequence[Interval], key) -> list[Interval]:
    """At the moment of most unplaced bytes, the buffer of the greatest key."""
    left, order = list(intervals), []
    while left:
        moment = max(
            sorted({interval.start for interval in left}),
            key=lambda now: sum(i.size for i in left if i.start <= now <= i.end),
        )
        best = max((i for i in left if i.start <= moment <= i.end), key=key)
        left.remove(best)
        order.append(best)
    return order


def glow_place(order: Sequence[Interval]) -> int:
    """The height when each is put at the first end of another where it fits."""
    placed: list[tuple[Interval, int]] = []
    for interval in order:
        alive = [(o, o + i.size) for i, o in placed if i.overlaps(interval)]
        offset = next(
            candidate
            for candidate in sorted([0, *(end for _, end in alive)])
            if all(
                candidate + interval.size <= low or high <= candidate
                for low, high in alive
            )
        )
        placed.append((interval, offset))
    return max(interval.size + offset for interval, offset in placed)


@pytest.mark.parametrize("seed", range(40))
def test_small_plans_are_optimal(seed: int) -> None:
    choose = random.Random(seed)
    intervals = random_intervals(choose.randint(1, 6), seed, life=4)
    offsets = pack(intervals)
    check(intervals, offsets)
    assert height(intervals, offsets) == least_height(intervals)


@pytest.mark.parametrize("seed", range(20))
def test_a_bound_that_can_be_reached_is_reached(seed: int) -> None:
    intervals = cut_rectangle(10 + 2 * seed, seed)
    offsets = pack(intervals)
    check(intervals, offsets)
    assert height(intervals, offsets) == live_bound(intervals)


@pytest.mark.parametrize("seed", range(20))
def test_never_worse_than_glow(seed: int) -> None:
    intervals = random_intervals(60, seed)
    assert height(intervals, pack(intervals)) <= glow_height(intervals)


@pytest.mark.parametrize("seed", range(5))
def test_plans_of_many_buffers_do_not_overlap_and_are_tight(seed: int) -> None:
    intervals = random_intervals(300, seed)
    offsets = pack(intervals)
    check(intervals, offsets)
    assert height(intervals, offsets) <= 1.02 * live_bound(intervals)


@pytest.mark.parametrize("seed", range(5))
def test_what_sticks_out_is_placed_first_next(seed: int) -> None:
    intervals = random_intervals(20, seed)
    packings = list(improvements(intervals, list(range(20)), 8))
    assert len(packings) == 8
    for before, after in pairwise(packings):
        check(intervals, after)
        top = height(intervals, before)
        ends = [offset + i.size for i, offset in zip(intervals, before, strict=True)]
        assert any(end == top and after[n] == 0 for n, end in enumerate(ends))


def test_ten_thousand_buffers_can_be_planned() -> None:
    intervals = random_intervals(10_000, 0)
    assert height(intervals, pack(intervals)) == live_bound(intervals)


def test_equal_buffers_give_equal_plans() -> None:
    intervals = cut_rectangle(60, 3)
    assert pack(intervals) == pack(list(intervals))


def test_nothing_needs_nothing() -> None:
    assert pack([]) == []
