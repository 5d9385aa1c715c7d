"""Tells requests whose deadline is over, whether they wait or run.

One thread sleeps until the next deadline; it starts with the first.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from glow.host.ticket import Ticket

Wake = Callable[[], None]


class Deadlines:
    """A clock for the deadlines of requests, and for whoever wants to be called later."""

    def __init__(self, expire: Callable[[Ticket], None]) -> None:
        """`expire` is told of each request that is not done by its deadline."""
        self._expire = expire
        self._times: list[tuple[float, int, Wake]] = []
        self._numbers = itertools.count()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def add(self, ticket: Ticket) -> None:
        """Watch a request that has a deadline; it may be forgotten when it is done."""
        assert ticket.request.deadline is not None
        known = ref(ticket)

        def look() -> None:
            ticket = known()
            if ticket is not None and not ticket.done():
                self._expire(ticket)

        self.call_at(ticket.request.deadline, look)

    def close(self) -> None:
        """End the thread."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def call_at(self, when: float, wake: Wake) -> None:
        """Call somebody at a time of `time.monotonic`."""
        with self._condition:
            heapq.heappush(self._times, (when, next(self._numbers), wake))
            if self._times[0][2] is wake:
                self._condition.notify()
            if self._thread is None and not self._is_closed:
                name = "glow-deadlines"
                self._thread = threading.Thread(
                    target=self._watch, name=name, daemon=True
                )
                self._thread.start()

    def _watch(self) -> None:
        while (what := self._next()) is not None:
            what()
            del what

    def _next(self) -> Wake | None:
        """Sleep until something is due; None at the end."""
        with self._condition:
            while not self._is_closed:
                now = time.monotonic()
                if self._times and self._times[0][0] <= now:
                    return heapq.heappop(self._times)[2]
                self._condition.wait(self._times[0][0] - now if self._times else None)
            return None
