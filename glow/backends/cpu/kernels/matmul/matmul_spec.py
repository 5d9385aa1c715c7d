"""What a product with a constant right matrix is, and how it is cut into tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import bf16, f32, i8, i16, i32
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import (
    USUAL_PREFETCH,
    MatmulConfig,
    wrong_prefetch,
)
from glow.backends.cpu.tiling.int8_tile import WORD, pair_products
from glow.backends.cpu.tiling.matmul_tile import (
    MANY_ROWS,
    ColumnSplit,
    RowBlocks,
    Tile,
    choose_shared_tile,
    choose_tile,
    product_cycles,
    wrong_cut,
    wrong_tile,
)
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.backends.cpu.tiling.matrix_tile import (
    MatrixTile,
    choose_matrix_tile,
    matrix_cycles,
    step_words,
    wrong_matrix_tile,
)
from glow.backends.cpu.tiling.row_order import RowOrder, row_order
from glow.backends.cpu.tiling.tile_store import TileEpilogue
from glow.backends.cpu.tiling.tiles import has_small_tiles
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.work_items import prefers_rows
from glow.lowering.target.target import Target

F32_BYTES = 4

STREAMS = 4
"""One thread of a Zen 3 reads 18 to 21 GB/s of memory in order, 24 to 27 in two places in turns, 26
to 29 in four, and no more in eight."""

SUM_REGISTERS = 3
"""Of a sum of bytes where numbers are one by one: its own, and those of two words' halves."""


