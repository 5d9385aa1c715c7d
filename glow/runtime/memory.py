"""How much memory this process may have, and whether a network fits into it.

A network that does not fit ends in a bare MemoryError, or the kernel ends the process.
Both sizes are known before anything is made: the plan's, and the machine's or, in a
container, the limit of its control group.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from glow.dialects.errors import GlowError
from glow.runtime.threads.control_groups import GROUPS, MOUNT, group_folders

LIMIT_FILES = {1: "memory.limit_in_bytes", 2: "memory.max"}
"""By the version of the interface."""

GIB = 1 << 30


@cache
def memory_bytes() -> int | None:
    """The memory that this process may use at most; None where the system does not tell."""
    limits = [*control_group_limits(GROUPS, MOUNT)]
    with contextlib.suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=None)


def control_group_limits(groups: Path, mount: Path) -> Iterator[int]:
    """The limits of the process's control groups and of those that they are in."""
    for version, folder in group_folders("memory", groups, mount):
        with contextlib.suppress(OSError, ValueError):
            yield int((folder / LIMIT_FILES[version]).read_text(encoding="utf-8"))


def check_memory(needed: Mapping[str, int]) -> None:
    """Raise GlowError where what is needed, in bytes by what for, is more than there is."""
    total, there_is = sum(needed.values()), memory_bytes()
    if there_is is None or total <= there_is:
        return
    parts = ", ".join(
        f"{size / GIB:.1f} GiB for {what}" for what, size in needed.items() if size
    )
    raise GlowError(
        f"the network needs {total / GIB:.1f} GiB of memory ({parts}), and there are "
        f"{there_is / GIB:.1f}"
    )
