"""Places every buffer in one arena (Glow's static memory allocation).

Packing intervals into the least memory is NP-hard in general, but networks are easy:
placing buffers greedily in a few orders, each at the lowest offset that is free for its
whole life, almost always reaches the largest live set, which no plan can beat. Where none
does, the buffer that sticks out goes to the front of the order, a few times (a "squeaky
wheel" search). The best plan is kept; the search stops when the bound is reached.

    %a = instr.alloc : memref<16xf32>           %a = instr.alloc offset 0 : ...
    %b = instr.alloc : memref<16xf32>     ->    %b = instr.alloc offset 64 : ...

The function gets `glow.arena_bytes` and `glow.live_bytes` (the bound).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from math import isqrt

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.dialects.attributes import int_attr
from glow.passes.instr.buffers import Lifetime, lifetimes, live_bound

ARENA_BYTES = "glow.arena_bytes"
LIVE_BYTES = "glow.live_bytes"

Offsets = dict[Lifetime, int]
Placed = tuple[int, int, int, int]
"""Offset, end offset, first and last position of a placed buffer."""

_ORDERS: Sequence[Callable[[Lifetime], tuple[int, ...]]] = (
    lambda buffer: (-buffer.size, buffer.start),
    lambda buffer: (-buffer.size * (buffer.end - buffer.start + 1), buffer.start),
    lambda buffer: (buffer.start, -buffer.size),
    lambda buffer: (buffer.start - buffer.end, -buffer.size),
    lambda buffer: (-buffer.end, -buffer.size),
)


IMPROVEMENTS = 8
"""So often an order is improved."""


def place(buffers: Sequence[Lifetime]) -> Offsets:
    """Offsets by placing each buffer in turn at the lowest free place."""
    placed = PlacedBuffers(buffers)
    return {buffer: placed.add(buffer) for buffer in buffers}


class PlacedBuffers:
    """Buffers with their offsets, by the spans of time that they are alive in.

    The positions are cut into about sqrt(n) spans, so that placing one buffer looks only
    at those that may be alive at the same time.
    """

    def __init__(self, buffers: Sequence[Lifetime]) -> None:
        count = max(isqrt(len(buffers)), 1)
        last = max((buffer.end for buffer in buffers), default=0)
        self.length = last // count + 1
        self.spans: list[list[Placed]] = [[] for _ in range(count + 1)]

    def add(self, buffer: Lifetime) -> int:
        """Place one more buffer; returns its offset."""
        offset = 0
        for placed_offset, end in self._alive_with(buffer):
            if offset + buffer.size <= placed_offset:
                break
            offset = max(offset, end)
        item = (offset, offset + buffer.size, buffer.start, buffer.end)
        for span in self._spans_of(buffer):
            insort(span, item)
        return offset

    def _spans_of(self, buffer: Lifetime) -> Sequence[list[Placed]]:
        first, last = buffer.start // self.length, buffer.end // self.length
        return self.spans[first : last + 1]

    def _alive_with(self, buffer: Lifetime) -> Iterable[tuple[int, int]]:
        """Offset and end of the buffers alive together with this one, ascending."""
        start, end = buffer.start, buffer.end
        spans = self._spans_of(buffer)
        found = (
            (placed[0], placed[1])
            for placed in (spans[0] if len(spans) == 1 else merge(*spans))
            if placed[2] <= end and start <= placed[3]
        )
        return found


def arena_size(offsets: Offsets) -> int:
    """The bytes that a placement needs."""
    return max((offset + buffer.size for buffer, offset in offsets.items()), default=0)


def plan(buffers: Sequence[Lifetime]) -> Offsets:
    """The best placement of several orders; optimal when it meets the live bound."""
    bound = live_bound(list(buffers))
    best: Offsets = {}
    for offsets in _candidates(buffers):
        if not best or arena_size(offsets) < arena_size(best):
            best = offsets
        if arena_size(best) == bound:
            break
    return best


def _candidates(buffers: Sequence[Lifetime]) -> Iterator[Offsets]:
    """Placements in all orders, then in improved ones."""
    orders = [sorted(buffers, key=key) for key in _ORDERS]
    for order in orders:
        yield place(order)
    for order in orders:
        for _ in range(IMPROVEMENTS if order else 0):
            offsets = place(order)
            yield offsets
            highest = max(offsets, key=lambda buffer: offsets[buffer] + buffer.size)
            order.remove(highest)
            order.insert(0, highest)


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Give each `instr.alloc` its offset in the function's arena."""

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan each function on its own."""
        for function in op.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                buffers = lifetimes(function.body.block)
                offsets = plan(buffers)
                for buffer, offset in offsets.items():
                    buffer.alloc.properties["offset"] = int_attr(offset)
                function.attributes[ARENA_BYTES] = int_attr(arena_size(offsets))
                function.attributes[LIVE_BYTES] = int_attr(live_bound(buffers))
