"""Processes that leave the cores to others. Nothing is imported, so that they do so at once."""

from __future__ import annotations

import os

LOW_PRIORITY = 10
"""As `nice` counts."""

IDLE, NICE = "idle", "nice"
"""Only cores that nobody wants, or few turns beside others."""


def leave_cores(way: str) -> None:
    """Leave the cores of this process to others, where the system knows how.

    Threads that it starts later do the same.
    """
    try:
        least = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(least, LOW_PRIORITY))
        if way == IDLE:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except (OSError, AttributeError):
        return
