"""Two numbers of four bits in a byte, which is how constants of such elements are stored.

The first half of the last axis is in the lower bits, the second half in the upper ones: a vector
of bytes gives two vectors of neighbours, without shuffles. An odd last axis leaves four bits
unused, which are 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glow.dialects.quantized import packed_extent
from glow.dialects.weight_table import Array

Bytes = npt.NDArray[np.uint8]

BITS = 4
_MASK, _SIGN, _BITS = np.uint8(0xF), np.uint8(0x8), np.uint8(BITS)


def pack_nibbles(stored: Array) -> Bytes:
    """[..., N] stored integers as [..., ceil(N / 2)] bytes."""
    nibbles: Bytes = stored.astype(np.uint8) & _MASK
    half = packed_extent(stored.shape[-1])
    packed = np.ascontiguousarray(nibbles[..., :half])
    packed[..., : stored.shape[-1] - half] |= nibbles[..., half:] << _BITS
    return packed


def unpack_nibbles(packed: Array, extent: int, *, signed: bool) -> Array:
    """[..., extent] stored integers from bytes."""
    whole: Bytes = packed.astype(np.uint8, copy=False)
    nibbles: Bytes = np.concatenate([whole & _MASK, whole >> _BITS], axis=-1)
    nibbles = nibbles[..., :extent]
    return (
        (nibbles ^ _SIGN).astype(np.int8) - _SIGN.astype(np.int8) if signed else nibbles
    )
