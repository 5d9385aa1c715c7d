"""Fused element-wise work over buffers that broadcast as in NumPy.

Dimensions that every operand walks alike are merged first, so that most kernels are one or two
loops. The innermost one handles vectors of four registers, which LLVM splits into independent
chains, then single registers, then one short vector: no masks, no scalar loop. Rows of a
register, as the lanes of channel blocks are when an operand has a number for each channel, are
taken four at a time for the same chains. Nothing is computed twice, so an output may be one of
the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, i1, i8
from xdsl.ir import Attribute, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.loop_builder.vector_row import VectorBody, no_work
from glow.lowering.loop_builder.work_items import WorkItems
from glow.lowering.target.target import Target

BLOCKED_RANK = 5
"""Tensors of channel blocks, [N, C / lanes, H, W, lanes]: threads share their planes as they
do in convolutions, so that they read what they wrote."""

REGISTERS_PER_VECTOR = 4
WANTED_WORK_ITEMS = 64
"""Enough work items for any thread count; fewer and longer ones cost less."""
SHORTEST_CHUNK = 1024
"""Shorter runs cost more to start than a second thread could save."""


@dataclass(frozen=True)
class ElementwiseSpec:
    """out... = region(in...): every output has `shape`, inputs broadcast to it.

    Element types are those of the region; i1 is stored as one byte.
    """

    shape: tuple[int, ...]
    input_shapes: tuple[tuple[int, ...], ...]
    region: ScalarRegion


@dataclass(frozen=True)
class Space:
    """An iteration space with merged dimensions, and which of them each operand walks.

    `extents` has at least one dimension; `walks[k]` lists the dimensions of operand k, whose
    buffer is dense over them.
    """

    extents: tuple[int, ...]
    walks: tuple[tuple[int, ...], ...]
    borders: tuple[int, ...] = ()
    """The dimensions that begin where the merging had to stop."""

    def buffer_shape(self, operand: int) -> tuple[int, ...]:
        """The shape of an operand's buffer over the merged dimensions; (1,) of a scalar."""
        return tuple(self.extents[axis] for axis in self.walks[operand]) or (1,)


def merge_dimensions(
    shape: Sequence[int],
    operand_shapes: Sequence[Sequence[int]],
    borders: Sequence[int] = (),
) -> Space:
    """The space of a shape with neighbours merged where all operands repeat or walk alike.

    An axis in `borders` is not merged with those before it.
    """
    padded = [(1,) * (len(shape) - len(s)) + tuple(s) for s in operand_shapes]
    extents: list[int] = []
    patterns: list[tuple[bool, ...]] = []
    starts: list[int] = []
    for axis, extent in enumerate(shape):
        if axis in borders:
            starts.append(len(extents))
        if extent == 1:
            continue
        pattern = tuple(operand[axis] != 1 for operand in padded)
        if patterns and patterns[-1] == pattern and len(extents) not in starts:
            extents[-1] *= extent
        else:
            extents.append(extent)
            patterns.append(pattern)
    if not extents:
        return Space((1,), tuple((0,) for _ in padded))
    walks = tuple(
        tuple(axis for axis, pattern in enumerate(patterns) if pattern[k])
        for k in range(len(padded))
    )
    return Space(tuple(extents), walks, tuple(starts))


def stored(builder: LoopBuilder, value: SSAValue) -> SSAValue:
    """A value as memory holds it."""
    if types.element_of(value) != i1:
        return value
    return builder.cast(arith.ExtUIOp, value, i8)


