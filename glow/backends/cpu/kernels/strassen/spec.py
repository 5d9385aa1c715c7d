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
from glow.lowering.target.core import Core
from glow.lowering.target.target import Target

WANTED_WORK_ITEMS = {1: 8, 2: 4}
SCRATCH_TILES = {1: 8, 2: 4}
"""The most tiles of rows in a block, by levels: 84 KiB of products with 8 x 3 registers of 64
bytes, 210 KiB with the quadrants of half-size products."""
PASSES = 2
"""How often an element of the result goes through a cache."""
MIN_ROWS = 5
"""Rows, and rows of a block, in those for which multiplying takes as long as weights take to
arrive. Fewer are bound by reading the weights, of which there are 7 / 4 as many."""

MOST_BLOCKS = 2
"""The most blocks of rows with two levels."""


def _again_cycles(order: RowOrder, rows: int, weights: int, core: Core) -> float:
    """Those of what is read again, of so many bytes, that multiply-adds do not hide: of rows where
    all of them pass each panel, else of weights.

    Half of the last cache is for other values.
    """
    held = weights if order.is_blocked else rows
    if core.hidden_l3_reads and 2 * held > core.l3_bytes:
        return order.read_again / core.contended_memory_bytes_per_cycle
    shown = 1 - core.hidden_l3_reads
    return shown * order.read_again / core.sustained_l3_bytes_per_cycle


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
        """Whether the quadrants are equal and their columns fill registers; with one level the
        lower ones may have a row less.
        """
        if self.depth % self.parts or (self.lacks_row and self.levels > 1):
            return False
        return self.columns % (self.parts * target.lanes(32)) == 0

    @property
    def lacks_row(self) -> bool:
        """Whether there are fewer rows than in all quadrants, which have equally many.

        The last row of some is read as the matrix's last one then, and not written.
        """
        return self.rows % self.parts != 0

    def is_profitable(self, target: Target) -> bool:
        """Whether the saved eighth of the products outweighs the sums.

        Each element of A is read, and part of seven sums that are written: where these and A do not
        stay in a cache, the next one says how long that takes. Each one of C goes through the
        scratch. Sums and weights are 7 / 4 of a direct product's, so that more is read again
        where they leave the second cache. Two levels pay where one pays for the half-size products.
        """
        if not self.supported(target):
            return False
        if self.levels == 1:
            return self._uses_weights_well(target) and self._saves_cycles(target)
        half = StrassenSpec(self.rows // 2, self.columns // 2, self.depth // 2)
        if half.rows < MIN_ROWS * target.core.balance or not half.supported(target):
            return False
        return self._reads_weights_well(target) and half._saves_cycles(target)

    def _uses_weights_well(self, target: Target) -> bool:
        """Whether there are rows enough for weights from memory, and in each block for those that
        the first one left in the last cache.
        """
        core, blocks = target.core, self.row_tiles(target)[0]
        from_cache = core.fma_per_cycle * core.vector_bytes
        from_cache /= core.sustained_l3_bytes_per_cycle
        least = max(core.balance, blocks * from_cache)
        return self.rows >= MIN_ROWS * least

    def _saves_cycles(self, target: Target) -> bool:
        """Whether an eighth of the multiply-adds takes longer than sums and more reads."""
        core = target.core
        direct = MatmulSpec(self.rows, self.columns, self.depth)
        saved = self.rows * self.columns * self.depth / 8
        weights = F32_BYTES * self.columns * self.depth
        factors = F32_BYTES * self.packed_weights
        again = _again_cycles(self.row_order(target), self._sum_bytes, factors, core)
        again -= _again_cycles(
            direct.row_order(target), self._matrix_bytes, weights, core
        )
        vectors = core.fma_per_cycle * target.lanes(32)
        return saved > vectors * (self._pass_cycles(core) + again)

    @property
    def _matrix_bytes(self) -> int:
        return F32_BYTES * self.rows * self.depth

    @property
    def _sum_bytes(self) -> int:
        return F32_BYTES * self.products * self.leaf.rows * self.leaf.depth

    def _pass_cycles(self, core: Core) -> float:
        """Those in which sums are made, and results of products.

        Where the matrix and its sums do not stay in the last cache together, both are in memory:
        what is written there is read first.
        """
        matrix, sums = self._matrix_bytes, self._sum_bytes
        if 2 * (matrix + sums) > core.l3_bytes:
            moved = (matrix + 2 * sums) / core.contended_memory_bytes_per_cycle
        else:
            rate = core.bytes_per_cycle
            moved = matrix / rate(matrix) + sums / rate(sums)
        made = 2 * core.move_cycles * matrix / core.vector_bytes
        results = F32_BYTES * self.rows * self.columns / core.vector_bytes
        return made + moved + PASSES * core.pass_cycles * results

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
        return self.row_order(target).is_blocked

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
            -(-self.rows // parts),
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
