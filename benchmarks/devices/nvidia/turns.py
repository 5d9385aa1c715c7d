"""Turns of those that are compared, so that clocks and heat are the same for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from glow import GlowError

Timer = Callable[[int], list[float]]
"""The seconds of each of some runs, one behind the other."""

ROUNDS, LEAST_RUNS, MOST_RUNS = 5, 4, 60
TURN_SECONDS = 0.06
WARM_RUNS = 2


def first_line(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, GlowError):
        return error.one_line()
    said = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {said}"[:300]


def timed_by_host(call: Callable[[], object]) -> Timer:
    """The seconds of calls that return when all is done, by the host's clock."""

    def timer(runs: int) -> list[float]:
        found: list[float] = []
        for _ in range(runs):
            started = time.perf_counter()
            call()
            found.append(time.perf_counter() - started)
        return found

    return timer


@dataclass
class Times:
    """The seconds of each that had turns, and the words of each that failed."""

    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    errors: dict[str, str] = field(default_factory=dict[str, str])

    def median(self, name: str) -> float | None:
        """That of all runs, None for one that failed."""
        found = self.seconds.get(name)
        return median(found) if found and name not in self.errors else None


def alternate(timers: Mapping[str, Timer], rounds: int = ROUNDS) -> Times:
    """The times of all, each of which has a turn in every round; another one is first in each.

    One that fails is left out from then on.
    """
    times, runs = Times(), dict[str, int]()
    for name, timer in timers.items():
        try:
            timer(WARM_RUNS)
            one = max(min(timer(WARM_RUNS)), 1e-9)
            runs[name] = max(LEAST_RUNS, min(MOST_RUNS, int(TURN_SECONDS / one)))
        except Exception as error:  # Whatever a peer raises.
            times.errors[name] = first_line(error)
    names = list(timers)
    for turn in range(rounds):
        first = turn % len(names)
        for name in (*names[first:], *names[:first]):
            if name in times.errors:
                continue
            try:
                times.seconds.setdefault(name, []).extend(timers[name](runs[name]))
            except Exception as error:
                times.errors[name] = first_line(error)
    return times
