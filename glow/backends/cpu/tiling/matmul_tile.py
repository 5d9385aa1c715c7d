"""Register tiles of matrix products: choice of size, and how they cover a matrix.

A tile is `rows` rows times `blocks` registers of columns, `vector<8x3x16xf32>`: each step of
the depth broadcasts one element of A per row and multiplies it with one row of B. Tiles start
at multiples of their height except the last one, which is moved up to end with the matrix
(some rows are computed twice, with equal results). Columns end in a group of fewer registers
whose last one may be partly filled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import f32

from glow.backends.cpu.dialect.config import CUTS
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.target.core import Core
from glow.lowering.target.target import Target

MAX_BLOCKS = 4
MIN_MAX_ROWS = 8
OTHER_WAYS = 2
"""Rows of A that are a power of two apart compete for the ways of one cache set, of which B and C
take some: a tile has fewer rows than there are ways, but where these are few they conflict
anyway."""
MAX_BLOCKS_OF_VECTOR = 8
SHARED_BYTES = 1 << 18
"""Weights of one row's product that two threads read faster than one."""
_LOOP_EXITS = 0.8
"""Mispredicted ends of the loop over the depth: short loops are guessed."""
_STORES = 2
"""Accumulators are stored and, before that, go through an epilogue that takes about as long."""
_A_TRAFFIC = 0.1
_B_TRAFFIC = 0.2
"""Cycles a step of the depth for fetching elements of A and registers of B: tie-breakers, since
most of it hides behind the FMAs."""
WANTED_WORK_ITEMS = 16
MANY_ROWS = 64
"""More rows have no other tile."""
SHARED_LOSS = 1.05
"""How many more cycles it may take to read weights in the order that products of many rows have."""

RowBody = Callable[[Index], None]
"""Takes the first row of a tile."""


