"""Aligned memory for tensors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64
"""One cache line and one AVX-512 register."""


def aligned_empty(nbytes: int, alignment: int = ALIGNMENT) -> npt.NDArray[np.uint8]:
    """Returns `nbytes` bytes, uninitialised, at an aligned address."""
    return _aligned(np.empty(nbytes + alignment, np.uint8), nbytes, alignment)


def aligned_zeros(nbytes: int) -> npt.NDArray[np.uint8]:
    """Returns `nbytes` zeros at an aligned address, whose pages come with their first use."""
    return _aligned(np.zeros(nbytes + ALIGNMENT, np.uint8), nbytes, ALIGNMENT)


def is_aligned(data: memoryview) -> bool:
    """Whether some bytes begin at an aligned address."""
    return np.frombuffer(data, np.uint8).ctypes.data % ALIGNMENT == 0


def _aligned(
    buffer: npt.NDArray[np.uint8], nbytes: int, alignment: int
) -> npt.NDArray[np.uint8]:
    start = -buffer.ctypes.data % alignment
    return buffer[start : start + nbytes]
