"""Memory for values that cross from part to part, used again by later requests.

Nobody gives an array back: one that only the pool knows any more is free. That is what its
count of references says, also where a result is a view of it: NumPy keeps the owner of the
memory alive by a reference.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glow.compiled_model import Array

    Kind = tuple[Sequence[int], np.dtype[np.generic]]


class ArrayPool:
    """Arrays by shape and dtype; all methods are thread-safe."""

    def __init__(self, limit: int) -> None:
        """`limit` is how many of one kind are kept."""
        self.limit = limit
        self._arrays: dict[tuple[tuple[int, ...], str], list[Array]] = {}
        self._lock = Lock()

    @property
    def memory_bytes(self) -> int:
        """The bytes of all that is kept."""
        with self._lock:
            return sum(a.nbytes for arrays in self._arrays.values() for a in arrays)

    def take(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
        """An array that nobody else knows, of whatever numbers."""
        with self._lock:
            arrays = self._arrays.setdefault((tuple(shape), dtype.str), [])
            for number in range(len(arrays)):
                if sys.getrefcount(arrays[number]) == _FREE:
                    return arrays[number]
            array: Array = np.empty(shape, dtype)
            if len(arrays) < self.limit:
                arrays.append(array)
            return array


_FREE = (lambda known: sys.getrefcount(known[0]))([np.empty(0)])
"""The count of an array that only a list knows, as this Python counts."""
