"""Products of activations, over batch dimensions that may repeat either operand.

Three forms, chosen by where B is contiguous:
- `direct`: rows of B are contiguous and are read in place (attention times values; a grouped
  1x1 convolution on plain NCHW, with the weights as A);
- `pack`: columns of B are contiguous (queries times keys): a panel of B as wide as the register
  tile is transposed into a buffer on the stack first;
- `dot`: the same with few rows: registers hold neighbours along the depth and are summed up at
  the end.
Any strides of A and C's rows are allowed, so that transpositions around the product vanish.

A great depth (sums over all images of a batch, for the gradient of weights) is cut into blocks
whose part of A and B stays in the second cache; sums wait on the stack for the next block
(`transposed_lhs.py` where A is transposed).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.matmul.batch_matmul_spec import BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.transposed_lhs import Division, TransposedLhs
from glow.backends.cpu.tiling.accumulation import accumulate
from glow.backends.cpu.tiling.matmul_tile import (
    ColumnGroup,
    Columns,
    ColumnSplit,
    RowBlocks,
    Tile,
    columns_of,
)
from glow.backends.cpu.tiling.matrix_memory import Matrix
from glow.backends.cpu.tiling.tile_store import (
    PartialStore,
    TileStore,
    matrices_of,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

_ReadRow = Callable[[Index], SSAValue]
"""Takes a step of the depth and gives that row of B, in the shape of a tile's row."""

Steps = tuple[Index, int]
"""The first step of the depth, and how many."""


class _Part(NamedTuple):
    """Columns of C: the shape of a tile's row, B's rows from a step on, so many, and the store."""

    shape: tuple[int, ...]
    prepare: Callable[[Index, int], _ReadRow]
    store: Callable[[SSAValue, Index], None]


