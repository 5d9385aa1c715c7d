"""Memory for results and for values that cross from part to part, used again by later calls.

Memory of megabytes that is new with each call takes longer to get than to fill: the system
clears it page by page. Nobody gives an array back: one whose memory only the pool knows any more
is free. That is what the count of references to the memory says, also where somebody has a view
of a view: NumPy keeps the owner of the memory alive by a reference.
"""

from __future__ import annotations

import sys
from math import prod
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from glow.runtime.buffers import ALIGNMENT, aligned_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glow.runtime.executable import Bytes
    from glow.runtime.native_program import Array


class ArrayPool:
    """Arrays by shape and dtype; all methods are thread-safe."""

    def __init__(self, limit: int) -> None:
        """`limit` is how many of one kind are kept."""
        self.limit = limit
        self._memory: dict[tuple[tuple[int, ...], str], list[Bytes]] = {}
        self._lock = Lock()

    @property
    def memory_bytes(self) -> int:
        """The bytes of all that is kept."""
        with self._lock:
            return sum(m.nbytes for kind in self._memory.values() for m in kind)

    def take(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
        """An aligned array that nobody else knows, of whatever numbers."""
        nbytes = prod(shape) * dtype.itemsize
        with self._lock:
            kind = self._memory.setdefault((tuple(shape), dtype.str), [])
            for number in range(len(kind)):
                if sys.getrefcount(kind[number]) == _FREE:
                    return _array(kind[number], nbytes, dtype, shape)
            memory = np.empty(nbytes + ALIGNMENT, np.uint8)
            if len(kind) < self.limit:
                kind.append(memory)
            return _array(memory, nbytes, dtype, shape)


def _array(
    memory: Bytes, nbytes: int, dtype: np.dtype[np.generic], shape: Sequence[int]
) -> Array:
    """A view, which keeps the memory's owner alive, as do all views of it."""
    return aligned_part(memory, nbytes).view(dtype).reshape(shape)


_FREE = (lambda known: sys.getrefcount(known[0]))([np.empty(0)])
"""The count of an array that only a list knows, as this Python counts."""
