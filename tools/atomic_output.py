"""Output files appear whole or not at all: a temporary file, renamed at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from glow.dialects.errors import GlowError


@contextmanager
def atomic_path(path: Path) -> Generator[Path]:
    """A temporary path beside `path` to write to; renamed when the block succeeds.

    Raises `GlowError` before the block runs when the folder cannot be written.
    """
    check_output_file(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_output_file(path: Path) -> None:
    """Raise `GlowError` unless a file can be written, or replaced, at `path`."""
    check_writable(path.parent)
    if path.is_dir():
        raise GlowError(f"cannot write {path}: it is a folder")


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
