"""Copies of tiles in the simulator (`nvgpu.tma.async.load`).

A tile is NaN until the phase of its barrier ends. Its chunks lie where the swizzle of the tensor
map puts them. To copy over what a product may still read, or over a tile that is on its way, is an
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Operation

from glow.dialects.gpu import bulk_copies
from glow.dialects.gpu.matrix_descriptor import CHUNK_BYTES, PIECE_BYTES, ROW_BYTES
from glow.dialects.gpu.shared_memory import WARP
from glow.dialects.tensor_types import shape_of
from glow.interpreter.arrays import Array, garbage
from glow.interpreter.gpu.block import Rule, ThreadBlock
from glow.interpreter.gpu.memory import Memory
from glow.interpreter.gpu.order import Stamp
from glow.interpreter.gpu.phases import only_thread, threads_of


class Part(NamedTuple):
    """A part of shared memory, from an element on that each thread says for itself."""

    memory: Memory
    first: Array
    type: MemRefType[Attribute]

    @property
    def addresses(self) -> Array:
        """Where it begins."""
        return self.memory.base + self.first * self.memory.element_bytes


class TensorMap(NamedTuple):
    """A buffer, and how tiles of it lie."""

    memory: Memory
    type: bulk_copies.TensorMapType

    @property
    def swizzle(self) -> int:
        """The bytes of rows in which chunks change places, 0 if none do."""
        return bulk_copies.SWIZZLE_BYTES.get(self.type.swizzle.data, 0)


@dataclass
class TileCopy:
    """A copy of a tile."""

    swizzle: int
    landed: Stamp | None = None
    """When it was there."""


def swizzled(addresses: Array, swizzle: int) -> Array:
    """Where bytes lie that would be at such addresses: rows of 128 bytes move chunks."""
    if swizzle != ROW_BYTES:
        return addresses
    row = addresses // ROW_BYTES % (PIECE_BYTES // ROW_BYTES)
    return addresses ^ row * CHUNK_BYTES


def subview(run: ThreadBlock, op: memref.SubviewOp) -> Part:
    memory: Memory = run.values[op.source]
    dynamic = iter(op.offsets)
    first = np.zeros(1, np.int64)
    for number, stride in zip(
        op.static_offsets.iter_values(), memory.strides, strict=True
    ):
        offset = run.values[next(dynamic)] if number == DYNAMIC_INDEX else number
        first = first + offset * stride
    assert isinstance(op.result.type, MemRefType)
    return Part(memory, first, op.result.type)


def tile_data(map_: TensorMap, coordinates: list[int]) -> Array:
    """The elements of a tile, zeros where there are none."""
    shape, tile = map_.memory.shape, shape_of(map_.type.tensor)
    places = [np.arange(size) + at for size, at in zip(tile, coordinates, strict=True)]
    inside = [
        (place >= 0) & (place < extent)
        for place, extent in zip(places, shape, strict=True)
    ]
    whole = map_.memory.data.reshape(shape)
    data = np.zeros(tile, whole.dtype)
    found = [place[there] for place, there in zip(places, inside, strict=True)]
    data[np.ix_(*inside)] = whole[np.ix_(*found)]
    return data.reshape(-1)


def places_of(run: ThreadBlock, part: Part, thread: int, map_: TensorMap) -> Array:
    """Where each element of a tile goes; raises GlowError for a tile that does not fit there."""
    memory = part.memory
    start = int(np.broadcast_to(part.addresses, run.threads)[thread])
    end = start + map_.type.tile_bytes
    if start % PIECE_BYTES or not memory.base <= start < end <= memory.end:
        raise run.fail(f"a tile is misaligned or outside, at bytes {start} to {end}")
    addresses = np.arange(start, end, memory.element_bytes)
    return (swizzled(addresses, map_.swizzle) - memory.base) // memory.element_bytes


def load_tile(run: ThreadBlock, op: bulk_copies.LoadOp) -> None:
    thread = only_thread(run)
    ((barrier, _),) = threads_of(run, op.barriers, op.number)
    if not barrier.is_fenced:
        raise run.fail("uses a barrier that no fence has shown to copies")
    map_: TensorMap = run.values[op.map_]
    part: Part = run.values[op.target]
    memory, places = part.memory, places_of(run, part, thread, map_)
    given = (run.values[value] for value in reversed(op.coordinates))
    coordinates = [int(np.broadcast_to(v, run.threads)[thread]) for v in given]
    check_free(run, memory, places, thread // WARP)
    data, copy = tile_data(map_, coordinates), TileCopy(map_.swizzle)

    def land(at: Stamp) -> None:
        memory.data[places], memory.pending[places], copy.landed = data, False, at

    memory.copy_of[places] = len(memory.copies)
    memory.copies.append(copy)
    memory.data[places] = garbage((1,), memory.data.dtype)
    memory.pending[places] = True
    barrier.landings.append(land)
    barrier.bytes -= data.nbytes
    run.progress += 1
    barrier.advance()


def check_free(run: ThreadBlock, memory: Memory, places: Array, warp: int) -> None:
    """Raise GlowError where a warp may not begin to write."""
    if memory.pending[places].any():
        raise run.fail("race: writes what another copy writes")
    touched = (memory.writer[places] != -1) | (memory.reader[places] != -1)
    if touched.any():
        raise run.fail("race: writes what a thread has touched, without a barrier")
    run.check_products(memory, places, np.array([warp]))


RULES: dict[type[Operation], Rule] = {
    memref.SubviewOp: subview,
    bulk_copies.LoadOp: load_tile,
}
