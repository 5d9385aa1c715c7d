"""Whether the calls of a network gain by more threads than one: what calls took tells.

A network of few and small kernels waits in barriers for longer than it computes, most of all
where two of the machine's cores are one, or workers sleep between rare calls. No model of a
machine knows that. So of `PERIOD` calls the first ones run on all threads, as many on one, and the
others on what took less; long calls, which always gain, are never tried on one. Results do not
depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

TRIED = 8
"""Calls of which the fastest counts."""

PERIOD = 2000
"""Calls after which threads are tried again: other processes may have come, or gone."""

LONGEST_NANOSECONDS = 5_000_000
"""Calls that take longer on all threads wait for each other only shortly."""

LEAST_GAIN = 1.05
"""One thread takes so much longer than all of them, where these pay."""


class ThreadChoice:
    """The threads of calls; several threads may ask at once, which costs a sample."""

    def __init__(
        self, threads: int, clock: Callable[[], int] = perf_counter_ns
    ) -> None:
        """`threads` are the most; `clock` tells nanoseconds."""
        self.threads = threads
        self._chosen = threads
        self._clock = clock
        self._calls = 0
        self._least: dict[int, int] = {}
        """The nanoseconds of the fastest call on so many threads."""

    def run(self, call: Callable[[int], int]) -> None:
        """Runs a call, which takes threads and tells how many it got."""
        number = self._calls
        self._calls = number + 1 if number < PERIOD else 0
        if number >= 2 * TRIED:
            call(self._chosen)
            return
        begin = self._clock()
        used = call(self.threads if number < TRIED else 1)
        took = self._clock() - begin
        self._least[used] = min(took, self._least.get(used, took))
        if number == TRIED - 1 and not self._may_be_short():
            self._end_trial()
        if number == 2 * TRIED - 1:
            self._end_trial()

    def _may_be_short(self) -> bool:
        return self._least.get(self.threads, 0) <= LONGEST_NANOSECONDS

    def _end_trial(self) -> None:
        """Choose; where other callers had the threads, and nothing is known, all of them."""
        one, all_ = self._least.get(1), self._least.get(self.threads)
        loses = one is not None and all_ is not None and one <= LEAST_GAIN * all_
        self._chosen = 1 if loses else self.threads
        self._least = {}
        self._calls = 2 * TRIED
