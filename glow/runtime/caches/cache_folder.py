"""A folder of cached files: where it is, who may write it, whole writes, how it stays small.

What the caches hold runs as native code of this user. So an entry counts only if nobody
else can have written it: folder and file belong to the user, and no other may write them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".new-"
"""How names of files begin that are being written."""
ABANDONED_SECONDS = 3600
"""Nobody writes for that long: the writer was killed."""
OWNER_ONLY = 0o700
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_refused: set[str] = set()
"""The files and folders that somebody was told of."""


def default_directory() -> Path:
    """Returns `$GLOW_CACHE_DIR`, or `glow` in the user's cache folder.

    Users without a home, whom containers run as, have a folder for temporary files.
    """
    chosen = os.environ.get("GLOW_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "glow"
    try:
        return Path.home() / ".cache" / "glow"
    except RuntimeError:
        import tempfile  # Which takes a tenth of the time that finding a model takes.

        return Path(tempfile.gettempdir()) / f"glow-{os.geteuid()}"


def open_private(path: Path, base: Path) -> int:
    """A descriptor to read the entry at `path` of the cache at `base`.

    Raises OSError where it is missing or no regular file, or where others could have
    written it, which is said once. A pipe in its place is not waited for.
    """
    _check_folders(path, base)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        _check_private(path, status)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_folders(path: Path, base: Path) -> None:
    for folder in dict.fromkeys((base, path.parent)):
        _check_private(folder, os.stat(folder))


def _check_private(path: Path, status: os.stat_result) -> None:
    """Raises OSError, and warns once, unless only this user may have written a file."""
    if status.st_uid != os.geteuid():
        reason = f"it belongs to another user (number {status.st_uid})"
    elif status.st_mode & OTHERS_WRITE:
        reason = f"other users may write it; chmod go-w {path}"
    else:
        return
    if str(path) not in _refused:
        _refused.add(str(path))
        warnings.warn(f"the cache does not use {path}: {reason}", stacklevel=2)
    raise PermissionError(errno.EPERM, "not private", str(path))


@contextlib.contextmanager
def whole_file(path: Path, base: Path) -> Generator[BinaryIO]:
    """A new file under a name of its own; it takes `path` once it is complete.

    Readers see the old file or the new one, and so do other writers. Makes the folders
    of the cache at `base`; raises OSError, and leaves nothing behind, where the file
    cannot be written or others may write its folder.
    """
    import tempfile

    base.parent.mkdir(parents=True, exist_ok=True)
    for folder in (base, path.parent):
        folder.mkdir(OWNER_ONLY, exist_ok=True)
    _check_folders(path, base)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def prune(folder: Path, suffix: str, max_bytes: int) -> None:
    """Removes the files that were not used for longest, beyond `max_bytes`."""
    found: list[tuple[os.stat_result, str]] = []
    with os.scandir(folder) as files:
        for file in files:
            if file.name.endswith(suffix):
                found.append((file.stat(), file.path))
            elif file.name.startswith(UNFINISHED):
                _remove_abandoned(file)
    excess = sum(status.st_size for status, _ in found) - max_bytes
    for status, path in sorted(found, key=lambda entry: entry[0].st_mtime):
        if excess <= 0:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            excess -= status.st_size


def _remove_abandoned(file: os.DirEntry[str]) -> None:
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime > ABANDONED_SECONDS:
            os.unlink(file.path)
