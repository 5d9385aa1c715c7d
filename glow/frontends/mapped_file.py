"""Files of weights in memory, which nobody overwrites while they are compiled.

Large files are mapped, so that weights stay in them until they are packed. But a mapped
file that is cut short kills the process that reads it, and one that is overwritten in
place gives it half of either content. So a file is mapped under a lease (Linux, `man 2
fcntl`): who opens it for writing waits until the lease is given back. The compiler looks
now and then whether somebody waits, and then ends with an error in one line. Replacing a
file by another of its name needs no wait, and does no harm.

    with files_held():
        data = file_bytes(path)      # mapped under a lease
        check_files()                # GlowError where somebody wants to write

Where no lease can be had (a file of another user, or one that is open for writing), the
file is read into memory instead. Outside of `files_held` it is mapped without a lease.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from glow.dialects.errors import GlowError

LARGE = 2**20
"""Smaller files are read into memory at once."""


@dataclass
class HeldFiles:
    """The files under a lease, by name, and what shows their bytes."""

    files: dict[Path, BinaryIO] = field(default_factory=dict[Path, BinaryIO])
    content: dict[Path, memoryview] = field(default_factory=dict[Path, memoryview])

    def take(self, path: Path) -> memoryview:
        """The bytes of a file; raises OSError."""
        if path not in self.content:
            file = path.open("rb")
            if os.fstat(file.fileno()).st_size >= LARGE and _lease(file):
                self.files[path] = file
                self.content[path] = _mapped(file)
            else:
                with file:
                    self.content[path] = memoryview(file.read())
        return self.content[path]


_held: ContextVar[HeldFiles | None] = ContextVar("held", default=None)


@contextlib.contextmanager
def files_held() -> Generator[None]:
    """Nobody overwrites the files that are read inside, until the end."""
    if _held.get() is not None:
        yield
        return
    held = HeldFiles()
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)
        for file in held.files.values():
            _give_back(file)


def file_bytes(path: Path) -> memoryview:
    """The bytes of a file: mapped where it is large. Raises OSError."""
    held = _held.get()
    if held is not None:
        return held.take(path)
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < LARGE:
            return memoryview(file.read())
        return _mapped(file)


def check_files() -> None:
    """Raise GlowError where somebody wants to overwrite a file that is held."""
    held = _held.get()
    for path, file in held.files.items() if held else ():
        if not _is_leased(file):
            raise GlowError(
                f"'{path}' is being overwritten while it is compiled",
                hint="write another file, and rename it when it is whole",
            )


def _mapped(file: BinaryIO) -> memoryview:
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _lease(file: BinaryIO) -> bool:
    """Let writers of a file wait; whether that is possible.

    The signal that tells of a writer is one that a process ignores unless it asks for it.
    """
    try:
        import fcntl

        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except (ImportError, AttributeError, OSError):
        return False
    return True


def _give_back(file: BinaryIO) -> None:
    """End the lease, which the mapping's own descriptor would keep."""
    import fcntl

    with file, contextlib.suppress(OSError):
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _is_leased(file: BinaryIO) -> bool:
    import fcntl

    return fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_RDLCK