class _Product:
    """What all forms share while one kernel is built."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: BatchMatmulSpec,
        buffers: Sequence[SSAValue],
        tile: Tile,
    ) -> None:
        c_buffer, a_buffer, b_buffer, *operand_buffers = buffers
        lanes = builder.target.lanes(32)
        extents = (*spec.batch, spec.rows, spec.columns)
        epilogue_operands = matrices_of(
            builder, spec.tile_epilogue, operand_buffers, spec.c, extents
        )
        a_extents = (*spec.batch, spec.rows, spec.depth)
        b_extents = (*spec.batch, spec.depth, spec.columns)
        self.builder = builder
        self.spec = spec
        self.tile = tile
        self.lanes = lanes
        self.a = Matrix(builder, a_buffer, spec.a, a_extents, lanes)
        direct = spec.form == "direct"
        self.b = Matrix(builder, b_buffer, spec.b, b_extents, lanes, blocked=direct)
        c = Matrix(
            builder, c_buffer, spec.c, extents, lanes, blocked=spec.form != "dot"
        )
        self.store = TileStore(builder, spec.tile_epilogue, c, epilogue_operands)

    def move_to(self, coordinates: Sequence[Index]) -> None:
        """Selects the matrices at those batch coordinates."""
        self.a.move_to(coordinates)
        self.b.move_to(coordinates)
        self.store.move_to(coordinates)

    def direct(self, group: ColumnGroup, row_blocks: RowBlocks, block: Index) -> None:
        """The columns of a group, B read in place."""
        for columns in columns_of(group, self.lanes):

            def prepare(first: Index, _: int, c: Columns = columns) -> _ReadRow:
                row = partial(self.builder.add, first)
                return lambda k: self.b.read_columns(row(k), 0, c)

            def store(value: SSAValue, row: Index, c: Columns = columns) -> None:
                self.store.store(value, row, c)

            self._multiply(_Part(columns.shape, prepare, store), row_blocks, block)

    def packed(self, group: ColumnGroup, row_blocks: RowBlocks, block: Index) -> None:
        """The columns of a group, B transposed into a panel first."""
        builder = self.builder
        shape = (group.blocks, self.lanes)

        def prepare(first: Index, count: int) -> _ReadRow:
            panel = builder.alloca(types.memref_type((count, *shape)))
            pack_columns(builder, self.b, (first, count), group, panel)
            return lambda k: builder.transfer_read(panel, (k, 0, 0), shape, (1, 2))

        partial_store = PartialStore(builder, self.store, self.tile.rows)

        def store(value: SSAValue, row: Index) -> None:
            partial_store(value, row, group)

        self._multiply(_Part(shape, prepare, store), row_blocks, block)

    def _multiply(self, part: _Part, row_blocks: RowBlocks, block: Index) -> None:
        """Computes the tiles of a block of rows."""
        if self.spec.depth_block < self.spec.depth:
            self._multiply_by_blocks(part, row_blocks, block)
            return
        right = part.prepare(0, self.spec.depth)

        def at(row: Index) -> None:
            part.store(self._sum_of_steps(row, (0, self.spec.depth), part, right), row)

        row_blocks.visit(self.builder, block, at)

    def _sum_of_steps(
        self, row: Index, steps: Steps, part: _Part, right: _ReadRow
    ) -> SSAValue:
        """The sum of a tile over some steps of the depth."""
        first, count = steps
        shape = (self.tile.rows, *part.shape)
        axes = (0, *[None] * len(part.shape))

        def factors(k: Index) -> tuple[SSAValue, SSAValue]:
            step = self.builder.add(first, k)
            return self.a.read(row, step, shape, axes), right(k)

        unroll = self.tile.unroll(self.builder.target.core)
        return accumulate(self.builder, count, unroll, shape, factors)

    def _multiply_by_blocks(
        self, part: _Part, row_blocks: RowBlocks, block: Index
    ) -> None:
        """The same with sums on the stack, to which each block of the depth adds."""
        builder, depth, size = self.builder, self.spec.depth, self.spec.depth_block
        shape = (self.tile.rows, *part.shape)
        axes = tuple(range(1, 1 + len(shape)))
        count = row_blocks.tiles_of_block
        sums = builder.alloca(types.memref_type((count, *shape)))
        start, end = row_blocks.bounds(builder, block)

        def place(tile: Index) -> tuple[Index, ...]:
            return builder.sub(tile, start), *(0 for _ in shape)

        def read(tile: Index) -> SSAValue:
            return builder.transfer_read(sums, place(tile), shape, axes)

        def add(steps: Steps) -> None:
            right = part.prepare(*steps)

            def at(tile: Index) -> None:
                row = row_blocks.first_row(builder, tile)
                total = builder.addf(
                    read(tile), self._sum_of_steps(row, steps, part, right)
                )
                builder.transfer_write(total, sums, place(tile), axes)

            builder.loop(start, end, 1, at)

        whole = depth - depth % size
        zero = builder.constant(0.0, types.vector_type(shape))
        builder.loop(
            start,
            end,
            1,
            lambda tile: builder.transfer_write(zero, sums, place(tile), axes),
        )
        builder.loop(0, whole, size, lambda k: add((k, size)))
        if whole < depth:
            add((whole, depth - whole))
        builder.loop(
            start,
            end,
            1,
            lambda tile: part.store(read(tile), row_blocks.first_row(builder, tile)),
        )


def pack_columns(
    builder: LoopBuilder,
    matrix: Matrix,
    steps: Steps,
    group: ColumnGroup,
    panel: SSAValue,
    outer: tuple[Index, ...] = (),
) -> None:
    """Transposes a group of a matrix's columns into `panel[*outer]`, [steps, blocks, lanes].

    In squares where its columns are contiguous. Lanes without a column hold zeros: products
    are whole registers, and what happens to lie on the stack may be denormal and slow.
    """
    lanes, first = matrix.lanes, builder.mul(group.block, matrix.lanes)
    start, depth = steps
    whole = group.blocks if matrix.strides.row == 1 and depth >= lanes else 0
    if group.last != lanes:
        whole = min(whole, group.blocks - 1)
    axes = (len(outer), len(outer) + 2)

    def square(block: int, k: Index) -> None:
        column = builder.add(first, block * lanes)
        value = matrix.read(builder.add(start, k), column, (lanes, lanes), (0, 1))
        builder.transfer_write(value, panel, (*outer, k, block, 0), axes)

    def element(block: int, lane: Index, k: Index) -> None:
        column = builder.add(builder.add(first, block * lanes), lane)
        row = builder.add(start, k)
        value = builder.load(matrix.plain, *matrix.position, row, column)
        builder.store(value, panel, *outer, k, block, lane)

    def clear(block: int, k: Index) -> None:
        zero = builder.constant(0.0, types.vector_type((lanes,)))
        builder.transfer_write(zero, panel, (*outer, k, block, 0), axes[1:])

    for block in range(whole):
        builder.tiles(0, depth, lanes, lambda k, block=block: square(block, k))
    for block in range(whole, group.blocks):
        used = group.last if block == group.blocks - 1 else lanes
        if used < lanes:
            builder.loop(0, depth, 1, lambda k, block=block: clear(block, k))
        builder.loop(
            0,
            used,
            1,
            lambda lane, block=block: builder.loop(
                0, depth, 1, lambda k: element(block, lane, k)
            ),
        )


class _DotProduct(_Product):
    """Registers along the depth; C is computed in squares of dot products."""

    def square(self, row: Index, column: Index, rows: int, columns: int) -> None:
        """The dot products of `rows` rows of A and `columns` columns of B."""
        builder, depth, lanes = self.builder, self.spec.depth, self.lanes

        def factors(k: Index, length: int) -> tuple[SSAValue, SSAValue]:
            shape = (rows, columns, length)
            a = self.a.read(row, k, shape, (0, None, 1))
            b = self.b.read(k, column, (columns, length), (1, 0))
            return a, builder.broadcast(b, shape)

        whole = depth - depth % lanes
        partial: list[SSAValue] = []
        if whole:
            zero = builder.constant(0.0, types.vector_type((rows, columns, lanes)))
            partial += builder.carry(
                0,
                whole,
                lanes,
                [zero],
                lambda k, c: [builder.fma(*factors(k, lanes), c[0])],
            )
        if whole < depth:
            partial.append(builder.mulf(*factors(whole, depth - whole)))
        for m in range(rows):
            for n in range(columns):
                sums = [self._sum(builder.extract(value, m, n)) for value in partial]
                total = sums[0] if len(sums) == 1 else builder.addf(*sums)
                self._store(total, builder.add(row, m), builder.add(column, n))

    def _sum(self, value: SSAValue) -> SSAValue:
        if types.shape_of(value) == (1,):
            return self.builder.extract(value, 0)
        return self.builder.reduction("add", value, ("reassoc",))

    def _store(self, value: SSAValue, row: Index, column: Index) -> None:
        epilogue_operands: list[SSAValue] = []
        for kind, operand in zip(
            self.store.tile_epilogue.operand_layouts,
            self.store.epilogue_operands,
            strict=True,
        ):
            if isinstance(operand, Matrix):
                where = (*operand.position, row, column)
                epilogue_operands.append(self.builder.load(operand.plain, *where))
                continue
            index: Index = 0
            if kind != "scalar":
                index = row if "row" in (kind, self.spec.channel) else column
            epilogue_operands.append(self.builder.load(operand, index))
        output = self.store.output
        result = self.store.apply(value, epilogue_operands)
        self.builder.store(result, output.plain, *output.position, row, column)


def build_batch_matmul(
    spec: BatchMatmulSpec, target: Target, name: str = "batch_matmul"
) -> Kernel:
    """The kernel f(C, A, B, [bias], epilogue operands..., lo, hi)."""
    if spec.form == "dot":
        return _build_dot(spec, target, name)
    if spec.copies_lhs:
        return _build_transposed_lhs(spec, target, name)
    tile = spec.tile(target)
    split = ColumnSplit(spec.columns, target.lanes(32), tile.blocks)
    row_blocks = spec.row_blocks(split, tile.rows)
    space = [*spec.batch, split.units, row_blocks.blocks]
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        product = _Product(builder, spec, buffers, tile)
        form = product.direct if spec.form == "direct" else product.packed

        def unit(coordinates: list[Index]) -> None:
            *batch, column, block = coordinates
            product.move_to(batch)
            split.visit(builder, column, lambda group: form(group, row_blocks, block))

        builder.space(low, high, space, unit)

    return Kernel(
        builder.function(name, spec.buffers(spec.tile_epilogue), body), prod(space)
    )


def _build_transposed_lhs(spec: BatchMatmulSpec, target: Target, name: str) -> Kernel:
    tile = spec.tile(target)
    split = ColumnSplit(spec.columns, target.lanes(32), tile.blocks)
    division = Division.of(spec.rows, split, tile, prod(spec.batch))
    space = [*spec.batch, division.parts, division.rows.blocks]
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        product = _Product(builder, spec, buffers, tile)
        matrices = product.a, product.b, product.store
        items = TransposedLhs(builder, matrices, tile, division)

        def unit(coordinates: list[Index]) -> None:
            *batch, part, block = coordinates
            product.move_to(batch)
            items.compute(part, block, spec.depth, spec.depth_block)

        builder.space(low, high, space, unit)

    return Kernel(
        builder.function(name, spec.buffers(spec.tile_epilogue), body), prod(space)
    )


def _build_dot(spec: BatchMatmulSpec, target: Target, name: str) -> Kernel:
    tile = spec.tile(target)
    rows, columns = tile.rows, tile.blocks
    units = -(-spec.columns // columns)
    space = [*spec.batch, units]
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        product = _DotProduct(builder, spec, buffers, tile)

        def unit(coordinates: list[Index]) -> None:
            *batch, position = coordinates
            product.move_to(batch)
            column = builder.mul(position, columns)
            if spec.columns % columns:
                column = builder.minimum(column, spec.columns - columns)
            builder.tiles(
                0,
                spec.rows,
                rows,
                lambda row: product.square(row, column, rows, columns),
            )

        builder.space(low, high, space, unit)

    return Kernel(
        builder.function(name, spec.buffers(spec.tile_epilogue), body), prod(space)
    )
