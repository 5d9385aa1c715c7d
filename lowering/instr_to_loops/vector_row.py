"""Passes over one contiguous run of elements in vectors: maps and folds.

A run is cut into vectors of four registers, single registers and one short vector. A fold
keeps one accumulator per kind of vector, so the result does not depend on where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder

REGISTERS = 4

Read = Callable[[Index, int], SSAValue]
"""Takes a position and a length; returns the vector there."""

VectorBody = Callable[[Index, int], None]
"""Takes a position and a length; does its work on the vector there."""

Combine = Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]


@dataclass(frozen=True)
class Segment:
    """Positions [start, stop) in steps of vectors of one length."""

    start: int
    stop: int
    length: int


def segments(extent: int, lanes: int) -> list[Segment]:
    """The run [0, extent) as wide vectors, registers, and a short vector."""
    wide = REGISTERS * lanes
    ends = [extent - extent % wide, extent - extent % lanes, extent]
    lengths = [wide, lanes, extent % lanes]
    starts = [0, *ends]
    return [
        Segment(start, stop, length)
        for start, stop, length in zip(starts, ends, lengths, strict=False)
        if start < stop
    ]


def for_each_vector(
    builder: LoopBuilder, extent: int, lanes: int, body: VectorBody
) -> None:
    """Runs body(position, length) over the run."""
    for part in segments(extent, lanes):
        builder.loop(
            part.start,
            part.stop,
            part.length,
            lambda position, length=part.length: body(position, length),
        )


def fold_vectors(
    builder: LoopBuilder,
    part: Segment,
    accumulator: SSAValue,
    read: Read,
    combine: Combine,
) -> SSAValue:
    """The accumulator after all vectors of one segment."""

    def body(position: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [combine(builder, carried[0], read(position, part.length))]

    return builder.carry(part.start, part.stop, part.length, [accumulator], body)[0]


def fold_row(
    builder: LoopBuilder,
    extent: int,
    element: Attribute,
    read: Read,
    combine: Combine,
    kind: str,
    identity: float,
) -> SSAValue:
    """The scalar fold of a run; `kind` is the vector.reduction that `combine` matches."""
    lanes = builder.target.lanes(types.bit_width(element))
    totals: list[SSAValue] = []
    for part in segments(extent, lanes):
        start = builder.constant(identity, types.vector_type((part.length,), element))
        total = fold_vectors(builder, part, start, read, combine)
        totals.append(reduce_vector(builder, kind, total))
    result = totals[0]
    for total in totals[1:]:
        result = combine(builder, result, total)
    return result


def no_work(_buffers: Sequence[SSAValue], _low: Index, _high: Index) -> None:
    """The body of a kernel without elements."""


def reduce_vector(builder: LoopBuilder, kind: str, value: SSAValue) -> SSAValue:
    """The scalar reduction of a vector in a fixed order of pairs."""
    if types.shape_of(value) == (1,):
        return builder.extract(value, 0)
    fast_math = ("reassoc",) if kind in ("add", "mul") else ()
    return builder.reduction(kind, value, fast_math)