@dataclass(frozen=True)
class MatmulSpec:
    """C[rows, columns] = epilogue(A[rows, depth] B[depth, columns] + bias).

    `element` is what A and B have. bf16 needs an even depth, and sums are f32; bytes, unsigned
    times signed ones, a multiple of four, and sums are i32. Arguments of the kernel: C, A,
    packed B, bias if `has_bias`, the epilogue's inputs. A and C
    may have longer rows in memory (`a_row_stride`, `c_row_stride`; 0: dense). A "full" input of
    the epilogue is strided like C and must not be C. `widens`: A is f32, B is stored as bf16.
    `signed_input`: the bytes of A are read as signed ones, 128 lower.
    `config`: the register tile, chosen before; else the best one for the target.
    """

    rows: int
    columns: int
    depth: int
    has_bias: bool = False
    epilogue: Epilogue | None = None
    a_row_stride: int = 0
    c_row_stride: int = 0
    element: Attribute = f32
    widens: bool = False
    signed_input: bool = False
    step: int = WORD
    """The bytes along the depth that are multiplied at once."""
    wide_input: bool = False
    """Whether the bytes of A are stored as 16-bit integers, two of which are multiplied at once."""
    config: MatmulConfig | None = None

    def __post_init__(self) -> None:
        if self.depth % self.group:
            raise ValueError(
                f"{self.element} products take a depth in groups of {self.group}"
            )

    @property
    def a_element(self) -> Attribute:
        """The element type of A in memory."""
        return i16 if self.wide_input else self.element

    @property
    def sums(self) -> Attribute:
        """The element type of sums and bias."""
        return i32 if self.element == i8 else f32

    @property
    def group(self) -> int:
        """The elements that are multiplied and added up at once: as many as fit in 32 bits, of
        bytes maybe more.
        """
        if self.element == i8:
            return self.step
        return 2 if self.widens else max(1, 32 // types.bit_width(self.element))

    def is_bound_by_reading(self, target: Target) -> bool:
        """Whether B, f32 in the L3 or DRAM, takes longer to read than to multiply."""
        core, elements = target.core, self.depth * self.columns
        read = elements * F32_BYTES / core.far_bytes_per_cycle
        multiplied = elements * self.rows / (core.fma_per_cycle * target.lanes(32))
        return elements * F32_BYTES > target.l2_bytes and read > multiplied

    def has_far_results(self, target: Target) -> bool:
        """Whether C, and what the epilogue reads beside it, comes from beyond the L2.

        A tile asks for its part before it multiplies: its stores would wait for all lines at once.
        """
        epilogue = self.tile_epilogue
        full = epilogue.operand_layouts.count("full")
        size = types.byte_width(epilogue.output(0).element_type)
        is_far = (1 + full) * self.rows * self.columns * size > target.l2_bytes
        return is_far and not target.prefers_small_loops

    @property
    def steps(self) -> int:
        """The groups along the depth."""
        return self.depth // self.group

    @property
    def operations(self) -> int:
        """The additions and multiplications of a direct product."""
        return 2 * self.rows * self.columns * self.depth

    @property
    def a_strides(self) -> Strides:
        """The layout of A."""
        return Strides((), self.a_row_stride or self.depth, 1)

    @property
    def c_strides(self) -> Strides:
        """The layout of C and of the epilogue's "full" inputs."""
        return Strides((), self.c_row_stride or self.columns, 1)

    def tile(self, target: Target) -> Tile:
        """The register tile, which decides how the weights are packed."""
        config = self.config or self.choose_config(target)
        return Tile(config.rows, config.blocks)

    def matrix_tile(self, group_blocks: int, target: Target) -> MatrixTile | None:
        """How matrix tiles compute a group of columns; None where vectors do."""
        config = self.config or self.choose_config(target)
        if not config.matrix_tiles:
            return None
        return MatrixTile.of_rows(config.rows, group_blocks, step_words(self.steps))

    def has_matrix_tiles(self, target: Target) -> bool:
        """Whether a target's matrix tiles multiply such elements."""
        if self.element == bf16:
            return target.has_bf16_tiles
        return self.element == i8 and not self.signed_input and target.has_int8_tiles

    def _vector_tile(self, target: Target) -> Tile:
        """The best tile of vectors."""
        products = self.products(target)
        tile = choose_tile(self.rows, self.columns, self.steps, target, products)
        if self.element != i8 or target.lanes(32) > 1:
            return tile
        sums = max(1, target.num_vector_registers // SUM_REGISTERS)
        blocks = min(tile.blocks, sums)
        return Tile(min(tile.rows, max(1, sums // blocks)), blocks)

    def products(self, target: Target) -> int:
        """The registers of products that another instruction adds to the sums."""
        return pair_products(target) if self.wide_input else 0

    def choose_config(self, target: Target) -> MatmulConfig:
        """The best register tile for a target."""
        tile = self._vector_tile(target)
        if self.has_matrix_tiles(target):
            matrix = choose_matrix_tile(self.rows, self.columns, target)
            if self._is_faster(matrix, tile, target):
                return MatmulConfig(matrix.rows, matrix.blocks, matrix_tiles=True)
        config = self._of_vectors(tile, target)
        wanted = replace(config, streams=STREAMS)
        streams = config.prefetch == 0 and self.fetches(config, target)
        is_possible = self._wrong_streams(wanted) is None
        return wanted if streams and is_possible else config

    def _of_vectors(self, tile: Tile, target: Target) -> MatmulConfig:
        """With that tile of vectors, which asks for no weights that pass by once and in order.

        The hardware fetches them: on a Zen 3 asking takes away a sixth of what memory gives.
        Cores with more registers were found to be as fast either way.
        """
        streams = self.rows == 1 and has_small_tiles(self.element, target)
        prefetch = 0 if streams else USUAL_PREFETCH
        return MatmulConfig(tile.rows, tile.blocks, prefetch=prefetch)

    def _wrong_streams(self, config: MatmulConfig) -> str | None:
        """What is wrong with reading the parts of a tile's blocks side by side, if anything."""
        if config.streams == 1:
            return None
        if self.rows > 1 or self.element != f32 or self.widens:
            return f"{config.streams} streams: products of one row of f32 have them"
        if config.streams < 1 or config.blocks % config.streams:
            return f"{config.streams} streams: they divide the {config.blocks} blocks"
        return None

    def _is_faster(self, matrix: Tile, vectors: Tile, target: Target) -> bool:
        """Whether matrix tiles take fewer cycles than vectors."""
        size = (self.rows, self.columns, self.steps)
        total = -(-self.columns // target.lanes(32))
        cycles = product_cycles(vectors, self.rows, total, self.steps, target.core)
        return matrix_cycles(matrix, *size, target) < cycles

    def shared_config(self, target: Target) -> MatmulConfig:
        """The one whose weights products of other numbers of rows are likely to read too."""
        size = (self.columns, self.steps, target)
        if self.has_matrix_tiles(target):
            many = replace(self, rows=max(self.rows, MANY_ROWS), config=None)
            if many.choose_config(target).matrix_tiles:
                matrix = choose_matrix_tile(self.rows, self.columns, target)
                vectors = choose_shared_tile(self.rows, *size, blocks=matrix.blocks)
                if self._is_faster(matrix, vectors, target):
                    return MatmulConfig(matrix.rows, matrix.blocks, matrix_tiles=True)
                return self._of_vectors(vectors, target)
        tile = choose_shared_tile(self.rows, *size, products=self.products(target))
        return self._of_vectors(tile, target)

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the product does not allow of the configuration, if so."""
        tile = self.tile(target)
        if self.config is not None and self.config.matrix_tiles:
            if not self.has_matrix_tiles(target):
                return "matrix tiles: the target has none for these elements"
            wrong = wrong_matrix_tile(tile, self.rows)
        else:
            wrong = wrong_tile(tile, self.rows, target, self.products(target))
        if wrong is not None or self.config is None:
            return wrong
        wrong = wrong_cut(self.config.cut) or wrong_prefetch(self.config.prefetch)
        return wrong or self._wrong_streams(self.config)

    def fetches_weights(self, target: Target) -> bool:
        """Whether B, from beyond the L2, is fetched ahead."""
        return self.fetches(self.config or self.choose_config(target), target)

    def fetches(self, config: MatmulConfig, target: Target) -> bool:
        """The same, as configured so."""
        configured = replace(self, config=config)
        elements = configured.packed_elements(target)
        tiles = configured.tiles(target)
        is_fetched = tiles == 1 or tiles >= config.blocks
        return (
            elements * types.byte_width(self.element) > target.l2_bytes and is_fetched
        )

    def streams(self, target: Target) -> int:
        """The parts of a group of columns that lie one after the other in memory."""
        return (self.config or self.choose_config(target)).streams

    def split(self, target: Target) -> ColumnSplit:
        """How the columns are cut into tiles."""
        return ColumnSplit(self.columns, target.lanes(32), self.tile(target).blocks)

    def tiles(self, target: Target) -> int:
        """The tiles of rows."""
        return -(-self.rows // self.tile(target).rows)

    def is_cut_by_rows(self, target: Target) -> bool:
        """Whether work items are tiles of rows."""
        if self.config is not None and self.config.cut != "auto":
            return self.config.cut == "rows"
        read = self.depth * types.byte_width(self.element)
        weight_bytes = read * self.columns // (2 if self.widens else 1)
        written = self.columns * types.byte_width(
            self.tile_epilogue.output(0).element_type
        )
        bytes_of_rows = self.rows * (read + written)
        return prefers_rows(
            self.tiles(target), weight_bytes, bytes_of_rows, target.core
        )

    def row_blocks(self, target: Target) -> RowBlocks:
        """How the rows are cut into work items."""
        tile, split = self.tile(target), self.split(target)
        return RowBlocks.split(self.rows, tile.rows, split.units)

    def row_order(self, target: Target) -> RowOrder:
        """How many tiles of rows go through all columns before the next ones do."""
        size = self.depth * types.byte_width(self.element)
        weights = size * self.columns // (2 if self.widens else 1)
        tile_bytes, units = self.tile(target).rows * size, self.split(target).units
        return row_order(self.tiles(target), tile_bytes, units, weights, target)

    @property
    def tile_epilogue(self) -> TileEpilogue:
        """Bias and epilogue."""
        return TileEpilogue(self.has_bias, self.epilogue, sums=self.sums)

    def packed_elements(self, target: Target) -> int:
        """The size of the packed B in elements."""
        lanes = target.lanes(32)
        return self.depth * -(-self.columns // lanes) * lanes
