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

from glow.backends.cpu.kernels.elementwise.kernel import RowChunks
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Condition, Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import VectorBody, for_each_vector, no_work
from glow.lowering.target.target import Target

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


class _RowCopy:
    """Copies one row of a strided copy."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: CopySpec,
        memrefs: Sequence[SSAValue],
        steps: tuple[int, int],
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.out, self.source = memrefs
        self.in_step, self.out_step = steps
        self.start_in: Index = 0
        self.start_out: Index = 0

    def vector(self, position: Index, length: int) -> None:
        """Copies (or repeats) a run whose elements are neighbours in the output."""
        builder = self.builder
        if self.in_step == 0:
            value = builder.load(self.source, self.start_in)
            value = builder.broadcast(value, (length,))
        else:
            place = builder.add(self.start_in, position)
            value = builder.vector_load(length, self.source, place)
        builder.vector_store(value, self.out, builder.add(self.start_out, position))

    def element(self, position: Index) -> None:
        """Copies one element."""
        builder = self.builder
        place = builder.add(self.start_in, builder.mul(position, self.in_step))
        value = builder.load(self.source, place)
        place = builder.add(self.start_out, builder.mul(position, self.out_step))
        builder.store(value, self.out, place)


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
    space = [*outer, chunks.units if vectors else 1]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        row = _RowCopy(builder, spec, memrefs, (in_strides[-1], out_strides[-1]))

        def at(coordinates: list[Index]) -> None:
            *where, unit = coordinates
            row.start_in = _dot(builder, where, in_strides, spec.in_offset)
            row.start_out = _dot(builder, where, out_strides, spec.out_offset)
            if vectors:
                chunks.walk(builder, unit, 4 * lanes, lanes, row.vector)
            else:
                builder.loop(0, innermost, 1, row.element)

        builder.space(low, high, space, at)

    return Kernel(builder.function(name, buffers, body), prod(space))


def _dot(
    builder: LoopBuilder, where: Sequence[Index], strides: Sequence[int], offset: int
) -> Index:
    total: Index = offset
    for position, stride in zip(where, strides, strict=False):
        total = builder.add(total, builder.mul(position, stride))
    return total


class _RowPad:
    """Fills or copies one row of a padded output."""

    def __init__(
        self, builder: LoopBuilder, spec: PadSpec, memrefs: Sequence[SSAValue]
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.out, self.source = memrefs
        before, extent, after = spec.before[-1], spec.shape[-1], spec.after[-1]
        self.length = before + extent + after
        self.first = min(max(before, 0), self.length)
        self.last = max(self.first, min(before + extent, self.length))

    def write(self, coordinates: Sequence[Index]) -> None:
        """Writes the row at those coordinates of the output."""
        builder, spec = self.builder, self.spec
        shifted = zip(coordinates, spec.before, strict=False)
        places = [builder.sub(place, before) for place, before in shifted]

        def copy(position: Index, length: int) -> None:
            column = builder.sub(position, spec.before[-1])
            value = builder.vector_load(length, self.source, *places, column)
            builder.vector_store(value, self.out, *coordinates, position)

        def fill(position: Index, length: int) -> None:
            vector = types.vector_type((length,), spec.element)
            value = builder.constant(spec.value, vector)
            builder.vector_store(value, self.out, *coordinates, position)

        def inside() -> None:
            self._run(0, self.first, fill)
            self._run(self.first, self.last, copy)
            self._run(self.last, self.length, fill)

        def outside() -> None:
            self._run(0, self.length, fill)

        builder.if_(_inside(builder, spec, places), inside, outside)

    def _run(self, start: int, stop: int, write: VectorBody) -> None:
        builder = self.builder
        lanes = builder.target.lanes(types.bit_width(self.spec.element))

        def shifted(position: Index, length: int) -> None:
            write(builder.add(position, start), length)

        for_each_vector(builder, stop - start, lanes, shifted)


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

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        row = _RowPad(builder, spec, memrefs)
        builder.space(low, high, shape[:-1], row.write)

    return Kernel(builder.function(name, buffers, body), prod(shape[:-1]))


def _inside(builder: LoopBuilder, spec: PadSpec, places: Sequence[Index]) -> Condition:
    """Whether the input has a row at those coordinates."""
    condition: Condition = True
    for axis, place in enumerate(places):
        if spec.before[axis] > 0 or spec.after[axis] > 0:
            within = builder.compare("ult", place, spec.shape[axis])
            condition = builder.both(condition, within)
    return condition
