"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes


def trim() -> None:
    """Give back what the C library keeps of freed memory, where it can: it is glibc's."""
    if give_back := getattr(ctypes.CDLL(None), "malloc_trim", None):
        give_back(0)
