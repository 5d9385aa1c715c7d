"""Threads of Python take turns more often while several of them compile.

A thread that returns from LLVM needs Python's lock, which the thread that builds kernels
gives up after five milliseconds, and it does so for each of a dozen calls: of two cores one
was idle half of the time, and kernels that take 30 ms were done after 150.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

SECONDS = 0.0005

_lock = threading.Lock()
_before: list[float] = []
"""The interval outside of all contexts, once for each context that is open."""


@contextmanager
def frequent_switches() -> Generator[None]:
    """Runs its body with short turns, unless they are shorter anyway."""
    with _lock:
        _before.append(_before[0] if _before else sys.getswitchinterval())
        sys.setswitchinterval(min(SECONDS, _before[0]))
    try:
        yield
    finally:
        with _lock:
            interval = _before.pop()
            if not _before:
                sys.setswitchinterval(interval)
