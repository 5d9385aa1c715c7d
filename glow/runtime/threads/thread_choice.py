"""Whether the calls of a network gain by more threads than one: what calls took tells.

A network of few and small kernels waits in barriers for longer than it computes, most of all
where two of the machine's cores are one, or workers sleep between rare calls. No model of a
machine knows that. So a round now and then compares `BLOCK` calls on the chosen threads with as
many on the other number of threads. All threads are chosen at first.

A single round is no evidence: another process may have had a core. A round that contradicts the
choice is followed by the next at once, and `ROUNDS` of them in a row change it. Processes come
and go, so every choice is looked at again. What that costs is bounded: the calls between rounds
take `TIME_PER_LOST` times what the last ones lost. Calls whose threads had no cores
(`contention.ll`) say nothing, and long calls, which always gain, are never tried on one thread.
Results do not depend on any of it.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import perf_counter_ns

BLOCK = 2
"""Calls of which the faster counts: the first wakes workers, and its data are in other caches."""

ROUNDS = 3
"""Rounds in a row that change the choice."""

TIME_PER_LOST = 200
"""Rounds lose at most one part in so many of the time of calls."""

LEAST_WAIT = 100
"""Calls between rounds that lost nothing."""

MOST_LOST_NANOSECONDS = 100_000_000
"""A process that was stopped in a round, as by a debugger, waits no longer for the next one."""

LONGEST_NANOSECONDS = 5_000_000
"""Calls that take longer on all threads wait for each other only shortly."""

LEAST_GAIN = 1.05
"""One thread takes so much longer than all of them, where these pay."""


class ThreadChoice:
    """The threads of calls; several callers may ask at once, of whom one is in the round."""

    def __init__(
        self, threads: int, clock: Callable[[], int] = perf_counter_ns
    ) -> None:
        """`threads` are the most; `clock` tells nanoseconds."""
        self._chosen, self._other = threads, 1
        self._clock = clock
        self._wait = 0
        """Calls before the next round."""
        self._in_round = Lock()
        """Held by the caller that touches what follows."""
        self._times: list[int] = []
        """The nanoseconds of the round's calls, first those on the chosen threads."""
        self._is_fair = True
        """Whether each call of the round got the threads that it asked for."""
        self._against = 0
        """How many rounds contradict the choice, up to the last."""
        self._lost = 0
        """The nanoseconds that the rounds since the last wait lost."""

    def run(self, call: Callable[[int], int]) -> None:
        """Runs a call, which takes threads and tells how many it got."""
        if self._wait > 0:
            self._wait -= 1
            call(self._chosen)
        elif self._in_round.acquire(blocking=False):
            try:
                self._run_in_round(call)
            finally:
                self._in_round.release()
        else:
            call(self._chosen)

    def _run_in_round(self, call: Callable[[int], int]) -> None:
        times = self._times
        asked = self._chosen if len(times) < BLOCK else self._other
        begin = self._clock()
        used = call(asked)
        times.append(self._clock() - begin)
        self._is_fair &= used == asked
        if len(times) == 2 * BLOCK:
            self._end_round()
        elif len(times) == BLOCK and not self._may_tell():
            self._start_again(LEAST_WAIT)

    def _may_tell(self) -> bool:
        """Whether calls on the other threads would tell anything, after those on the chosen."""
        is_long = self._chosen > 1 and min(self._times) > LONGEST_NANOSECONDS
        return self._is_fair and not is_long

    def _end_round(self) -> None:
        """Count the round for or against the choice, and say when the next one is."""
        chosen, other = self._times[:BLOCK], self._times[BLOCK:]
        self._lost += min(max(sum(other) - sum(chosen), 0), MOST_LOST_NANOSECONDS)
        if self._is_fair and self._is_against(min(chosen), min(other)):
            self._against += 1
            if self._against < ROUNDS:
                return self._start_again(0)
            self._chosen, self._other = self._other, self._chosen
        pause = TIME_PER_LOST * self._lost // max(min(self._times), 1)
        self._against = self._lost = 0
        return self._start_again(max(pause, LEAST_WAIT))

    def _is_against(self, chosen: int, other: int) -> bool:
        """Whether the times of calls contradict the choice."""
        if self._chosen > 1:
            return other <= LEAST_GAIN * chosen
        return chosen > LEAST_GAIN * other

    def _start_again(self, wait: int) -> None:
        """Begin a round after so many calls."""
        self._times, self._is_fair, self._wait = [], True, wait
