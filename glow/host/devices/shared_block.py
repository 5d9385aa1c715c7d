"""Memory that two processes map, and where arrays lie in it.

It has no name, so nothing of it stays behind when both processes have ended, however they
did. It grows and never shrinks: what one process has mapped stays there, whatever the
other does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import tempfile
from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from glow.runtime.buffers import ALIGNMENT

Array = npt.NDArray[np.generic]
Shape = tuple[int, ...]


def anonymous_file(name: str) -> int:
    """The descriptor of an empty file without a path, in memory where the system has that."""
    if sys.platform == "linux":
        return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class SharedBlock:
    """Memory of an anonymous file, which both processes can make larger."""

    def __init__(self, descriptor: int | None = None) -> None:
        """`descriptor` is of the other process's block; it is closed with this one."""
        self.descriptor = anonymous_file("glow") if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self.descriptor, mmap.PAGESIZE)
            _never_shrinks(self.descriptor)
        self._memory = self._map()

    def reach(self, size: int) -> None:
        """Make it so many bytes long at least; views of it stay good."""
        if size <= len(self._memory):
            return
        if size > self.size():
            os.ftruncate(self.descriptor, max(_pages(size), 2 * self.size()))
        self._memory = self._map()

    def size(self) -> int:
        """How many bytes it has, of which the other process may have added some."""
        return os.fstat(self.descriptor).st_size

    def arrays(
        self, places: Sequence[int], shapes: Sequence[Shape], dtypes: Sequence[np.dtype]
    ) -> list[Array]:
        """Views of the arrays at these places."""
        return [
            np.ndarray(shape, dtype, self._memory, place)
            for place, shape, dtype in zip(places, shapes, dtypes, strict=True)
        ]

    def close(self) -> None:
        """Close the file; the memory goes with the last view of it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            with contextlib.suppress(BufferError):
                self._memory.close()

    def _map(self) -> mmap.mmap:
        return mmap.mmap(self.descriptor, self.size())


def places_of(
    shapes: Sequence[Shape], dtypes: Sequence[np.dtype], start: int = 0
) -> tuple[list[int], int]:
    """Where arrays lie one behind the other from `start` on, aligned, and where they end."""
    places: list[int] = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        places.append(start)
        size = prod(shape) * dtype.itemsize
        start += -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
    return places, start


def _pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _never_shrinks(descriptor: int) -> None:
    """See to it that no process can take away memory that another has mapped."""
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
