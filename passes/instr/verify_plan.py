"""Proves a memory plan: no two buffers that are alive together share a byte.

One sweep over the lives in the order of their starts keeps the places of those alive, sorted
by offset. A new one can only overlap its neighbours there, so that the proof takes n log n
steps for n buffers. The arena and the live set that the function states are checked as well.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.utils.hints import isa

from glow.dialects.function_attributes import ARENA_BYTES, LIVE_BYTES
from glow.passes.instr.lifetimes import Lifetime, fail
from glow.passes.instr.packing.interval_packing import live_bound

Span = tuple[int, int]
"""The bytes [first, end) of the arena that a buffer takes."""


def verify_plan(function: func.FuncOp, lives: Sequence[Lifetime]) -> None:
    """Raise GlowError for a plan that is not one; `lives` in the order of their starts.

    A function whose allocations have no places has no plan to be proven.
    """
    placed = [life for life in lives if life.alloc.offset is not None]
    if not placed and ARENA_BYTES not in function.attributes:
        return
    if len(placed) < len(lives):
        missing = next(life for life in lives if life.alloc.offset is None)
        fail(missing.alloc, "has no place in the arena, which others have")
    _check_sizes(function, lives)
    _check_overlaps(placed)


def span_of(life: Lifetime) -> Span:
    """The bytes of the arena that a placed buffer takes."""
    assert life.alloc.offset is not None
    first = life.alloc.offset.value.data
    return first, first + life.size


def _check_sizes(function: func.FuncOp, lives: Sequence[Lifetime]) -> None:
    """All buffers lie in the arena, and what must be alive is what the function says."""
    arena = _stated(function, ARENA_BYTES)
    for life in lives:
        end = span_of(life)[1]
        if arena is not None and end > arena:
            rule = f"ends at byte {end} of the arena, which has {arena}"
            fail(life.alloc, rule)
    live = _stated(function, LIVE_BYTES)
    if live is not None and live != live_bound(lives):
        rule = (
            f"{LIVE_BYTES} is {live}, but {live_bound(lives)} bytes are alive at once"
        )
        fail(function, rule)


def _stated(function: func.FuncOp, name: str) -> int | None:
    """The number of bytes that an attribute states."""
    attribute = function.attributes.get(name)
    if attribute is None:
        return None
    if not isa(attribute, IntegerAttr):
        fail(function, f"{name} must be a number of bytes, not {attribute}")
    return attribute.value.data


def _check_overlaps(lives: Sequence[Lifetime]) -> None:
    alive: list[tuple[Span, int]] = []
    ends: list[tuple[int, int]] = []
    for number, life in enumerate(lives):
        while ends and ends[0][0] < life.start:
            gone = heappop(ends)[1]
            del alive[bisect_left(alive, (span_of(lives[gone]), gone))]
        span = span_of(life)
        at = bisect_left(alive, (span, number))
        for (first, end), other in alive[max(at - 1, 0) : at + 1]:
            if first < span[1] and span[0] < end:
                start = lives[other].start + 1
                fail(
                    life.alloc,
                    f"takes bytes [{span[0]}, {span[1]}) of the arena, of which the buffer "
                    f"of operation {start}, still alive, has [{first}, {end})",
                )
        insort(alive, (span, number))
        heappush(ends, (life.end, number))
