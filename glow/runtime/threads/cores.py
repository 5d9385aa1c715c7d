"""How many cores this process may use: the default number of threads."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from glow.runtime.threads.control_groups import GROUPS, MOUNT, group_folders


def available_cores() -> int:
    """The cores that the process may run on, or fewer where a container has a quota."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return min(count, *quotas(), count)


def quotas(groups: Path = GROUPS, mount: Path = MOUNT) -> Iterator[int]:
    """The quotas of the process's control groups in cores, parts of one rounded up."""
    for version, folder in group_folders("cpu", groups, mount):
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
            quota, period = _microseconds(version, folder)
            if quota > 0:
                yield -(-quota // period)


def _microseconds(version: int, folder: Path) -> tuple[int, int]:
    """The time that all threads together get, and in which time."""
    if version == 1:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        parts = [(folder / name).read_text(encoding="ascii") for name in names]
    else:
        parts = (folder / "cpu.max").read_text(encoding="ascii").split()
    quota, period = map(int, parts)  # No quota is "max", or -1.
    return quota, period
