"""Tensor maps: how the driver is told which tiles of a buffer a kernel copies.

A kernel takes 128 bytes that the driver makes of a buffer's address, extents and strides, and of
the extents and the swizzle of a tile (CUDA driver API, `cuTensorMapEncodeTiled`).
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from glow.backends.cuda.driver import CudaDevice
from glow.runtime.buffers import aligned_empty
from glow.runtime.native_program import Array

BYTES, ALIGNMENT = 128, 64
FORMATS = {"f16": (6, 2), "f32": (7, 4), "bf16": (9, 2)}
"""The driver's number of an element type, and its bytes."""
NO_INTERLEAVE, SWIZZLE_128B, PROMOTION_128B, ZEROS = 0, 3, 2, 0


@dataclass(frozen=True)
class TensorMap:
    """Tiles of a dense buffer, rows of which are swizzled by 128 bytes; zeros are outside."""

    buffer: int
    """The number of the buffer among the arguments of its kernel."""
    element: str
    shape: Sequence[int]
    tile: Sequence[int]

    def encode(self, device: CudaDevice, address: int) -> Array:
        """What a kernel takes, of a buffer at an address."""
        number, size = FORMATS[self.element]
        rank, extents = len(self.shape), self.shape[::-1]
        strides = list(accumulate(extents[:-1], mul, initial=size))[1:]
        found = aligned_empty(BYTES, ALIGNMENT)
        device.driver.call(
            "cuTensorMapEncodeTiled",
            c_void_p(found.ctypes.data),
            *(c_uint(number), c_uint(rank), c_void_p(address)),
            *((c_ulonglong * rank)(*extents), (c_ulonglong * (rank - 1))(*strides)),
            *((c_uint * rank)(*self.tile[::-1]), (c_uint * rank)(*[1] * rank)),
            *map(c_uint, (NO_INTERLEAVE, SWIZZLE_128B, PROMOTION_128B, ZEROS)),
        )
        return found


def arguments_of(
    device: CudaDevice, places: Sequence[tuple[int, int]], maps: Sequence[TensorMap]
) -> list[int | Array]:
    """What a kernel takes of buffers (address, offset), each with its maps behind it."""
    arguments: list[int | Array] = []
    for number, (base, offset) in enumerate(places):
        arguments += [base, offset]
        arguments += [
            each.encode(device, base + offset) for each in maps if each.buffer == number
        ]
    return arguments
