"""Products by matrix tiles (AMX): their size, and when they are faster than those of vectors.

A tile of a product is one or two tiles high and up to two wide: each step multiplies the bytes
of 16 words along the depth, [16, 64] times [64, 16] of bytes with four neighbours of a column side
by side, which is the order that dot products of vectors want too. So weights are packed alike for
both.

    %a0 = amx.tile_load %a[%row, %k]              %b0 = amx.tile_load %b[%step, 0]
    %a1 = amx.tile_load %a[%row + 16, %k]         %b1 = amx.tile_load %b[%step, 64]
    four sums, of each left with each right tile, for four loads

Of a depth that 64 bytes do not divide, each step takes less than a tile holds. Rows that two full
tiles do not divide are cut into equal tiles: their time goes with their rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from glow.backends.cpu.tiling.matmul_tile import Tile
from glow.dialects.x86.amx import ROW_BYTES, ROWS, WORD_BYTES
from glow.lowering.target.core import Core
from glow.lowering.target.target import Target

MOST_BLOCKS = 2
"""The right tiles: with two left ones, four sums and the factors fill the eight registers."""

MOST_ROWS = 2 * ROWS

FEWEST_ROWS = 11
"""A product of fewer rows takes as long as one of so many: the right tile is loaded meanwhile."""

LOSS = 1.7
"""How much longer steps take than their products: tiles come from the second cache, and the clock
is lower. Fitted: 128 to 197 rows, 384 to 3072 columns and words, Sapphire Rapids."""

START_CYCLES = 60
"""From the first product of a tile to its sums, with their way through memory."""

CONFIGURE_CYCLES = 150
"""To load the shapes of tiles and to set them free, once a call of a kernel."""


@dataclass(frozen=True)
class MatrixTile:
    """One or two matrix tiles of `height` rows beside `blocks` of columns, whose steps are of
    `words` along the depth.
    """

    height: int
    first_rows: tuple[int, ...]
    """Where the left tiles begin; they may have rows in common."""
    blocks: int
    words: int

    @staticmethod
    def of_rows(rows: int, blocks: int, words: int) -> MatrixTile:
        """That of rows that lie together; of an odd number of them, one is in both tiles."""
        if rows <= ROWS:
            return MatrixTile(rows, (0,), blocks, words)
        height = -(-rows // 2)
        return MatrixTile(height, (0, rows - height), blocks, words)

    @property
    def rows(self) -> int:
        """Of all tiles."""
        return self.first_rows[-1] + self.height

    def cycles(self, steps: int, core: Core) -> float:
        """Those of the tile, for a depth of so many words."""
        products = len(self.first_rows) * self.blocks
        rows = max(self.height, FEWEST_ROWS)
        step = LOSS * products * rows * core.tile_row_cycles
        multiplied = steps // self.words * step
        registers = self.rows * self.blocks
        stored = registers * (2 / core.stores_per_cycle + 1 / core.loads_per_cycle)
        return multiplied + START_CYCLES + core.mispredict_cycles + stored


def step_words(steps: int) -> int:
    """The words along the depth that a step takes: a divisor of all."""
    most = ROW_BYTES // WORD_BYTES
    return next(words for words in range(most, 0, -1) if steps % words == 0)


def choose_matrix_tile(rows: int, columns: int, target: Target) -> Tile:
    """The tile of a product that matrix tiles compute."""
    blocks = min(MOST_BLOCKS, -(-columns // target.lanes(32)))
    tiles = -(-rows // MOST_ROWS)
    height = -(-rows // tiles)
    if height > ROWS and height % 2 and height < rows:
        height += 1
    return Tile(height, blocks)


def matrix_tiles(rows: int, columns: int, target: Target) -> list[Tile]:
    """The tiles that a product could have."""
    best = choose_matrix_tile(rows, columns, target)
    tiles = [Tile(min(rows, height), best.blocks) for height in (best.rows, ROWS)]
    return list(dict.fromkeys(tiles))


def matrix_cycles(
    tile: Tile, rows: int, columns: int, steps: int, target: Target
) -> float:
    """The estimated cycles of a product by such tiles, as `product_cycles` has them."""
    words, core = step_words(steps), target.core
    groups, rest = divmod(-(-columns // target.lanes(32)), tile.blocks)
    cycles = groups * MatrixTile.of_rows(tile.rows, tile.blocks, words).cycles(
        steps, core
    )
    if rest:
        cycles += MatrixTile.of_rows(tile.rows, rest, words).cycles(steps, core)
    return CONFIGURE_CYCLES + -(-rows // tile.rows) * cycles


def wrong_matrix_tile(tile: Tile, rows: int) -> str | None:
    """Why matrix tiles cannot compute a product so, if they cannot."""
    most = min(rows, MOST_ROWS)
    if tile.rows <= most and tile.blocks <= MOST_BLOCKS:
        return None
    return (
        f"a tile of {tile.rows} rows and {tile.blocks} blocks: matrix tiles allow "
        f"1 to {most} rows and 1 to {MOST_BLOCKS} blocks"
    )
