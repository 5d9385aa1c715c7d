"""The memory of a simulated kernel: who touched what, and what an access costs.

A warp's access to shared memory takes as many turns as its lanes read different words of one
bank; one to global memory moves whole sectors.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from glow.dialects.gpu.shared_memory import WARP
from glow.dialects.tensor_types import shape_of
from glow.interpreter.arrays import Array

NOBODY, SEVERAL = -1, -2
FENCED = -2
"""Of what a thread wrote and fenced: behind the next barrier products see it."""
SECTOR, BANKS, WORD, WIDEST = 32, 32, 4, 16
"""Bytes that global memory gives at once, banks of shared memory, bytes of a bank and of the
largest access of a thread."""


@dataclass
class Report:
    """What a launch costs beside its arithmetic."""

    bank_conflicts: int = 0
    uncoalesced_sectors: int = 0


class Memory:
    """A buffer; of shared memory, which thread touched each element since the last barrier."""

    def __init__(
        self,
        type_: MemRefType[Attribute],
        data: Array,
        is_shared: bool,
        base: int = 0,
    ) -> None:
        self.type, self.data, self.is_shared = type_, data, is_shared
        self.base = base
        """The address in shared memory."""
        self.shape = shape_of(type_)
        self.strides = row_major(self.shape)
        self.element_bytes = data.dtype.itemsize
        self.pending = np.zeros(data.size if is_shared else 0, np.bool_)
        self.writer = np.full(self.pending.size, NOBODY)
        self.reader = self.writer.copy()
        self.copies: list[Any] = []
        """Tiles that were copied here, and which of them each element is of."""
        self.copy_of = self.writer.copy()
        self.products: list[Any] = []
        """Products that read here, each with whether it reads each element."""
        self.hidden = self.writer.copy()
        """The thread that wrote each element, while products may not see it."""

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.base + self.data.nbytes

    def reshaped(self, type_: MemRefType[Attribute]) -> Memory:
        """The same elements under another shape."""
        other = copy(self)
        other.type, other.shape = type_, shape_of(type_)
        other.strides = row_major(other.shape)
        return other

    def forget(self) -> None:
        """A barrier: what was before cannot race with what comes."""
        self.writer.fill(NOBODY)
        self.reader.fill(NOBODY)
        self.hidden[self.hidden == FENCED] = NOBODY


def row_major(shape: tuple[int, ...]) -> list[int]:
    """The steps from element to element along each axis."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


class Access(NamedTuple):
    """Which elements some threads touch."""

    memory: Memory
    threads: Array
    places: Array
    """The element of each thread [threads, ...]."""
    width: int
    """Elements in a row that are touched at once."""

    @property
    def owners(self) -> Array:
        """The thread of each of its places, to compare with them."""
        ones = (1,) * (self.places.ndim - 1)
        return self.threads.reshape(-1, *ones)

    @property
    def starts(self) -> Array:
        """The first element of each row of `width`."""
        return self.places[..., 0] if self.width > 1 else self.places


def misalignment(access: Access) -> str | None:
    """What is wrong with rows that do not begin at a multiple of their size."""
    element = access.memory.element_bytes
    size = access.width * element
    wrong = access.starts * element % min(size & -size, WIDEST) != 0
    if not wrong.any():
        return None
    byte = access.starts[wrong][0] * element
    return f"a vector of {size} bytes is misaligned, at byte {byte}"


def read_problem(access: Access) -> str | None:
    """What is wrong with reading shared memory; notes who did."""
    memory, places, owners = access.memory, access.places, access.owners
    if memory.pending[places].any():
        return "reads what is copied, and nobody waited for the copy"
    writer, reader = memory.writer[places], memory.reader[places]
    if ((writer != NOBODY) & (writer != owners)).any():
        return "race: reads what another thread wrote, without a barrier"
    memory.reader[places] = np.broadcast_to(owners, places.shape)
    alone = (reader == NOBODY) | (reader == owners)
    several = ~alone | (memory.reader[places] != owners)
    memory.reader[places[several]] = SEVERAL
    return None


def write_problem(access: Access) -> str | None:
    """What is wrong with writing shared memory that others may touch; notes who did."""
    memory, places, owners = access.memory, access.places, access.owners
    for touched, verb in ((memory.reader, "reads"), (memory.writer, "wrote")):
        if ((touched[places] != NOBODY) & (touched[places] != owners)).any():
            return f"race: writes what another thread {verb}, without a barrier"
    memory.writer[places] = np.broadcast_to(owners, places.shape)
    memory.hidden[places] = memory.writer[places]
    if (memory.writer[places] != owners).any():
        return "race: two threads write one element"
    return None


def count(report: Report, access: Access, block: int) -> None:
    """Count what an access by threads of a block of that size costs beyond its bytes."""
    memory, threads, width = access.memory, access.threads, access.width
    if not threads.size:
        return
    size = width * memory.element_bytes
    piece = min(size, WIDEST)
    rows = access.starts.reshape(len(threads), -1).T[:, None] * memory.element_bytes
    starts = rows + np.arange(0, size, piece)[:, None]
    starts = starts.reshape(-1, len(threads))
    numbers = np.arange(len(starts))[:, None] * block + threads
    if memory.is_shared:
        lanes = min(WARP, WARP * WORD // piece)
        report.bank_conflicts += conflicts(numbers // lanes, starts, piece)
    else:
        report.uncoalesced_sectors += excess_sectors(numbers // WARP, starts, piece)


def conflicts(turns: Array, starts: Array, size: int) -> int:
    """The turns beyond the first of lanes that read different words of one bank."""
    words = starts[..., None] // WORD + np.arange(max(1, size // WORD))
    keys = np.unique((turns[..., None] << 32) + words)
    _, turn = np.unique(keys >> 32, return_inverse=True)
    counts = np.bincount(turn * BANKS + keys % BANKS, minlength=(turn[-1] + 1) * BANKS)
    return int((counts.reshape(-1, BANKS).max(1) - 1).sum())


def excess_sectors(warps: Array, starts: Array, size: int) -> int:
    """The sectors that warps touch beyond those that their bytes would fill."""
    pieces, sectors = (
        np.unique(np.unique((warps << 40) + at) >> 40, return_counts=True)[1]
        for at in (starts, starts // SECTOR)
    )
    return int(np.maximum(0, sectors - -(-pieces * size // SECTOR)).sum())
