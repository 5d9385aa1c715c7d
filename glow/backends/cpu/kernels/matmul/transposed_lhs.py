"""Products whose left matrix is transposed and deep, such as the gradient of weights.

A step of the depth reads a few neighbours of A, and the next one those a whole row of memory
further: in another page, and in the same few sets of the first cache. So the rows of a tile are
copied to the stack first, a block of the depth at a time, and multiplied with the columns of
several tiles. Sums wait on the stack for the next block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

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
from glow.backends.cpu.tiling.tile_store import TileStore
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

MAX_UNITS = 8
"""Tiles of columns that a copy of rows is multiplied with."""
MAX_SUMS = 1 << 14
"""The elements of C that wait on the stack."""


@dataclass(frozen=True)
class Division:
    """How C is cut into work items: `parts` of columns, blocks of rows."""

    split: ColumnSplit
    rows: RowBlocks

    @staticmethod
    def of(rows: int, split: ColumnSplit, tile: Tile, batches: int) -> Division:
        """As few copies as the stack allows."""
        units = min(split.units, MAX_UNITS)
        most = MAX_SUMS // (units * tile.rows * split.blocks * split.lanes)
        parts = batches * -(-split.units // units)
        return Division(split, RowBlocks.split(rows, tile.rows, parts, max(1, most)))

    @property
    def units(self) -> int:
        """The tiles of columns in a part; the last one may have fewer."""
        return min(self.split.units, MAX_UNITS)

    @property
    def parts(self) -> int:
        """The parts of columns."""
        return -(-self.split.units // self.units)


class TransposedLhs:
    """Computes the work items, while the kernel is built; matrices are at their batch."""

    def __init__(
        self,
        builder: LoopBuilder,
        matrices: tuple[Matrix, Matrix, TileStore],
        tile: Tile,
        division: Division,
    ) -> None:
        self.builder = builder
        self.a, self.b, self.store = matrices
        self.tile = tile
        self.division = division
        split = division.split
        self.shape = (tile.rows, split.blocks, split.lanes)
        self.sums = builder.alloca(
            types.memref_type(
                (division.rows.tiles_of_block, division.units, *self.shape)
            )
        )

    def compute(self, part: Index, block: Index, depth: int, size: int) -> None:
        """A part of the columns of a block of rows, `size` steps of the depth at a time."""
        builder, units = self.builder, self.division.units
        first = builder.mul(part, units)
        last = builder.minimum(builder.add(first, units), self.division.split.units)
        panel = builder.alloca(types.memref_type((size, self.tile.rows)))
        zero = builder.constant(0.0, types.vector_type(self.shape))

        def clear(_: Index, slot: Index) -> None:
            def at(unit: Index) -> None:
                place = (slot, unit, 0, 0, 0)
                builder.transfer_write(zero, self.sums, place, (2, 3, 4))

            builder.loop(0, units, 1, at)

        def add(step: Index, count: int) -> None:
            def at(row: Index, slot: Index) -> None:
                def multiply(unit: Index, group: ColumnGroup, piece: Columns) -> None:
                    self._add(panel, (step, count), (slot, unit), group, piece)

                self._copy(panel, row, step, count)
                self._columns(first, last, multiply)

            self._tiles(block, at)

        def store(row: Index, slot: Index) -> None:
            def at(unit: Index, group: ColumnGroup, piece: Columns) -> None:
                total = self._sum((slot, unit), group, piece)
                self.store.store(total, row, piece)

            self._columns(first, last, at)

        whole = depth - depth % size
        self._tiles(block, clear)
        builder.loop(0, whole, size, lambda step: add(step, size))
        if whole < depth:
            add(whole, depth - whole)
        self._tiles(block, store)

    def _tiles(self, block: Index, body: Callable[[Index, Index], None]) -> None:
        """`body(row, slot)` for each tile of a block of rows."""
        builder, rows = self.builder, self.division.rows
        start, end = rows.bounds(builder, block)

        def at(tile: Index) -> None:
            body(rows.first_row(builder, tile), builder.sub(tile, start))

        builder.loop(start, end, 1, at)

    def _columns(
        self,
        first: Index,
        last: Index,
        body: Callable[[Index, ColumnGroup, Columns], None],
    ) -> None:
        """`body(slot, group, columns)` for each rectangle of columns."""
        builder, split = self.builder, self.division.split

        def at(unit: Index) -> None:
            def visit(group: ColumnGroup) -> None:
                for piece in columns_of(group, split.lanes):
                    body(builder.sub(unit, first), group, piece)

            split.visit(builder, unit, visit)

        builder.loop(first, last, 1, at)

    def _copy(self, panel: SSAValue, row: Index, step: Index, count: int) -> None:
        """The rows of a tile, for so many steps."""
        builder, rows = self.builder, self.tile.rows

        def at(k: Index) -> None:
            value = self.a.read(row, builder.add(step, k), (rows,), (0,))
            builder.transfer_write(value, panel, (k, 0), (1,))

        builder.loop(0, count, 1, at)

    def _add(
        self,
        panel: SSAValue,
        steps: tuple[Index, int],
        slot: tuple[Index, Index],
        group: ColumnGroup,
        piece: Columns,
    ) -> None:
        """Adds the product of some steps to the sum of a tile."""
        builder, (step, count) = self.builder, steps
        shape = (self.tile.rows, *piece.shape)
        axes = (1, *[None] * len(piece.shape))

        def factors(k: Index) -> tuple[SSAValue, SSAValue]:
            a = builder.transfer_read(panel, (k, 0), shape, axes)
            return a, self.b.read_columns(builder.add(step, k), 0, piece)

        unroll = self.tile.unroll(builder.target.core)
        value = accumulate(builder, count, unroll, shape, factors)
        total = builder.addf(self._sum(slot, group, piece), value)
        builder.transfer_write(total, self.sums, *self._place(slot, group, piece))

    def _sum(
        self, slot: tuple[Index, Index], group: ColumnGroup, piece: Columns
    ) -> SSAValue:
        indices, axes = self._place(slot, group, piece)
        shape = (self.tile.rows, *piece.shape)
        return self.builder.transfer_read(self.sums, indices, shape, axes)

    def _place(
        self, slot: tuple[Index, Index], group: ColumnGroup, piece: Columns
    ) -> tuple[tuple[Index, ...], tuple[int, ...]]:
        """Where the sum of a rectangle waits; the partly filled register is the last one."""
        if len(piece.shape) == 2:
            return (*slot, 0, 0, 0), (2, 3, 4)
        return (*slot, 0, group.blocks - 1, 0), (2, 4)
