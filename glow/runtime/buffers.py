"""Aligned memory for tensors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64
"""One cache line and one AVX-512 register."""

IN_PLACE_BYTES = 1 << 16
"""Inputs and outputs of fewer bytes are copied sooner than their addresses are found."""


def aligned_empty(nbytes: int, alignment: int = ALIGNMENT) -> npt.NDArray[np.uint8]:
    """Returns `nbytes` bytes, uninitialised, at an aligned address."""
    return aligned_part(np.empty(nbytes + alignment, np.uint8), nbytes, alignment)


def aligned_zeros(nbytes: int) -> npt.NDArray[np.uint8]:
    """Returns `nbytes` zeros at an aligned address, whose pages come with their first use."""
    return aligned_part(np.zeros(nbytes + ALIGNMENT, np.uint8), nbytes)


def is_aligned(data: memoryview) -> bool:
    """Whether some bytes begin at an aligned address."""
    return np.frombuffer(data, np.uint8).ctypes.data % ALIGNMENT == 0


def aligned_part(
    buffer: npt.NDArray[np.uint8], nbytes: int, alignment: int = ALIGNMENT
) -> npt.NDArray[np.uint8]:
    """Returns `nbytes` bytes at the first aligned address of a buffer."""
    start = -buffer.ctypes.data % alignment
    return buffer[start : start + nbytes]
