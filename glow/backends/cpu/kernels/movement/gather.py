"""Gathers: ONNX Gather and GatherElements, and tables of functions.

Indices come from the user's data, so they are made safe: negative ones count from the end, and
whatever still lies outside is clamped, so that no index can make the kernel read outside its
buffer. Such an index is an error all the same: the kernel notes it in a byte, at which the
runtime looks once a call. A branch that is never taken costs nothing next to the load of what
the index names.

Where there is an entry for each value of a narrow index, as in the table of a function, all
indices are inside, and a negative one is what its bits are without a sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects.builtin import MemRefType, f32, i8, i64
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.reduction.reduce import visit_segments
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import for_each_vector, segments
from glow.lowering.target.features import looks_up_bytes
from glow.lowering.target.target import Target

INDEX_BITS = 64

BYTE_BITS = 8

MANY_ROWS = 64
"""From so many rows of single elements on, a row is a work item."""


@dataclass(frozen=True)
class GatherSpec:
    """out [outer, count, inner] = data [outer, extent, inner] at indices [count].

    Arguments of the kernel: out, data, indices, and the byte of errors if there is one.
    """

    outer: int
    extent: int
    inner: int
    count: int
    element: Attribute = f32
    index: Attribute = i64
    unsigned: bool = False
    """Whether indices have no sign."""
    reports: bool = False
    """Whether the kernel notes indices that are outside."""
    inside: bool = False
    """Whether all indices are known to be in [0, extent)."""


@dataclass(frozen=True)
class RepeatSpec:
    """out [outer, extent * count] = each element of data [outer, extent] `count` times.

    Arguments of the kernel: out, data.
    """

    outer: int
    extent: int
    count: int
    element: Attribute = f32


@dataclass(frozen=True)
class GatherElementsSpec:
    """out[.., i, ..] = data[.., indices[.., i, ..], ..], of the shape of indices.

    Arguments of the kernel: out, data, indices, and the byte of errors if there is one.
    """

    data_shape: tuple[int, ...]
    index_shape: tuple[int, ...]
    axis: int
    element: Attribute = f32
    index: Attribute = i64
    unsigned: bool = False
    reports: bool = False


def safe_index(
    builder: LoopBuilder,
    value: SSAValue,
    extent: int,
    errors: Sequence[SSAValue] = (),
    *,
    unsigned: bool,
) -> Index:
    """An index read from memory as a position in [0, extent).

    One that is outside is noted in the byte of errors, if there is one.
    """
    bits = types.bit_width(value.type)
    if bits < INDEX_BITS and (unsigned or is_whole_table(value.type, extent)):
        value = builder.cast(arith.ExtUIOp, value, i64)
    index = builder.value(arith.IndexCastOp, (value,), types.INDEX)
    if is_whole_table(value.type, extent):
        return index
    wrapped = builder.add(index, extent)
    negative = builder.compare("slt", index, 0)
    position = builder.select_index(negative, wrapped, index)
    if errors:
        note = builder.constant(1, i8)
        is_outside = builder.compare("uge", position, extent)
        builder.if_(is_outside, lambda: builder.store(note, errors[0], 0))
    return builder.clamp(position, 0, extent - 1)


def is_whole_table(index: Attribute, extent: int) -> bool:
    """Whether there is an entry for each value of an index, so that none is outside."""
    return extent == 1 << types.bit_width(index)


def error_types(reports: bool) -> list[MemRefType]:
    """The type of the argument for errors, if the kernel has one."""
    return [types.memref_type((1,), i8)] if reports else []


def is_byte_table(spec: GatherSpec) -> bool:
    """Whether the table of a function of bytes is asked."""
    bits = types.bit_width(spec.element), types.bit_width(spec.index)
    is_whole = is_whole_table(spec.index, spec.extent)
    return bits == (BYTE_BITS, BYTE_BITS) and is_whole and spec.outer == spec.inner == 1


def build_gather(spec: GatherSpec, target: Target, name: str = "gather") -> Kernel:
    """The kernel f(out, data, indices, lo, hi)."""
    if looks_up_bytes(target) and is_byte_table(spec):
        return _build_byte_table(spec, target, name)
    builder = LoopBuilder(target)
    by_row = spec.inner == 1 and spec.outer >= MANY_ROWS
    space = [spec.outer, 1 if by_row else spec.count]
    buffers = [
        types.memref_type((spec.outer, spec.count, spec.inner), spec.element),
        types.memref_type((spec.outer, spec.extent, spec.inner), spec.element),
        types.memref_type((spec.count,), spec.index),
        *error_types(spec.reports),
    ]
    _check_extent(spec.extent, spec.outer * spec.count)

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, data, indices, *errors = memrefs

        def place_of(k: Index) -> Index:
            index = builder.load(indices, k)
            if spec.inside:
                return builder.value(arith.IndexCastOp, (index,), types.INDEX)
            return safe_index(
                builder, index, spec.extent, errors, unsigned=spec.unsigned
            )

        def element(outer: Index, k: Index) -> None:
            value = builder.load(data, outer, place_of(k), 0)
            builder.store(value, out, outer, k, 0)

        def run(coordinates: list[Index]) -> None:
            outer, k = coordinates
            if by_row:
                builder.loop(0, spec.count, 1, lambda each: element(outer, each))
                return
            place = place_of(k)

            def move(position: Index, length: int) -> None:
                value = builder.vector_load(length, data, outer, place, position)
                builder.vector_store(value, out, outer, k, position)

            lanes = target.lanes(types.bit_width(spec.element))
            for_each_vector(builder, spec.inner, lanes, move)

        builder.space(low, high, space, run)

    return Kernel(builder.function(name, buffers, body), prod(space))


def _build_byte_table(spec: GatherSpec, target: Target, name: str) -> Kernel:
    """The same by vectors of bytes."""
    builder = LoopBuilder(target)
    parts = segments(spec.count, target.lanes(BYTE_BITS))
    counts = [(part.stop - part.start) // part.length for part in parts]
    buffers = [
        types.memref_type((spec.count,), spec.element),
        types.memref_type((spec.extent,), spec.element),
        types.memref_type((spec.count,), spec.index),
    ]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, table, indices = memrefs

        def look_up(position: Index, length: int) -> None:
            places = builder.vector_load(length, indices, position)
            found = builder.look_up(table, places)
            builder.vector_store(found, out, position)

        def unit(number: Index) -> None:
            visit_segments(builder, parts, number, look_up)

        builder.loop(low, high, 1, unit)

    return Kernel(builder.function(name, buffers, body), sum(counts))


def build_repeat(spec: RepeatSpec, target: Target, name: str = "repeat") -> Kernel:
    """The kernel f(out, data, lo, hi): a vector becomes several, by shuffles."""
    builder = LoopBuilder(target)
    lanes = target.lanes(types.bit_width(spec.element))
    buffers = [
        types.memref_type((spec.outer, spec.extent * spec.count), spec.element),
        types.memref_type((spec.outer, spec.extent), spec.element),
    ]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, data = memrefs

        def row(outer: Index) -> None:
            def move(position: Index, length: int) -> None:
                value = builder.vector_load(length, data, outer, position)
                first = builder.mul(position, spec.count)
                for part in range(0, spec.count * length, length):
                    chosen = [k // spec.count for k in range(part, part + length)]
                    repeated = builder.shuffle(value, value, chosen)
                    builder.vector_store(repeated, out, outer, builder.add(first, part))

            for segment in segments(spec.extent, lanes, registers=1):
                builder.loop(
                    segment.start,
                    segment.stop,
                    segment.length,
                    partial(move, length=segment.length),
                )

        builder.loop(low, high, 1, row)

    return Kernel(builder.function(name, buffers, body), spec.outer)


def build_gather_elements(
    spec: GatherElementsSpec, target: Target, name: str = "gather_elements"
) -> Kernel:
    """The kernel f(out, data, indices, lo, hi)."""
    builder = LoopBuilder(target)
    *outer, last = spec.index_shape
    buffers = [
        types.memref_type(spec.index_shape, spec.element),
        types.memref_type(spec.data_shape, spec.element),
        types.memref_type(spec.index_shape, spec.index),
        *error_types(spec.reports),
    ]
    extent = spec.data_shape[spec.axis]
    _check_extent(extent, prod(spec.index_shape))

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, data, indices, *errors = memrefs

        def row(coordinates: list[Index]) -> None:
            def element(k: Index) -> None:
                where = [*coordinates, k]
                places = list(where)
                index = builder.load(indices, *where)
                places[spec.axis] = safe_index(
                    builder, index, extent, errors, unsigned=spec.unsigned
                )
                builder.store(builder.load(data, *places), out, *where)

            builder.loop(0, last, 1, element)

        builder.space(low, high, outer, row)

    return Kernel(builder.function(name, buffers, body), prod(outer))


def _check_extent(extent: int, count: int) -> None:
    if extent == 0 and count > 0:
        raise ValueError("cannot gather elements of an empty axis")
