"""Aligned memory for tensors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64
"""One cache line and one AVX-512 register."""


def aligned_empty(nbytes: int, alignment: int = ALIGNMENT) -> npt.NDArray[np.uint8]:
    """Returns `nbytes` bytes, uninitialised, at an aligned address."""
    buffer = np.empty(nbytes + alignment, np.uint8)
    start = -buffer.ctypes.data % alignment
    return buffer[start : start + nbytes]
