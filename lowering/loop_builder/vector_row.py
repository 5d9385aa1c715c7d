"""Passes over one contiguous run of elements in vectors: maps and folds.

A run is cut into vectors of four registers, single registers and one short vector. A fold
keeps one accumulator per kind of vector, so the result does not depend on where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

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


def segments(extent: int, lanes: int, registers: int = REGISTERS) -> list[Segment]:
    """The run [0, extent) as wide vectors, registers, and a short vector."""
    wide = registers * lanes
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


@dataclass(frozen=True)
class Fold:
    """A fold of a run; `kind` is the vector.reduction that `combine` matches."""

    combine: Combine
    kind: str
    identity: float


def fold_vectors(
    builder: LoopBuilder,
    part: Segment,
    accumulators: Sequence[SSAValue],
    read: Read,
    folds: Sequence[Fold],
) -> Sequence[SSAValue]:
    """The accumulators after all vectors of one segment."""

    def body(position: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        value = read(position, part.length)
        pairs = zip(folds, carried, strict=True)
        return [fold.combine(builder, total, value) for fold, total in pairs]

    return builder.carry(part.start, part.stop, part.length, accumulators, body)


def fold_row(
    builder: LoopBuilder,
    extent: int,
    element: Attribute,
    read: Read,
    fold: Fold,
) -> SSAValue:
    """The scalar fold of a run."""
    return fold_row_by(builder, extent, element, read, [fold])[0]


def fold_row_by(
    builder: LoopBuilder,
    extent: int,
    element: Attribute,
    read: Read,
    folds: Sequence[Fold],
) -> list[SSAValue]:
    """Scalar folds of a run that is read once."""
    lanes = builder.target.lanes(types.bit_width(element))
    totals: list[list[SSAValue]] = []
    for part in segments(extent, lanes):
        vector = types.vector_type((part.length,), element)
        starts = [builder.constant(fold.identity, vector) for fold in folds]
        found = fold_vectors(builder, part, starts, read, folds)
        pairs = zip(folds, found, strict=True)
        totals.append([reduce_vector(builder, fold.kind, x) for fold, x in pairs])
    result = totals[0]
    for more in totals[1:]:
        triples = zip(folds, result, more, strict=True)
        result = [fold.combine(builder, a, b) for fold, a, b in triples]
    return result


def no_work(_buffers: Sequence[SSAValue], _low: Index, _high: Index) -> None:
    """The body of a kernel without elements."""


def reduce_vector(builder: LoopBuilder, kind: str, value: SSAValue) -> SSAValue:
    """The scalar reduction of a vector in a fixed order of pairs."""
    if types.shape_of(value) == (1,):
        return builder.extract(value, 0)
    fast_math = ("reassoc",) if kind in ("add", "mul") else ()
    return builder.reduction(kind, value, fast_math)
