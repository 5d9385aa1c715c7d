"""Asks Linux for the registers of matrix tiles (Intel's AMX), which a process has only then.

They make the state of a thread eight kilobytes larger, so that a process has to want them: once,
for all of its threads, those that it starts later and those that it has. Children inherit it.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

ARCH_PRCTL = 158
"""The number of the system call on x86-64."""

REQUEST_PERMISSION, TILE_DATA = 0x1023, 18
"""`ARCH_REQ_XCOMP_PERM` for `XFEATURE_XTILEDATA`."""


@cache
def has_tiles() -> bool:
    """Whether this process may use tiles from now on; refused where nothing has them."""
    system = os.uname()
    if system.sysname != "Linux" or system.machine != "x86_64":
        return False
    try:
        call = ctypes.CDLL(None).syscall
    except (OSError, AttributeError):
        return False
    call.argtypes, call.restype = [ctypes.c_long] * 3, ctypes.c_long
    return call(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) == 0
