"""Facts about buffers that the instruction passes share: roots, sizes, lifetimes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Block, SSAValue

from glow.dialects import instr
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of

ALIGNMENT = 64
"""Buffers start on cache lines, which are also the widest vectors."""


def root_of(buffer: SSAValue) -> SSAValue:
    """The allocation, argument or weight behind a view."""
    owner = buffer.owner
    while isinstance(owner, instr.TensorviewOp | instr.DynamicViewOp):
        buffer = owner.source
        owner = buffer.owner
    return buffer


def item_size(buffer: SSAValue | Attribute) -> int:
    """The bytes of an element."""
    return dtype_of(element_of(buffer)).itemsize


def byte_size(buffer: SSAValue | Attribute) -> int:
    """The bytes of a buffer, not rounded."""
    return prod(shape_of(buffer)) * item_size(buffer)


def aligned(size: int) -> int:
    """The size rounded up to the alignment, at least one line."""
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` aligned bytes, alive in positions [start, end]."""

    alloc: instr.AllocOp
    size: int
    start: int
    end: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both buffers are alive at some position."""
        return self.start <= other.end and other.start <= self.end


def lifetimes(block: Block) -> list[Lifetime]:
    """The lifetimes of a block's allocations by operation number.

    A buffer without a dealloc lives to the end of the block.
    """
    starts: dict[SSAValue, tuple[instr.AllocOp, int]] = {}
    found: list[Lifetime] = []
    last = 0
    for last, op in enumerate(block.ops):
        if isinstance(op, instr.AllocOp):
            starts[op.result] = (op, last)
        elif isinstance(op, instr.DeallocOp) and op.buffer in starts:
            alloc, start = starts.pop(op.buffer)
            found.append(Lifetime(alloc, aligned(byte_size(alloc.result)), start, last))
    found.extend(
        Lifetime(alloc, aligned(byte_size(alloc.result)), start, last)
        for alloc, start in starts.values()
    )
    return sorted(found, key=lambda lifetime: lifetime.start)


def live_bound(found: list[Lifetime]) -> int:
    """The largest number of bytes alive at once: no arena can be smaller."""
    changes: dict[int, int] = {}
    for lifetime in found:
        changes[lifetime.start] = changes.get(lifetime.start, 0) + lifetime.size
        changes[lifetime.end + 1] = changes.get(lifetime.end + 1, 0) - lifetime.size
    peak = live = 0
    for position in sorted(changes):
        live += changes[position]
        peak = max(peak, live)
    return peak
