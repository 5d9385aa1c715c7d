"""Work that may wait: done at once, then only once for many requests, and never forgotten."""

from __future__ import annotations

import threading
import time

from glow.runtime.seldom import Seldom

SECONDS = 0.2


def test_many_requests_are_one_call_now_and_one_later() -> None:
    calls: list[float] = []
    done = threading.Semaphore(0)

    def work() -> None:
        calls.append(time.monotonic())
        done.release()

    seldom = Seldom(work, SECONDS)
    begin = time.monotonic()
    seldom()
    assert len(calls) == 1
    for _ in range(100):
        seldom()
    passes = (time.monotonic() - begin) // SECONDS  # 0 unless this thread had to wait.
    assert done.acquire(timeout=10)
    assert done.acquire(timeout=10)
    assert calls[1] - calls[0] >= SECONDS * 0.9
    time.sleep(2 * SECONDS)
    assert 2 <= len(calls) <= 2 + passes


def test_a_late_request_is_answered_at_once() -> None:
    calls: list[int] = []
    seldom = Seldom(lambda: calls.append(0), 0.01)
    seldom()
    time.sleep(0.05)
    seldom()
    assert len(calls) == 2
