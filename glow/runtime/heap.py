"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def trim() -> None:
    """Give back what the C library keeps of freed memory, where it can: it is glibc's."""
    if give_back := _malloc_trim():
        give_back(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
