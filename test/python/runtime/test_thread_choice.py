"""How many threads a network's calls take, by a clock that the test sets."""

from __future__ import annotations

import pytest

from glow.runtime.threads.thread_choice import (
    LONGEST_NANOSECONDS,
    PERIOD,
    TRIED,
    ThreadChoice,
)


class Machine:
    """Calls take as long as `times` says of so many threads; `free` is how many there are."""

    def __init__(self, times: dict[int, int], most: int = 2) -> None:
        self.times, self.now, self.free = times, 0, most
        self.choice = ThreadChoice(most, lambda: self.now)
        self.asked: list[int] = []

    def call(self, threads: int) -> int:
        self.asked.append(threads)
        used = min(threads, self.free)
        self.now += self.times[used] + len(self.asked) % 3
        return used

    def run(self, count: int) -> list[int]:
        """The threads that so many calls ask for."""
        self.asked.clear()
        for _ in range(count):
            self.choice.run(self.call)
        return [*self.asked]


@pytest.mark.parametrize(
    ("one", "two", "chosen"), [(1000, 600, 2), (1000, 990, 1), (600, 1000, 1)]
)
def test_the_fastest_number_of_threads_is_kept(one, two, chosen):
    machine = Machine({1: one, 2: two})
    assert machine.run(2 * TRIED) == [2] * TRIED + [1] * TRIED
    assert set(machine.run(PERIOD - 2 * TRIED)) == {chosen}


def test_threads_are_tried_again():
    machine = Machine({1: 1000, 2: 2000})
    assert set(machine.run(PERIOD)[2 * TRIED :]) == {1}
    machine.times[2] = 500
    assert set(machine.run(PERIOD)[-PERIOD // 2 :]) == {2}


def test_long_calls_are_never_tried_on_one():
    machine = Machine({1: 9, 2: LONGEST_NANOSECONDS + 1})
    assert set(machine.run(PERIOD)) == {2}


def test_all_threads_are_taken_where_others_had_them():
    machine = Machine({1: 1000, 2: 600})
    machine.free = 1
    machine.run(2 * TRIED)
    machine.free = 2
    assert set(machine.run(100)) == {2}
