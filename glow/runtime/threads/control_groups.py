"""The control groups of this process, in which containers set limits.

Source: Linux's Documentation/admin-guide, cgroup-v1 and cgroup-v2.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

GROUPS = Path("/proc/self/cgroup")
"""The control groups of this process: `number:controllers:path` a line."""
MOUNT = Path("/sys/fs/cgroup")


def group_folders(
    controller: str, groups: Path = GROUPS, mount: Path = MOUNT
) -> Iterator[tuple[int, Path]]:
    """The version of the interface and the folder of each group that a limit may be in.

    Each group comes with those that it is in. A container may see a path of the host, whose
    folders it lacks; its own limits are then in the mount's root.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in groups.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                version, folder = 2, mount
            elif controller in controllers.split(","):
                version, folder = 1, mount / controller
            else:
                continue
            inside = PurePosixPath(path.lstrip("/"))
            for group in (inside, *inside.parents):
                yield version, folder / group