@dataclass(frozen=True)
class Tile:
    """`rows` x `blocks` registers."""

    rows: int
    blocks: int

    def unroll(self, core: Core) -> int:
        """Steps of the depth with their own accumulators, which hide the latency of FMAs.

        They decide in which order terms are added up, so that the last group of columns, though
        it is narrower, has as many: equal columns of a matrix give equal results.
        """
        return max(1, -(-core.chains // (self.rows * self.blocks)))


@bounded_cache
def choose_tile(
    rows: int, columns: int, depth: int, target: Target, products: int = 0
) -> Tile:
    """The tile with the least estimated time for a [rows, depth] x [depth, columns] product.

    `products`: the registers of products that another instruction adds to the sums.
    """
    total = -(-columns // target.lanes(32))
    most = _most_blocks(rows, total, packed_bytes(depth, columns))
    tiles = [
        Tile(height, blocks)
        for blocks in range(1, most + 1)
        for height in range(1, min(rows, tallest(blocks, target, products)) + 1)
    ]
    return min(
        tiles, key=lambda tile: product_cycles(tile, rows, total, depth, target.core)
    )


def _most_blocks(rows: int, total: int, weight_bytes: int) -> int:
    """The widest tile: large weights of one row have two groups of columns, for two threads."""
    if rows > 1:
        return min(total, MAX_BLOCKS)
    most = min(total, MAX_BLOCKS_OF_VECTOR)
    if total == most > 1 and weight_bytes >= SHARED_BYTES:
        return -(-total // 2)
    return most


def packed_bytes(depth: int, columns: int) -> int:
    """The bytes of weights, whose groups along the depth fill 32 bits each."""
    return types.byte_width(f32) * depth * columns


@bounded_cache
def choose_shared_tile(
    rows: int,
    columns: int,
    depth: int,
    target: Target,
    blocks: int = 0,
    products: int = 0,
) -> Tile:
    """The tile of a product whose weights other products read too, of more or fewer rows.

    It is as wide as that of many rows, where that costs little: few rows wait for weights that
    come from afar, however wide the tile is. The width is the order of packed weights, so that
    they are in memory once. `blocks`: the width that products of many rows have, if known.
    """
    total = -(-columns // target.lanes(32))
    best = choose_tile(rows, columns, depth, target, products)
    many = max(rows, MANY_ROWS)
    blocks = blocks or choose_tile(many, columns, depth, target, products).blocks
    weights = packed_bytes(depth, columns)
    is_far = weights > target.l2_bytes
    read = weights / target.core.far_bytes_per_cycle if is_far else 0.0

    def cycles(tile: Tile) -> float:
        return max(read, product_cycles(tile, rows, total, depth, target.core))

    heights = range(1, min(rows, tallest(blocks, target, products)) + 1)
    tiles = [Tile(height, blocks) for height in heights]
    shared = min(
        tiles, key=lambda t: product_cycles(t, rows, total, depth, target.core)
    )
    return shared if cycles(shared) <= SHARED_LOSS * cycles(best) else best


def tallest(blocks: int, target: Target, products: int = 0) -> int:
    """The most rows that leave registers for B, one broadcast and its products."""
    others = 1 + products + (blocks if blocks > 1 else 0)
    free = target.num_vector_registers - others
    ways = max(MIN_MAX_ROWS, target.core.l1_ways - OTHER_WAYS)
    return max(1, min(free // blocks, ways))


def wrong_tile(tile: Tile, rows: int, target: Target, products: int = 0) -> str | None:
    """Why a product of so many rows cannot be computed by a tile, if so."""
    most = min(rows, tallest(tile.blocks, target, products))
    if tile.rows <= most:
        return None
    return (
        f"a tile of {tile.rows} rows and {tile.blocks} blocks: the target's "
        f"{target.num_vector_registers} registers and {rows} rows of the product "
        f"allow 1 to {most} rows"
    )


def wrong_cut(cut: str) -> str | None:
    """What is wrong with what threads share, if anything."""
    return None if cut in CUTS else f"the cut {cut}: there are {', '.join(CUTS)}"


def product_cycles(tile: Tile, rows: int, total: int, depth: int, core: Core) -> float:
    """The estimated cycles of a product whose columns are `total` registers."""
    groups, rest = divmod(total, tile.blocks)
    row_tiles = -(-rows // tile.rows)
    cycles = groups * _tile_cycles(tile, tile.blocks, depth, core)
    if rest:
        cycles += _tile_cycles(tile, rest, depth, core)
    return row_tiles * cycles


def _tile_cycles(tile: Tile, blocks: int, depth: int, core: Core) -> float:
    """Of a tile of so many registers of columns, in a product with that register tile."""
    registers = tile.rows * blocks
    arithmetic = max(
        registers / core.fma_per_cycle,
        (tile.rows + blocks) / core.loads_per_cycle,
        core.fma_latency / tile.unroll(core),
    )
    traffic = _A_TRAFFIC * tile.rows + _B_TRAFFIC * blocks
    ends = _LOOP_EXITS * core.mispredict_cycles
    stores = _STORES / core.stores_per_cycle * registers
    return (arithmetic + traffic) * depth + ends + stores


@dataclass(frozen=True)
class ColumnGroup:
    """Columns of one tile: from `block` on, `blocks` registers, the last with `last` lanes."""

    block: Index
    blocks: int
    last: int


@dataclass(frozen=True)
class ColumnSplit:
    """All columns of a matrix: `groups` whole tiles, then at most one smaller group."""

    columns: int
    lanes: int
    blocks: int

    @property
    def groups(self) -> int:
        """How many whole tiles there are."""
        return self.columns // (self.blocks * self.lanes)

    @property
    def units(self) -> int:
        """Whole tiles and the rest."""
        return -(-self.columns // (self.blocks * self.lanes))

    @property
    def rest(self) -> ColumnGroup | None:
        """The columns after the whole tiles."""
        start = self.groups * self.blocks
        left = self.columns - start * self.lanes
        if not left:
            return None
        blocks = -(-left // self.lanes)
        return ColumnGroup(start, blocks, left - (blocks - 1) * self.lanes)

    def visit(
        self, builder: LoopBuilder, unit: Index, body: Callable[[ColumnGroup], None]
    ) -> None:
        """Runs the body for unit number `unit`."""
        whole = ColumnGroup(builder.mul(unit, self.blocks), self.blocks, self.lanes)
        rest = self.rest
        if rest is None:
            body(whole)
            return
        in_whole = builder.compare("slt", unit, self.groups)
        builder.if_(in_whole, lambda: body(whole), lambda: body(rest))


@dataclass(frozen=True)
class Columns:
    """A rectangle's columns: whole registers from `block` on, or `lanes` columns there."""

    block: Index
    shape: tuple[int, ...]


def columns_of(group: ColumnGroup, lanes: int) -> list[Columns]:
    """The group as rectangles: its whole registers, and the partly filled one."""
    whole = group.blocks if group.last == lanes else group.blocks - 1
    result = [Columns(group.block, (whole, lanes))] if whole else []
    if group.last != lanes:
        assert isinstance(group.block, int)
        result.append(Columns(group.block + whole, (group.last,)))
    return result


@dataclass(frozen=True)
class RowBlocks:
    """Tiles of rows, cut into blocks when the columns alone give too few work items."""

    rows: int
    tile_rows: int
    blocks: int

    @staticmethod
    def split(
        rows: int, tile_rows: int, other_items: int, most_tiles: int | None = None
    ) -> RowBlocks:
        """As many blocks as bring the work items to `WANTED_WORK_ITEMS`, and of no more tiles."""
        tiles = -(-rows // tile_rows)
        wanted = min(tiles, -(-WANTED_WORK_ITEMS // other_items))
        per_block = min(-(-tiles // wanted), most_tiles or tiles)
        return RowBlocks(rows, tile_rows, -(-tiles // per_block))

    @property
    def tiles(self) -> int:
        """The tiles of all rows."""
        return -(-self.rows // self.tile_rows)

    @property
    def tiles_of_block(self) -> int:
        """The tiles of a block; the last one may have fewer."""
        return -(-self.tiles // self.blocks)

    def bounds(self, builder: LoopBuilder, block: Index) -> tuple[Index, Index]:
        """The first tile of a block, and the first one behind it."""
        start = builder.mul(block, self.tiles_of_block)
        return start, builder.minimum(
            builder.add(start, self.tiles_of_block), self.tiles
        )

    def first_row(self, builder: LoopBuilder, tile: Index) -> Index:
        """Where a tile begins."""
        row = builder.mul(tile, self.tile_rows)
        if self.rows % self.tile_rows == 0:
            return row
        return builder.minimum(row, self.rows - self.tile_rows)

    def visit(self, builder: LoopBuilder, block: Index, body: RowBody) -> None:
        """Runs the body at the first row of each tile of a block."""
        self.visit_tiles(builder, *self.bounds(builder, block), body)

    def visit_tiles(
        self, builder: LoopBuilder, start: Index, end: Index, body: RowBody
    ) -> None:
        """Runs the body at the first rows of those tiles."""
        builder.loop(start, end, 1, lambda tile: body(self.first_row(builder, tile)))
