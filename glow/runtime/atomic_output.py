"""Output files appear whole or not at all: a temporary file, renamed at the end.

A link is followed: the file that it names is replaced. A device or FIFO is never replaced:
it is written to, once all that goes into it is known.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from glow.diagnostics import NO_ROOM
from glow.dialects.errors import GlowError

OPEN_FILES = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
"""The folders that name what a process has open, as in `-o /dev/stdout`."""


@contextmanager
def atomic_path(path: Path) -> Generator[Path]:
    """A temporary path to write to; it becomes `path` when the block succeeds.

    Raises `GlowError` before the block runs when `path` cannot be written, and in it
    where the disk is full.
    """
    check_output_file(path)
    stream = is_stream(path)
    path = path if stream else resolved(path)
    folder = None if stream else path.parent
    temporary = temporary_path(path, folder)
    try:
        yield temporary
        if stream:
            copy_into(path, temporary)
        else:
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
    except OSError as error:
        if error.errno in NO_ROOM:
            reason = (error.strerror or str(error)).lower()
            raise GlowError(f"cannot write {path}: {reason}") from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def temporary_path(path: Path, folder: Path | None) -> Path:
    """A new empty file in a folder; raises `GlowError` where `path` cannot be written."""
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"cannot write {path}: {reason}") from error
    os.close(handle)
    return Path(name)


def is_stream(path: Path) -> bool:
    """Whether `path` is something to write into: a device, a FIFO, what stdout is."""
    if path.is_file():
        return path.absolute().parent in OPEN_FILES
    return path.exists() and not path.is_dir()


def copy_into(stream: Path, source: Path) -> None:
    """Write the content of a file into a device or FIFO."""
    with source.open("rb") as content, stream.open("wb") as into:
        shutil.copyfileobj(content, into)


def check_output_file(path: Path) -> None:
    """Raise `GlowError` unless a file can be written, or replaced, at `path`."""
    if path.is_dir():
        raise GlowError(f"cannot write {path}: it is a folder")
    if not is_stream(path):
        check_writable(resolved(path).parent)
    elif not os.access(path, os.W_OK):
        raise GlowError(f"cannot write {path}: permission denied")


def resolved(path: Path) -> Path:
    """What a path names behind all links; raises `GlowError` for links in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise GlowError(f"cannot write {path}: its links form a circle") from error


def check_writable(folder: Path) -> None:
    """Raise `GlowError` unless files can be created in `folder`."""
    if not folder.is_dir():
        reason = "it is not a folder" if folder.exists() else "it does not exist"
        raise GlowError(f"cannot write into {folder}: {reason}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise GlowError(f"cannot write into {folder}: permission denied")


def check_output_folder(folder: Path) -> None:
    """Raise `GlowError` unless `folder` can be written to, or created."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    check_writable(existing)


def make_output_folder(folder: Path) -> None:
    """Create `folder` for results, or raise one line that says why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise GlowError(f"cannot create the folder {folder}: {reason}") from error
    check_writable(folder)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
