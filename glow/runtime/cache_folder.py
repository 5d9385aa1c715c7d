"""A folder of cached files: where it is, whole writes, and how it stays small."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".new-"
"""How names of files begin that are being written."""
ABANDONED_SECONDS = 3600
"""Nobody writes for that long: the writer was killed."""


def default_directory() -> Path:
    """Returns `$GLOW_CACHE_DIR`, or `glow` in the user's cache folder."""
    chosen = os.environ.get("GLOW_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "glow"


@contextlib.contextmanager
def whole_file(path: Path) -> Generator[BinaryIO]:
    """A new file under a name of its own; it takes `path` once it is complete.

    Readers see the old file or the new one, and so do other writers. Makes the folder;
    raises OSError, and leaves nothing behind, where the file cannot be written.
    """
    import tempfile  # Which takes a tenth of the time that finding a model takes.

    path.parent.mkdir(parents=True, exist_ok=True)
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