def loaded(builder: LoopBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """A value read from memory as the region takes it."""
    if element != i1:
        return value
    return builder.cmpi("ne", value, builder.like(0, value))


class RowChunks:
    """How the innermost dimension is cut into work items: units of `chunk` elements."""

    def __init__(self, extent: int, outer: int, wide: int) -> None:
        self.extent = extent
        self.full = extent - extent % wide
        self.chunk = extent
        if outer < WANTED_WORK_ITEMS and self.full > wide:
            wanted = -(-extent // -(-WANTED_WORK_ITEMS // outer))
            wanted = max(wanted, min(SHORTEST_CHUNK, extent))
            self.chunk = -(-wanted // wide) * wide
        self.units = max(1, -(-extent // self.chunk))

    def walk(
        self, builder: LoopBuilder, unit: Index, wide: int, lanes: int, body: VectorBody
    ) -> None:
        """Runs body(position, length) over the unit; tails belong to the last one."""
        start = builder.mul(unit, self.chunk)
        end = builder.minimum(builder.add(start, self.chunk), self.full)
        if self.full:
            builder.loop(start, end, wide, lambda position: body(position, wide))
        last = builder.compare("eq", unit, self.units - 1)
        builder.if_(last, lambda: self._tails(builder, lanes, body))

    def _tails(self, builder: LoopBuilder, lanes: int, body: VectorBody) -> None:
        whole = self.extent - self.extent % lanes
        builder.loop(self.full, whole, lanes, lambda position: body(position, lanes))
        if whole < self.extent:
            body(whole, self.extent - whole)


class _VectorWork:
    """Reads, computes and stores vectors: pieces of one row, or rows of a register."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: ElementwiseSpec,
        space: Space,
        buffers: Sequence[SSAValue],
    ) -> None:
        self.builder = builder
        self.region = spec.region
        self.space = space
        self.buffers = buffers
        self.outputs = len(buffers) - len(spec.input_shapes)

    def row(self, coordinates: Sequence[Index]) -> VectorBody:
        """The work on pieces of the row there; reads of repeated inputs happen once a row."""
        builder, innermost = self.builder, len(coordinates)
        repeated = {
            k: builder.load(self.buffers[k], *self._indices(k, (*coordinates, 0)))
            for k in range(self.outputs, len(self.buffers))
            if innermost not in self.space.walks[k]
        }

        def piece(position: Index, length: int) -> None:
            where = (*coordinates, position)

            def read(operand: int) -> SSAValue:
                if operand in repeated:
                    return builder.broadcast(repeated[operand], (length,))
                indices = self._indices(operand, where)
                return builder.vector_load(length, self.buffers[operand], *indices)

            for k, result in self._results(read, (length,)):
                indices = self._indices(k, where)
                builder.vector_store(result, self.buffers[k], *indices)

        return piece

    def rows(self, coordinates: Sequence[Index], count: int) -> None:
        """The work on neighbouring rows from there on, each whole."""
        last, where = len(coordinates), (*coordinates, 0)
        shape, tile = (count, self.space.extents[-1]), (last - 1, last)

        def read(operand: int) -> SSAValue:
            walk, buffer = self.space.walks[operand], self.buffers[operand]
            dimensions = tuple(walk.index(k) if k in walk else None for k in tile)
            indices = self._indices(operand, where)
            return self.builder.transfer_read(buffer, indices, shape, dimensions)

        for k, result in self._results(read, shape):
            self.builder.transfer_write(result, self.buffers[k], where, tile)

    def _results(
        self, read: Callable[[int], SSAValue], shape: tuple[int, ...]
    ) -> Iterator[tuple[int, SSAValue]]:
        """The number of each output, and what memory is to hold there."""
        builder = self.builder
        values = [
            loaded(builder, read(k), element)
            for k, element in enumerate(self.region.input_types, self.outputs)
        ]
        results = self.region.instantiate_at(builder, values, shape)
        for k, result in enumerate(results):
            yield k, stored(builder, result)

    def _indices(self, operand: int, where: Sequence[Index]) -> list[Index]:
        return [where[axis] for axis in self.space.walks[operand]] or [0]


def build_elementwise(
    spec: ElementwiseSpec, target: Target, name: str = "elementwise"
) -> Kernel:
    """The kernel f(outs..., ins..., lo, hi); buffers have the merged shapes."""
    region = spec.region
    outputs = [spec.shape] * len(region.result_types)
    if prod(spec.shape) == 0:
        return _empty(spec, target, name)
    borders = (1, 2) if len(spec.shape) == BLOCKED_RANK else ()
    space = merge_dimensions(spec.shape, [*outputs, *spec.input_shapes], borders)
    elements = [*region.result_types, *region.input_types]
    lanes = target.lanes(max(32, *map(types.bit_width, elements)))
    wide = REGISTERS_PER_VECTOR * lanes
    *outer, innermost = space.extents
    chunks = RowChunks(innermost, prod(outer), wide)
    # Where the axes of planes have one element, the lines are the planes.
    images, planes = (min(border, len(outer)) for border in space.borders or (0, 0))
    lines = (*outer[planes:], chunks.units)
    work_items = WorkItems(tuple(outer[:planes]), prod(lines), images)
    builder = LoopBuilder(target)

    rows = wide // innermost if innermost % lanes == 0 else 1

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        work = _VectorWork(builder, spec, space, buffers)

        def chunk(plane: Sequence[Index], first: Index, last: Index) -> None:
            rest = builder.remainder(work_items.chunk_size(builder, first, last), rows)
            middle = builder.sub(last, rest)
            builder.loop(
                first, middle, rows, lambda line: work.rows((*plane, line), rows)
            )
            if rest != 0:
                builder.loop(middle, last, 1, lambda line: work.rows((*plane, line), 1))

        def row(plane: Sequence[Index], line: Index) -> None:
            *inside, unit = builder.unflatten(line, lines)
            chunks.walk(builder, unit, wide, lanes, work.row((*plane, *inside)))

        if rows > 1 and len(lines) == 2 and work_items.lines > work_items.chunks:
            work_items.visit_chunks(builder, low, high, chunk)
        else:
            work_items.visit(builder, low, high, row)

    function = builder.function(name, _buffer_types(space, elements), body)
    return Kernel(function, work_items.size)


def _buffer_types(space: Space, elements: Sequence[Attribute]) -> list[MemRefType]:
    return [
        types.memref_type(space.buffer_shape(k), types.storage_type(element))
        for k, element in enumerate(elements)
    ]


def _empty(spec: ElementwiseSpec, target: Target, name: str) -> Kernel:
    shapes = [spec.shape] * len(spec.region.result_types) + list(spec.input_shapes)
    elements = [*spec.region.result_types, *spec.region.input_types]
    buffers = [
        types.memref_type((prod(shape),), types.storage_type(element))
        for shape, element in zip(shapes, elements, strict=True)
    ]
    builder = LoopBuilder(target)
    return Kernel(builder.function(name, buffers, no_work), 0)
