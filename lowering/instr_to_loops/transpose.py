"""Transpositions, strided copies and padding of elements of any width.

A transposition that keeps the innermost axis copies runs; one that moves it turns square blocks
of registers (loads along the old innermost axis, shuffles, stores along the new one), whose
last ones overlap. A strided copy has static offsets and steps on both sides: slices with any
step, the inserts of a concatenation, and expansion (a step of 0) are one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Condition, Index, LoopBuilder
from glow.lowering.instr_to_loops.elementwise import RowChunks
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.vector_row import VectorBody, for_each_vector, no_work
from glow.lowering.target import Target

_SMALLEST_SQUARE = 4


@dataclass(frozen=True)
class TransposeSpec:
    """out = in with axis k of out being axis permutation[k] of in, as in NumPy.

    Arguments of the kernel: out, in; different buffers.
    """

    shape: tuple[int, ...]
    permutation: tuple[int, ...]
    element: Attribute = f32


@dataclass(frozen=True)
class CopySpec:
    """out[out_offset + i . out_strides] = in[in_offset + i . in_strides] for i in `shape`.

    Strides and offsets in elements, of buffers of `out_size` and `in_size` elements; strides may
    be negative, those of the input 0. The rest of the output keeps its values.
    """

    shape: tuple[int, ...]
    in_strides: tuple[int, ...]
    out_strides: tuple[int, ...]
    in_size: int
    out_size: int
    in_offset: int = 0
    out_offset: int = 0
    element: Attribute = f32


@dataclass(frozen=True)
class PadSpec:
    """out = in [shape] with `before` and `after` elements of `value` around it.

    A negative amount crops.
    """

    shape: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    value: float = 0.0
    element: Attribute = f32


def merge_strided(
    shape: Sequence[int], *strides: Sequence[int]
) -> tuple[list[int], list[list[int]]]:
    """The shape and strides with neighbours merged where every operand allows it."""
    extents: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        steps = [operand[axis] for operand in strides]
        fits = all(
            operand[-1] == step * extent
            for operand, step in zip(merged, steps, strict=True)
            if operand
        )
        if extents and fits:
            extents[-1] *= extent
            for operand, step in zip(merged, steps, strict=True):
                operand[-1] = step
        else:
            extents.append(extent)
            for operand, step in zip(merged, steps, strict=True):
                operand.append(step)
    return (extents, merged) if extents else ([1], [[1] for _ in strides])


def build_transpose(
    spec: TransposeSpec, target: Target, name: str = "transpose"
) -> Kernel:
    """The kernel f(out, in, lo, hi)."""
    steps = types.row_major_strides(spec.shape)
    shape = tuple(spec.shape[axis] for axis in spec.permutation)
    in_strides = tuple(steps[axis] for axis in spec.permutation)
    out_strides = types.row_major_strides(shape)
    extents, (merged_in, _) = merge_strided(shape, in_strides, out_strides)
    side = _square_side(extents, merged_in, spec.element, target)
    if side < _SMALLEST_SQUARE or 0 in shape:
        size = prod(shape)
        copy = CopySpec(
            shape, in_strides, out_strides, size, size, element=spec.element
        )
        return build_copy(copy, target, name)
    return _build_squares(extents, merged_in, side, spec.element, target, name)


def _square_side(
    extents: Sequence[int], strides: Sequence[int], element: Attribute, target: Target
) -> int:
    """The side of the blocks to turn; 0 if the innermost axis stays."""
    if strides[-1] == 1:
        return 0
    rows = extents[strides.index(1)]
    lanes = target.lanes(max(32, types.bit_width(element)))
    limit = min(lanes, rows, extents[-1])
    return 1 << limit.bit_length() - 1


def _build_squares(
    extents: Sequence[int],
    strides: Sequence[int],
    side: int,
    element: Attribute,
    target: Target,
    name: str,
) -> Kernel:
    builder = LoopBuilder(target)
    turned, last = strides.index(1), len(extents) - 1
    tiles = list(extents[:last])
    tiles[turned] = -(-extents[turned] // side)
    dimensions = (turned, last)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = buffers
        source = builder.reinterpret(source, tuple(extents), tuple(strides))

        def strip(coordinates: list[Index]) -> None:
            row = builder.mul(coordinates[turned], side)
            if extents[turned] % side:
                row = builder.minimum(row, extents[turned] - side)
            coordinates[turned] = row

            def square(column: Index) -> None:
                where = [*coordinates, column]
                value = builder.transfer_read(source, where, (side, side), dimensions)
                builder.transfer_write(value, out, where, dimensions)

            builder.tiles(0, extents[last], side, square)

        builder.space(low, high, tiles, strip)

    buffers = [
        types.memref_type(tuple(extents), element),
        types.memref_type((prod(extents),), element),
    ]
    return Kernel(builder.function(name, buffers, body), prod(tiles))


def build_copy(spec: CopySpec, target: Target, name: str = "copy") -> Kernel:
    """The kernel f(out, in, lo, hi)."""
    builder = LoopBuilder(target)
    buffers = [
        types.memref_type((spec.out_size,), spec.element),
        types.memref_type((spec.in_size,), spec.element),
    ]
    if 0 in spec.shape:
        return Kernel(builder.function(name, buffers, no_work), 0)
    extents, (in_strides, out_strides) = merge_strided(
        spec.shape, spec.in_strides, spec.out_strides
    )
    vectors = out_strides[-1] == 1 and in_strides[-1] in (0, 1)
    *outer, innermost = extents
    lanes = target.lanes(types.bit_width(spec.element))
    chunks = RowChunks(innermost, prod(outer), 4 * lanes)
    units = chunks.units if vectors else 1
    space = [*outer, units]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = memrefs

        def row(coordinates: list[Index]) -> None:
            *where, unit = coordinates
            start_in = _dot(builder, where, in_strides, spec.in_offset)
            start_out = _dot(builder, where, out_strides, spec.out_offset)

            def move(position: Index, length: int) -> None:
                if in_strides[-1] == 0:
                    value = builder.load(source, start_in)
                    value = builder.broadcast(value, (length,))
                else:
                    place = builder.add(start_in, position)
                    value = builder.vector_load(length, source, place)
                builder.vector_store(value, out, builder.add(start_out, position))

            def move_element(position: Index) -> None:
                place = builder.add(start_in, builder.mul(position, in_strides[-1]))
                value = builder.load(source, place)
                place = builder.add(start_out, builder.mul(position, out_strides[-1]))
                builder.store(value, out, place)

            if vectors:
                chunks.walk(builder, unit, 4 * lanes, lanes, move)
            else:
                builder.loop(0, innermost, 1, move_element)

        builder.space(low, high, space, row)

    return Kernel(builder.function(name, buffers, body), prod(space))


def _dot(
    builder: LoopBuilder, where: Sequence[Index], strides: Sequence[int], offset: int
) -> Index:
    total: Index = offset
    for position, stride in zip(where, strides, strict=False):
        total = builder.add(total, builder.mul(position, stride))
    return total


def build_pad(spec: PadSpec, target: Target, name: str = "pad") -> Kernel:
    """The kernel f(out, in, lo, hi): each row of the output is filled or copied."""
    builder = LoopBuilder(target)
    ends = zip(spec.shape, spec.before, spec.after, strict=True)
    shape = tuple(extent + before + after for extent, before, after in ends)
    buffers: list[MemRefType] = [
        types.memref_type(shape, spec.element),
        types.memref_type(spec.shape, spec.element),
    ]
    if 0 in shape:
        return Kernel(builder.function(name, buffers, no_work), 0)
    *outer, innermost = shape
    lanes = target.lanes(types.bit_width(spec.element))

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = memrefs

        def run(start: int, stop: int, write: VectorBody) -> None:
            for_each_vector(
                builder,
                max(0, stop - start),
                lanes,
                lambda position, length: write(builder.add(position, start), length),
            )

        def row(coordinates: list[Index]) -> None:
            def fill(position: Index, length: int) -> None:
                vector = types.vector_type((length,), spec.element)
                value = builder.constant(spec.value, vector)
                builder.vector_store(value, out, *coordinates, position)

            shifted = zip(coordinates, spec.before, strict=False)
            places = [builder.sub(place, before) for place, before in shifted]

            def copy(position: Index, length: int) -> None:
                column = builder.sub(position, spec.before[-1])
                value = builder.vector_load(length, source, *places, column)
                builder.vector_store(value, out, *coordinates, position)

            first = min(max(spec.before[-1], 0), innermost)
            last = max(first, min(spec.before[-1] + spec.shape[-1], innermost))

            def inside() -> None:
                run(0, first, fill)
                run(first, last, copy)
                run(last, innermost, fill)

            builder.if_(
                _inside(builder, spec, places), inside, lambda: run(0, innermost, fill)
            )

        builder.space(low, high, outer, row)

    return Kernel(builder.function(name, buffers, body), prod(outer))


def _inside(builder: LoopBuilder, spec: PadSpec, places: Sequence[Index]) -> Condition:
    """Whether the input has a row at those coordinates."""
    condition: Condition = True
    for axis, place in enumerate(places):
        if spec.before[axis] > 0 or spec.after[axis] > 0:
            within = builder.compare("ult", place, spec.shape[axis])
            condition = builder.both(condition, within)
    return condition
