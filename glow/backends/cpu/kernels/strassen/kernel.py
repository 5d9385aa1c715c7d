"""One or two levels of Strassen's algorithm for products with constant weights.

The left operand comes as the seven sums of its quadrants (`linear_combinations.py`), which products
of one input share; the weights' sums are made when the model is compiled. A work item is a panel
of columns of a block of rows: its seven half-size products go into a scratch of the size of
the second cache and from there, as sums, into the four quadrants of the result.

With two levels the left operand comes as the sums of each sum's quadrants, 49 of them. Seven
products of a quarter of the size become the quadrants of one half-size product, which a second
scratch keeps until all seven are there.

Rows of the left operand were divided by their scales, which the result is multiplied by; rows
whose scale is NaN are direct sums (`direct_rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.config import USUAL_PREFETCH
from glow.backends.cpu.kernels.matmul.weights import PanelPrefetch
from glow.backends.cpu.kernels.strassen.direct_rows import DirectRows
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.strassen.weights import PackedFactors
from glow.backends.cpu.reference.strassen import (
    PRODUCTS,
    QUADRANTS,
    RESULT,
)
from glow.backends.cpu.tiling.accumulation import accumulate
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup, Columns, Tile, columns_of
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides, flat
from glow.backends.cpu.tiling.row_order import each_block
from glow.backends.cpu.tiling.tile_store import TileStore, matrices_of, stored_rows
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

_TileBody = Callable[[Index, Index], None]


def signed_total(
    builder: LoopBuilder,
    parts: Sequence[SSAValue] | Mapping[int, SSAValue],
    terms: Sequence[tuple[int, int]],
) -> SSAValue:
    """The sum of some of the values; the first sign is positive."""
    (first, _), *others = terms
    total = parts[first]
    for number, sign in others:
        combine = builder.addf if sign > 0 else builder.subf
        total = combine(total, parts[number])
    return total


@dataclass(frozen=True)
class _Parts:
    """Every `stride`-th part of a scratch from `first` on."""

    buffer: SSAValue
    first: Index = 0
    stride: int = 1

    def at(self, builder: LoopBuilder, number: int) -> Index:
        """Where the part of that number is."""
        return builder.add(self.first, number * self.stride)


@dataclass(frozen=True)
class _Block:
    """Neighbouring tiles of rows."""

    first: Index
    count: Index


class _StrassenProduct:
    """What the kernel computes, item by item."""

    def __init__(
        self, builder: LoopBuilder, spec: StrassenSpec, buffers: Sequence[SSAValue]
    ) -> None:
        c_buffer, matrix, scales, a_buffer, b_buffer, *operand_buffers = buffers
        leaf, target = spec.leaf, builder.target
        extents = (spec.parts, leaf.rows, spec.columns)
        strides = Strides((spec.columns,), spec.parts * spec.columns, 1)
        self.builder, self.spec = builder, spec
        self.leaf = leaf
        self.levels, self.parts = spec.levels, spec.parts
        self.tile: Tile = leaf.tile(target)
        self.split = leaf.split(target)
        self.lanes = lanes = self.split.lanes
        self.tiles = spec.tiles(target)
        self.tiles_per_block = spec.row_tiles(target)[1]
        self.by_blocks = spec.is_blocked(target)
        sums = (spec.products * leaf.rows, leaf.depth)
        self.a = Matrix(builder, a_buffer, leaf.a_strides, sums, lanes)
        self.b = PackedFactors(builder, b_buffer, spec)
        self.prefetch = PanelPrefetch(
            builder,
            b_buffer,
            leaf.depth,
            self.tiles_per_block,
            self.tile.rows,
            spec.config.prefetch if spec.config else USUAL_PREFETCH,
        )
        c = Matrix(builder, c_buffer, strides, extents, lanes, blocked=True)
        epilogue_operands = matrices_of(
            builder, spec.tile_epilogue, operand_buffers, strides, extents
        )
        of_rows = (Strides((1,), spec.parts, 1), (spec.parts, leaf.rows, 1))
        self.scales = Matrix(builder, scales, *of_rows, lanes)
        for number, kind in enumerate(spec.tile_epilogue.operand_layouts):
            if kind == "row":
                buffer = operand_buffers[number]
                epilogue_operands[number] = Matrix(builder, buffer, *of_rows, lanes)
        self.store = TileStore(builder, spec.tile_epilogue, c, epilogue_operands)
        whole = Matrix(
            builder, matrix, Strides((), spec.depth, 1), (spec.rows, spec.depth), lanes
        )
        self.direct = DirectRows(builder, spec, whole, self.b, self.scales, self.store)
        registers = (self.tile.blocks, lanes)
        height = self.tiles_per_block * self.tile.rows

        def scratch(count: int, rows: int) -> SSAValue:
            return builder.alloca(types.memref_type((count, rows, *registers)))

        self.scratches = [
            scratch(PRODUCTS * QUADRANTS**level, height) for level in range(self.levels)
        ]
        """The last products, and the quadrants of the half-size ones."""
        self.results = scratch(QUADRANTS, self.tile.rows)

    def panel_of_block(self, coordinates: list[Index]) -> None:
        """Computes a panel of columns of all quadrants for a block of rows."""
        block, unit = coordinates if self.by_blocks else coordinates[::-1]
        builder, count = self.builder, self.tiles_per_block
        first = builder.mul(block, count)
        if self.tiles % count:
            count = builder.minimum(builder.sub(self.tiles, first), count)
        block = _Block(first, count)
        self.split.visit(builder, unit, lambda group: self._panel(unit, group, block))

    def rows(self, low: Index, high: Index) -> None:
        """Computes the tiles of rows [low, high), panel after panel."""
        builder, most = self.builder, self.tiles_per_block

        def block(unit: Index, group: ColumnGroup, first: Index) -> None:
            count = builder.minimum(builder.sub(high, first), most)
            self._panel(unit, group, _Block(first, count))

        def panel(unit: Index, low: Index, high: Index) -> None:
            self.split.visit(
                builder,
                unit,
                lambda group: builder.loop(
                    low, high, most, lambda first: block(unit, group, first)
                ),
            )

        def panels(start: Index, end: Index) -> None:
            builder.loop(0, self.split.units, 1, lambda unit: panel(unit, start, end))

        each_block(builder, (low, high), most if self.by_blocks else None, panels)

    def _panel(self, unit: Index, group: ColumnGroup, block: _Block) -> None:
        """Multiplies and finishes a panel of columns of a block of rows."""
        builder, inner_quadrants = self.builder, QUADRANTS ** (self.levels - 1)

        def half(number: Index) -> None:
            self._multiply_seven(unit, group, block, builder.mul(number, PRODUCTS))
            place = _Parts(self.scratches[1], builder.mul(number, QUADRANTS))
            products = _Parts(self.scratches[0])
            self._tiles(
                block,
                lambda row, slot: self._combine(group, products, slot, place, slot),
            )

        def finish(row: Index, slot: Index, inner: Index) -> None:
            products = _Parts(self.scratches[-1], inner, inner_quadrants)
            self._combine(group, products, slot, _Parts(self.results), 0)
            builder.loop(
                0,
                QUADRANTS,
                1,
                lambda quadrant: self._store(group, quadrant, inner, row),
            )

        if self.levels == 1:
            self._multiply_seven(unit, group, block, 0)
        else:
            builder.loop(0, PRODUCTS, 1, half)
        self._tiles(
            block,
            lambda row, slot: builder.loop(
                0, inner_quadrants, 1, lambda inner: finish(row, slot, inner)
            ),
        )
        parts = [self._columns(group, part) for part in range(self.parts)]
        self._tiles(block, lambda row, _: self.direct.mend(unit, group, parts, row))

    def _multiply_seven(
        self, unit: Index, group: ColumnGroup, block: _Block, first: Index
    ) -> None:
        """Fills the first scratch with seven products of parts."""
        builder = self.builder

        def multiply(number: Index, row: Index, slot: Index) -> None:
            product = builder.add(first, number)
            value = self._multiply(unit, group, product, row, slot)
            where = (number, slot, 0, 0)
            builder.transfer_write(value, self.scratches[0], where, (1, 2, 3))

        builder.loop(
            0,
            PRODUCTS,
            1,
            lambda number: self._tiles(
                block, lambda row, slot: multiply(number, row, slot)
            ),
        )

    def _tiles(self, block: _Block, body: _TileBody) -> None:
        """Runs the body on (row, place in the scratch) of each tile of a block."""
        builder, height = self.builder, self.tile.rows

        def at(tile: Index) -> None:
            row = builder.mul(builder.add(block.first, tile), height)
            if self.leaf.rows % height:
                row = builder.minimum(row, self.leaf.rows - height)
            body(row, builder.mul(tile, height))

        builder.loop(0, block.count, 1, at)

    def _multiply(
        self, unit: Index, group: ColumnGroup, product: Index, row: Index, slot: Index
    ) -> SSAValue:
        builder, leaf = self.builder, self.leaf
        shape = (self.tile.rows, group.blocks, self.lanes)
        unroll = self.tile.unroll(builder.target.core)
        line = builder.add(builder.mul(product, leaf.rows), row)
        prefetch = self.prefetch.at(self.b.end(unit, product, group), group, slot)

        def factors(k: Index) -> tuple[SSAValue, SSAValue]:
            prefetch(k)
            a = self.a.read(line, k, shape, (0, None, None))
            return a, self.b.read(unit, product, group, k)

        return accumulate(builder, leaf.depth, unroll, shape, factors)

    def _combine(
        self,
        group: ColumnGroup,
        products: _Parts,
        slot: Index,
        sums: _Parts,
        sums_slot: Index,
    ) -> None:
        """Sums up the products of a tile, for all quadrants."""
        builder = self.builder
        shape = (self.tile.rows, group.blocks, self.lanes)

        def product(number: int) -> SSAValue:
            where = (products.at(builder, number), slot, 0, 0)
            return builder.transfer_read(products.buffer, where, shape, (1, 2, 3))

        for quadrant, terms in enumerate(RESULT):
            parts = [product(number) for number, _ in terms]
            signs = [(place, sign) for place, (_, sign) in enumerate(terms)]
            value = signed_total(builder, parts, signs)
            where = (sums.at(builder, quadrant), sums_slot, 0, 0)
            builder.transfer_write(value, sums.buffer, where, (1, 2, 3))

    def _store(
        self, group: ColumnGroup, quadrant: Index, inner: Index, row: Index
    ) -> None:
        """Finishes and stores a quadrant's tile, few rows at a time: the epilogue's values
        of a whole tile would not fit into the registers.
        """
        builder = self.builder
        column, turn, parts = 0, 0, 2 ** (self.levels - 1)
        for part, size in ((quadrant, parts), (inner, 1)):
            lower, right = builder.unflatten(part, (2, 2))
            column = builder.add(column, builder.mul(right, size))
            turn = builder.add(turn, builder.mul(lower, parts // size))
        columns = self._columns(group, column)
        self._move_to(turn)
        height, there = stored_rows(self.tile.rows), self._rows_there(row, turn)
        if self.spec.lacks_row:
            height = min(height, max(1, self.tile.rows - 1))

        def rows(position: Index) -> None:
            if self.spec.lacks_row:
                position = builder.minimum(position, builder.sub(there, height))
            shape = (height, group.blocks, self.lanes)
            where = (quadrant, position, 0, 0)
            value = builder.transfer_read(self.results, where, shape, (1, 2, 3))
            at = builder.add(row, position)
            scale = self.scales.read(at, 0, shape, (0, None, None))
            self.store.store(builder.mulf(value, scale), at, columns)

        builder.loop(0, there, height, rows)

    def _rows_there(self, row: Index, turn: Index) -> Index:
        """How many rows of a tile are rows of the result."""
        if not self.spec.lacks_row:
            return self.tile.rows
        builder = self.builder
        end = builder.sub(self.leaf.rows, turn)
        return builder.minimum(builder.sub(end, row), self.tile.rows)

    def _move_to(self, turn: Index) -> None:
        """Selects every `parts`-th row from the one of that number on."""
        self.store.move_to([turn])
        self.scales.move_to([turn])

    def _columns(self, group: ColumnGroup, part: Index) -> Columns:
        """Where the columns of a group are in that part of the result."""
        blocks = self.builder.mul(part, self.leaf.columns // self.lanes)
        block = self.builder.add(group.block, blocks)
        (columns,) = columns_of(
            ColumnGroup(block, group.blocks, self.lanes), self.lanes
        )
        return columns


def build_strassen(
    spec: StrassenSpec, target: Target, name: str = "strassen"
) -> Kernel:
    """The kernel f(C, A, scales, sums of A, packed B, [bias], epilogue operands..., lo, hi)."""
    by_rows = spec.is_cut_by_rows(target)
    units, blocks = spec.leaf.split(target).units, spec.row_tiles(target)[0]
    space = [blocks, units] if spec.is_blocked(target) else [units, blocks]
    work_items = spec.tiles(target) if by_rows else prod(space)
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        product = _StrassenProduct(builder, spec, buffers)
        if by_rows:
            product.rows(low, high)
        else:
            builder.space(low, high, space, product.panel_of_block)

    output = flat(spec.rows * spec.columns)
    buffers = [
        output,
        flat(spec.rows * spec.depth),
        flat(spec.parts * spec.leaf.rows),
        flat(spec.products * spec.leaf.rows * spec.leaf.depth),
        flat(spec.products * spec.leaf.packed_elements(target)),
        *spec.tile_epilogue.buffers(output, spec.rows, spec.columns),
    ]
    ragged = spec.lacks_row or spec.leaf.rows % spec.leaf.tile(target).rows
    runs = (
        (1, 1, 1, spec.products, 0, *spec.tile_epilogue.runs)
        if by_rows and not ragged
        else ()
    )
    return Kernel(builder.function(name, buffers, body), work_items, runs)
