"""Aligned memory for tensors."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64
"""One cache line and one AVX-512 register."""


def aligned_empty(nbytes: int, alignment: int = ALIGNMENT) -> npt.NDArray[np.uint8]:
    """Returns `nbytes` bytes, uninitialised, at an aligned address."""
    buffer = np.empty(nbytes + alignment, np.uint8)
    start = -buffer.ctypes.data % alignment
    return buffer[start : start + nbytes]


def aligned_copy(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Returns a contiguous copy of an array at an aligned address."""
    nbytes = prod(array.shape) * array.dtype.itemsize
    copy = aligned_empty(nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
