"""Products by matrix tiles: a step of the depth, and the sums, which end on the stack."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.tiling.matrix_tile import MatrixTile
from glow.dialects.x86 import amx
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import CarryBody, Index, LoopBuilder

UNSIGNED_LEFT = {"isZextLhs": UnitAttr()}

LANES = amx.ROW_BYTES // amx.WORD_BYTES
"""The columns of a tile of sums."""

Place = Sequence[Index]
"""The indices of the first element of a tile in a buffer, in whose last two dimensions it is."""


Tiles = tuple[SSAValue, Sequence[Place]]
"""A buffer and where in it each left tile is."""


class MatrixProduct:
    """Multiplies tiles of rows with tiles of columns, of elements of one type."""

    def __init__(
        self, builder: LoopBuilder, tile: MatrixTile, element: Attribute
    ) -> None:
        self.builder = builder
        self.tile = tile
        self.element = element
        self.sums = i32 if element == i8 else f32
        self.per_word = per_word = amx.WORD_BYTES // types.byte_width(element)
        """The elements in a word of the depth."""
        self.left_type = amx.TileType.of(tile.height, tile.words * per_word, element)
        self.right_type = amx.TileType.of(tile.words, LANES * per_word, element)

    def zeros(self) -> list[SSAValue]:
        """The sums before the first step: all left tiles by the first right one, and so on."""
        type_ = amx.TileType.of(self.tile.height, LANES, self.sums)
        count = len(self.tile.first_rows) * self.tile.blocks
        return [self.builder.value(amx.TileZeroOp, (), type_) for _ in range(count)]

    def sum(self, steps: int, body: CarryBody) -> SSAValue:
        """What `store` makes of the sums after all steps."""
        return self.store(self.builder.carry(0, steps, 1, self.zeros(), body))

    def step(
        self, left: Tiles, right: tuple[SSAValue, Place], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The sums after as many words of the depth as the tile has.

        `right`: packed columns, a word of each in a row, and where the first block is.
        """
        source, places = left
        weights, totals = _Blocks(self, *right), list(carried)
        # Each load behind a product that did not wait for it.
        for number, place in enumerate(places):
            row = self.load(source, place, self.left_type)
            for block in range(self.tile.blocks):
                index = block * len(places) + number
                totals[index] = self._multiply(row, weights[block], totals[index])
        return totals

    def store(self, totals: Sequence[SSAValue]) -> SSAValue:
        """The sums on the stack, [rows, blocks * lanes]."""
        b, tile = self.builder, self.tile
        shape = (tile.rows, tile.blocks * LANES)
        scratch = b.alloca(types.memref_type(shape, self.sums))
        segments = {"operandSegmentSizes": types.segments(1, 2, 1, 0)}
        pairs = [(row, k) for k in range(tile.blocks) for row in tile.first_rows]
        for (row, block), total in zip(pairs, totals, strict=True):
            where = (b.index(row), b.index(block * LANES))
            b.create(amx.TileStoreOp, (scratch, *where, total), (), segments)
        return scratch

    def _multiply(self, left: SSAValue, right: SSAValue, acc: SSAValue) -> SSAValue:
        operands = (left, right, acc)
        if self.element == i8:
            return self.builder.value(amx.TileMulIOp, operands, acc.type, UNSIGNED_LEFT)
        return self.builder.value(amx.TileMulFOp, operands, acc.type)

    def load(self, memory: SSAValue, place: Place, type_: amx.TileType) -> SSAValue:
        """A tile of a buffer."""
        indices = [*map(self.builder.index, place)]
        segments = {"operandSegmentSizes": types.segments(1, len(indices), 0)}
        operands = (memory, *indices)
        return self.builder.value(amx.TileLoadOp, operands, type_, segments)


class _Blocks:
    """The tiles of weights of one step, each loaded when it is first asked for."""

    def __init__(self, product: MatrixProduct, memory: SSAValue, place: Place) -> None:
        self.product, self.memory, self.place = product, memory, place
        self.loaded: dict[int, SSAValue] = {}

    def __getitem__(self, block: int) -> SSAValue:
        if block not in self.loaded:
            product, (*outer, column) = self.product, self.place
            distance = block * LANES * product.per_word
            place = (*outer, product.builder.add(column, distance))
            self.loaded[block] = product.load(self.memory, place, product.right_type)
        return self.loaded[block]
