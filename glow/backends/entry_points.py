"""What installed packages say of themselves: their entry points, read once a process.

`importlib.metadata` reads the files of all packages at each call, 10 ms where there are a hundred,
and tools ask for backends and for xDSL's universes each time that they read a program.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points


def entry_points_of(group: str) -> EntryPoints:
    """Those of a group, which are read again where a folder of packages changed."""
    return _entry_points(group, tuple(map(_when_changed, sys.path)))


def _when_changed(folder: str) -> tuple[str, int]:
    try:
        return folder, os.stat(folder or ".").st_mtime_ns
    except OSError:
        return folder, 0


@lru_cache(maxsize=4)
def _entry_points(group: str, folders: tuple[tuple[str, int], ...]) -> EntryPoints:
    """Those of the packages in `sys.path`, whose folders only say when to read anew."""
    return entry_points(group=group)
