"""The 64 bits by which `wgmma` finds a factor in shared memory.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and "Matrix Descriptor
Format". Rows run along the depth; eight rows of 128 bytes are a swizzled piece of 1024, in which
the chunk of 16 bytes at place c of row r is at place c xor r.
"""

from __future__ import annotations

from typing import NamedTuple

ROW_BYTES = 128
PIECE_BYTES = 8 * ROW_BYTES
"""What rows repeat after; where tiles begin."""
CHUNK_BYTES = 16
FIELD = (1 << 14) - 1
"""Addresses and strides are in units of 16 bytes, 14 bits each."""
MODES = {0: 0, 128: 1, 64: 2, 32: 3}
"""The bits of a swizzle by the bytes of its rows."""


class MatrixDescriptor(NamedTuple):
    """Where a factor is, in bytes."""

    start: int
    leading: int = CHUNK_BYTES
    """Between columns of pieces; swizzled rows are one column."""
    stride: int = PIECE_BYTES
    """From eight rows to the next eight."""
    base_offset: int = 0
    swizzle: int = ROW_BYTES

    @property
    def bits(self) -> int:
        """As the instruction takes it."""
        places = ((self.start, 0), (self.leading, 16), (self.stride, 32))
        fields = (((byte >> 4) & FIELD) << shift for byte, shift in places)
        return sum(fields) | self.base_offset << 49 | MODES[self.swizzle] << 62

    @property
    def signed_bits(self) -> int:
        """The same as a signed number."""
        return self.bits - (1 << 64) if self.bits >> 63 else self.bits

    @staticmethod
    def of(bits: int) -> MatrixDescriptor:
        """What bits say, also those of a signed number."""
        bits &= (1 << 64) - 1
        start, leading, stride = (
            ((bits >> shift) & FIELD) << 4 for shift in (0, 16, 32)
        )
        modes = {mode: swizzle for swizzle, mode in MODES.items()}
        return MatrixDescriptor(
            start, leading, stride, bits >> 49 & 7, modes[bits >> 62]
        )
