"""What a kernel of Strassen's product computes, and where it is faster than a direct one."""

from __future__ import annotations

from dataclasses import dataclass

from glow.backends.cpu.dialect.config import (
    MatmulConfig,
    StrassenConfig,
    wrong_prefetch,
)
from glow.backends.cpu.kernels.matmul.matmul_spec import F32_BYTES, MatmulSpec
from glow.backends.cpu.reference.strassen import PRODUCTS
from glow.backends.cpu.tiling.matmul_tile import wrong_cut
from glow.backends.cpu.tiling.row_order import RowOrder, row_order
from glow.backends.cpu.tiling.tile_store import TileEpilogue
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.work_items import prefers_rows
from glow.lowering.target.target import Target

WANTED_WORK_ITEMS = {1: 8, 2: 4}
SCRATCH_TILES = {1: 8, 2: 4}
"""The most tiles of rows in a block, by levels: 84 KiB of products with 8 x 3 registers of 64
bytes, 210 KiB with the quadrants of half-size products."""
PASSES = 2
"""How often an element of the left matrix's sums, or of the result, goes through a cache."""
MIN_ROWS = 5
"""Rows, in those for which multiplying takes as long as weights take to arrive. Fewer are bound by
reading the weights, of which there are 7 / 4 as many."""

MOST_BLOCKS = 2
"""The most blocks of rows with two levels."""


@dataclass(frozen=True)
class StrassenSpec:
    """C[rows, columns] = epilogue(A[rows, depth] B[depth, columns] + bias), f32.

    Arguments of the kernel: C, A, the scales of its rows, its sums [7, rows / 2, depth / 2],
    with two levels [49, rows / 4, depth / 4], packed B, bias if `has_bias`, the epilogue's
    inputs.
    """

    rows: int
    columns: int
    depth: int
    has_bias: bool = False
    epilogue: Epilogue | None = None
    levels: int = 1
    config: StrassenConfig | None = None
    """Chosen before; else the best one for the target."""

    def supported(self, target: Target) -> bool:
        """Whether the quadrants are equal and their columns fill registers."""
        parts = self.parts
        even = not (self.rows % parts or self.depth % parts)
        return even and self.columns % (parts * target.lanes(32)) == 0

    def is_profitable(self, target: Target) -> bool:
        """Whether the saved eighth of the products outweighs the sums.

        Each element of A is part of seven sums that are written and read back, each one of
        C goes through the scratch. Sums and weights are 7 / 4 of a direct product's, so that
        more is read again where they leave the second cache. Two levels pay where one pays for
        the half-size products.
        """
        core = target.core
        if not self.supported(target) or self.rows < MIN_ROWS * core.balance:
            return False
        if self.levels > 1:
            half = StrassenSpec(self.rows // 2, self.columns // 2, self.depth // 2)
            return self._reads_weights_well(target) and half.is_profitable(target)
        saved = self.rows * self.columns * self.depth / 8
        moved = self.rows * self.depth + self.rows * self.columns
        passes = PASSES * core.pass_cycles * moved
        direct = MatmulSpec(self.rows, self.columns, self.depth)
        again = self.row_order(target).read_again - direct.row_order(target).read_again
        reads = target.lanes(32) * again / core.sustained_l3_bytes_per_cycle
        return saved > core.fma_per_cycle * (passes + reads)

    def row_order(self, target: Target) -> RowOrder:
        """How many tiles of rows, of all sums, stay near while panels pass."""
        leaf = self.leaf
        row_bytes = F32_BYTES * self.products * leaf.depth
        return row_order(
            self.tiles(target),
            leaf.tile(target).rows * row_bytes,
            leaf.split(target).units,
            row_bytes * leaf.columns,
            target,
        )

    def is_blocked(self, target: Target) -> bool:
        """Whether a block of rows goes through all panels before the next one does."""
        return self.row_order(target).tiles < self.tiles(target)

    def _reads_weights_well(self, target: Target) -> bool:
        """Whether panels give work items enough, and few blocks of rows read all of them.

        Two levels have three times the weights.
        """
        enough = self.leaf.split(target).units >= WANTED_WORK_ITEMS[self.levels]
        return enough and self.row_tiles(target)[0] <= MOST_BLOCKS

    @property
    def parts(self) -> int:
        """Into how many parts each side is cut."""
        return 2**self.levels

    @property
    def products(self) -> int:
        """The number of products of parts."""
        return PRODUCTS**self.levels

    @property
    def leaf(self) -> MatmulSpec:
        """The product of two parts."""
        parts, config = self.parts, self.config
        return MatmulSpec(
            self.rows // parts,
            self.columns // parts,
            self.depth // parts,
            config=MatmulConfig(config.rows, config.blocks) if config else None,
        )

    @property
    def packed_weights(self) -> int:
        """The elements of the factors of B."""
        return self.products * self.leaf.depth * self.leaf.columns

    @property
    def operations(self) -> int:
        """The additions and multiplications of a direct product."""
        return 2 * self.rows * self.columns * self.depth

    @property
    def tile_epilogue(self) -> TileEpilogue:
        """Bias and epilogue."""
        return TileEpilogue(self.has_bias, self.epilogue)

    def tiles(self, target: Target) -> int:
        """The tiles of rows of a part."""
        return -(-self.leaf.rows // self.leaf.tile(target).rows)

    def is_cut_by_rows(self, target: Target) -> bool:
        """Whether work items are tiles of rows."""
        if self.config is not None and self.config.cut != "auto":
            return self.config.cut == "rows"
        sums = self.products * self.leaf.rows * self.leaf.depth
        activations = sums + self.rows * (self.depth + self.columns)
        return prefers_rows(
            self.tiles(target), self.packed_weights, activations, target.core
        )

    def row_tiles(self, target: Target) -> tuple[int, int]:
        """(blocks of rows, tiles in each of them)."""
        tiles = self.tiles(target)
        if self.config:
            per_block = -(-tiles // self.config.row_blocks)
            return -(-tiles // per_block), per_block
        units = self.leaf.split(target).units
        most, wanted = SCRATCH_TILES[self.levels], WANTED_WORK_ITEMS[self.levels]
        most = min(most, self.row_order(target).tiles)
        if self.is_cut_by_rows(target):
            wanted = 1
        blocks = max(-(-tiles // most), -(-wanted // units))
        per_block = -(-tiles // min(blocks, tiles))
        return -(-tiles // per_block), per_block

    def choose_config(self, target: Target) -> StrassenConfig:
        """The best configuration for a target."""
        tile = self.leaf.tile(target)
        return StrassenConfig(tile.rows, tile.blocks, self.row_tiles(target)[0])

    def fetches_weights(self, target: Target) -> bool:
        """Whether the factors of B, from beyond the L2, are fetched ahead."""
        return F32_BYTES * self.packed_weights > target.l2_bytes

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the product does not allow of the configuration, if so."""
        wrong = self.leaf.wrong_config(target)
        if wrong is not None or self.config is None:
            return wrong
        wrong = wrong_cut(self.config.cut) or wrong_prefetch(self.config.prefetch)
        if wrong is not None:
            return wrong
        tiles, blocks = self.tiles(target), self.config.row_blocks
        least = -(-tiles // SCRATCH_TILES[self.levels])
        if least <= blocks <= tiles:
            return None
        return (
            f"{blocks} blocks of rows: {tiles} tiles of rows and the scratch allow {least} "
            f"to {tiles}"
        )
