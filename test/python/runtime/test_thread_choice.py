"""How many threads a network's calls take, by a clock that the test sets."""

from __future__ import annotations

import pytest

from glow.runtime.threads.thread_choice import (
    BLOCK,
    LEAST_WAIT,
    LONGEST_NANOSECONDS,
    MOST_LOST_NANOSECONDS,
    ROUNDS,
    ThreadChoice,
)

FIRST = 2 * BLOCK * ROUNDS
"""The calls after which a choice may differ from the first."""


class Machine:
    """Calls take as long as `times` says of so many threads; `free` is how many there are."""

    def __init__(self, times: dict[int, int], most: int = 2) -> None:
        self.times, self.now, self.free = times, 0, most
        self.choice = ThreadChoice(most, lambda: self.now)
        self.asked: list[int] = []

    def call(self, threads: int) -> int:
        self.asked.append(threads)
        used = min(threads, self.free)
        self.now += self.times[used]
        return used

    def run(self, count: int) -> list[int]:
        """The threads that so many calls ask for."""
        self.asked.clear()
        for _ in range(count):
            self.choice.run(self.call)
        return [*self.asked]

    def chosen(self) -> int:
        """The threads of most of the next calls, which may be a round between them."""
        asked = self.run(LEAST_WAIT)
        assert min(map(asked.count, (1, 2))) <= BLOCK
        return max((1, 2), key=asked.count)

    def lost(self, count: int) -> float:
        """The share of their time that so many calls would save by never being compared."""
        before = self.now
        self.run(count)
        best = min(self.times.values()) * count
        return (self.now - before) / best - 1


@pytest.mark.parametrize(
    ("one", "two", "chosen"), [(1000, 600, 2), (1000, 990, 1), (600, 1000, 1)]
)
def test_the_fastest_number_of_threads_is_kept(one: int, two: int, chosen: int) -> None:
    machine = Machine({1: one, 2: two})
    assert machine.run(2 * BLOCK) == [2] * BLOCK + [1] * BLOCK
    machine.run(FIRST)
    assert machine.chosen() == chosen


@pytest.mark.parametrize("two", [100, 500, 900, 1500, 5000])
def test_comparing_costs_less_than_a_hundredth_of_the_time(two: int) -> None:
    machine = Machine({1: 1000, 2: two})
    machine.run(FIRST)
    assert machine.lost(50_000) < 0.01


def test_a_round_that_was_disturbed_is_no_evidence() -> None:
    machine = Machine({1: 1000, 2: 600})
    machine.times[2] = 4000
    machine.run(2 * BLOCK * (ROUNDS - 1))
    machine.times[2] = 600
    machine.run(2 * BLOCK)
    assert machine.chosen() == 2


def test_a_busy_process_at_the_first_calls_does_not_decide_for_the_rest() -> None:
    machine = Machine({1: 1000, 2: 4000})
    machine.run(FIRST)
    assert machine.lost(20_000) < 0.01  # Looking whether it is still there is cheap.
    machine.times[2] = 600
    machine.run(2000)
    assert machine.chosen() == 2


def test_threads_that_pay_no_longer_are_given_up() -> None:
    machine = Machine({1: 1000, 2: 600})
    machine.run(5000)
    machine.times[2] = 2000
    machine.run(1000)
    assert machine.lost(10_000) < 0.01
    assert machine.chosen() == 1


def test_a_process_that_was_stopped_is_not_slow_for_long() -> None:
    machine = Machine({1: MOST_LOST_NANOSECONDS // 100, 2: 3600 * 10**9})
    machine.run(FIRST)
    machine.times[2] = MOST_LOST_NANOSECONDS // 200
    machine.run(3 * 200 * 100)
    assert machine.chosen() == 2


def test_long_calls_are_never_tried_on_one() -> None:
    machine = Machine({1: 9, 2: LONGEST_NANOSECONDS + 1})
    assert set(machine.run(5000)) == {2}


def test_calls_that_do_not_get_their_threads_say_nothing() -> None:
    machine = Machine({1: 1000, 2: 2000})
    machine.free = 1
    assert set(machine.run(5000)) == {2}
    machine.free = 2
    machine.run(LEAST_WAIT + FIRST)
    assert machine.chosen() == 1


def test_one_caller_at_a_time_is_in_the_round() -> None:
    """A call beside one that is measured takes the chosen threads, and is not measured."""
    machine = Machine({1: 500, 2: 1000})
    choice, seen = machine.choice, list[int]()

    def crowded(threads: int) -> int:
        choice.run(lambda count: seen.append(count) or count)
        return machine.call(threads)

    for _ in range(FIRST):
        choice.run(crowded)
    assert machine.asked == ([2] * BLOCK + [1] * BLOCK) * ROUNDS
    assert set(seen) == {2}
    assert machine.chosen() == 1
