"""What a product with block-quantized weights is, and how it is cut into tiles.

Weights have a few bits, and a scale (and a zero point) for each block of a column. They stay so in
memory: a product of few rows takes as long as it takes to read them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32

from glow.backends.cpu.dialect.config import MatmulConfig
from glow.backends.cpu.tiling.matmul_tile import (
    MAX_BLOCKS,
    ColumnSplit,
    RowBlocks,
    Tile,
    product_cycles,
)
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.backends.cpu.tiling.tile_store import TileEpilogue
from glow.dialects.attributes import Attributes
from glow.dialects.glow.quantization import WEIGHT_BITS
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.target.target import Target

WORD_BITS = 32
MANTISSA_BITS = 23
MOST_WEIGHTS = 256
"""Of a block. Before they are scaled, weights are so small that the sum of a block is no larger
than the largest number of A: nothing overflows that need not."""

OTHER_REGISTERS = 2
"""For a number of the rows, and one on its way from code to weight."""

MAX_PANEL_BYTES = 1 << 17
"""Of the weights of a panel that are dequantized at once, on the stack. It says where sums wait,
not how they are added up."""

MAX_SUM_BYTES = 1 << 16
"""Of the sums that wait for the next weights, on the stack."""


@dataclass(frozen=True)
class BlockFormat:
    """How weights are quantized: `bits` each, and `size` along the depth have one scale.

    Where `has_points`, they have a zero point too; otherwise that is the middle of the codes.
    """

    bits: int
    size: int
    has_points: bool = False

    @staticmethod
    def of(attributes: Attributes) -> BlockFormat:
        """That of a `cpu.block_quantized_matmul`."""
        numbers = attributes.int("bits"), attributes.int("block_size")
        return BlockFormat(*numbers, attributes.has("points"))

    @property
    def attributes(self) -> dict[str, int | bool]:
        """Those of the node."""
        points = {"points": True} if self.has_points else {}
        return {"bits": self.bits, "block_size": self.size, **points}

    @property
    def codes(self) -> int:
        """The weights of a word, which follow each other along the depth."""
        return WORD_BITS // self.bits

    @property
    def unit(self) -> float:
        """What a code counts in its float: a power of two, the inverse of which is in the scale."""
        return 2.0**-self.bits / MOST_WEIGHTS

    @property
    def middle(self) -> int:
        """The code that means 0 where there is no zero point."""
        return 1 << (self.bits - 1)

    @property
    def parameters(self) -> int:
        """The numbers before the words of a block."""
        return 1 + self.has_points

    @property
    def words(self) -> int:
        """The words of a block of a column."""
        return self.size // self.codes

    @property
    def record(self) -> int:
        """All that a block of a column takes, in words."""
        return self.parameters + self.words

    def wrong(self, depth: int) -> str | None:
        """Why a kernel cannot read it, if so."""
        if self.bits not in WEIGHT_BITS:
            known = ", ".join(map(str, WEIGHT_BITS))
            return f"weights of {self.bits} bits: there are {known}"
        if self.size > MOST_WEIGHTS:
            return f"blocks of {self.size}: the largest have {MOST_WEIGHTS} weights"
        if self.size <= 0 or self.size % self.codes or depth % self.codes:
            return (
                f"blocks of {self.size} in a depth of {depth}: both must be multiples of "
                f"the {self.codes} weights in a word"
            )
        return None


@dataclass(frozen=True)
class BlockQuantizedSpec:
    """C[rows, columns] = epilogue(A[rows, depth] B[depth, columns] + bias), all of f32.

    B is (code - zero point) * scale. Arguments of the kernel: C, A, packed B, bias if `has_bias`,
    the epilogue's inputs. `config`: the register tile, chosen before; else the best one.
    """

    rows: int
    columns: int
    depth: int
    format: BlockFormat
    has_bias: bool = False
    epilogue: Epilogue | None = None
    int8_rows: bool = False
    """Whether A is of bytes with a sign, which have a scale for each block of a row."""
    config: MatmulConfig | None = None

    def __post_init__(self) -> None:
        wrong = self.format.wrong(self.depth)
        if wrong is not None:
            raise ValueError(wrong)

    @property
    def operations(self) -> int:
        """The additions and multiplications of the product."""
        return 2 * self.rows * self.columns * self.depth

    @property
    def quantized_blocks(self) -> int:
        """The blocks of a column; the last one may be cut short."""
        return -(-self.depth // self.format.size)

    @property
    def first_word(self) -> int:
        """Where the words of a block begin: in front of its scales and zero points, which products
        of bytes need after them, or behind.

        On a Zen 4 a row of bytes took 2.4 times as long with the scales in front, and one of
        floats 1.14 times as long with the scales behind.
        """
        return 0 if self.int8_rows else self.format.parameters

    @property
    def scale_row(self) -> int:
        """Where the scales of a block are."""
        return self.format.words if self.int8_rows else 0

    @property
    def point_row(self) -> int:
        """Where its zero points are, if it has some."""
        return self.scale_row + 1

    @property
    def a_strides(self) -> Strides:
        """The layout of A."""
        return Strides((), self.depth, 1)

    @property
    def c_strides(self) -> Strides:
        """The layout of C and of the epilogue's "full" inputs."""
        return Strides((), self.columns, 1)

    @property
    def tile_epilogue(self) -> TileEpilogue:
        """Bias and epilogue."""
        return TileEpilogue(self.has_bias, self.epilogue)

    def tile(self, target: Target) -> Tile:
        """The register tile, which decides how the weights are packed."""
        config = self.config or self.choose_config(target)
        return Tile(config.rows, config.blocks)

    def tallest(self, blocks: int, target: Target) -> int:
        """The most rows of a tile that leave registers for weights, scales and zero points."""
        of_weights = blocks * (1 + self.format.parameters) + OTHER_REGISTERS
        sums = blocks * (1 + self.int8_rows)  # Of integers and of floats.
        return max(1, (target.num_vector_registers - of_weights) // sums)

    def choose_config(self, target: Target) -> MatmulConfig:
        """The best register tile for a target."""
        tile = self.tiles(target)[0]
        return MatmulConfig(tile.rows, tile.blocks)

    def shared_config(self, target: Target) -> MatmulConfig:
        """The one whose weights products of more or fewer rows read too: as wide as one row's."""
        blocks = replace(self, rows=1).choose_config(target).blocks
        tiles = (tile for tile in self.tiles(target) if tile.blocks == blocks)
        return MatmulConfig(next(tiles).rows, blocks)

    def tiles(self, target: Target) -> list[Tile]:
        """The register tiles that the registers allow, those with the fewest cycles first.

        Weights are dequantized once, whatever the tile.
        """
        core, total = target.core, -(-self.columns // target.lanes(32))
        tiles = [
            Tile(rows, blocks)
            for blocks in range(1, min(MAX_BLOCKS, total) + 1)
            for rows in range(1, min(self.rows, self.tallest(blocks, target)) + 1)
        ]
        return sorted(
            tiles, key=lambda t: product_cycles(t, self.rows, total, self.depth, core)
        )

    def is_dequantized_before(self, target: Target) -> bool:
        """Whether a panel of weights is dequantized once, for all tiles of rows."""
        return self.tile(target).rows < self.rows and not target.for_size

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the product does not allow of the configuration, if so."""
        tile = self.tile(target)
        most = min(self.rows, self.tallest(tile.blocks, target))
        if tile.rows > most:
            return (
                f"a tile of {tile.rows} rows and {tile.blocks} blocks: the target's "
                f"{target.num_vector_registers} registers and {self.rows} rows of the "
                f"product allow 1 to {most} rows"
            )
        if self.config not in (None, MatmulConfig(tile.rows, tile.blocks)):
            return "more than rows and blocks where weights are block-quantized"
        return None

    def split(self, target: Target) -> ColumnSplit:
        """How the columns are cut into tiles."""
        return ColumnSplit(self.columns, target.lanes(32), self.tile(target).blocks)

    def row_blocks(self, target: Target) -> RowBlocks:
        """How the rows are cut into work items."""
        tile, split = self.tile(target), self.split(target)
        tile_bytes = tile.rows * self.width_bytes(target)
        most = max(1, MAX_SUM_BYTES // tile_bytes)
        return RowBlocks.split(self.rows, tile.rows, split.units, most)

    def width_bytes(self, target: Target) -> int:
        """The bytes of a row of a panel."""
        lanes = self.tile(target).blocks * target.lanes(32)
        return lanes * types.byte_width(f32)

    def blocks_of_panel(self, target: Target) -> int:
        """The blocks along the depth that are dequantized at once."""
        size = self.format.size * self.width_bytes(target)
        return min(self.quantized_blocks, max(1, MAX_PANEL_BYTES // size))

    def packed_words(self, target: Target) -> int:
        """The size of the packed B."""
        lanes = target.lanes(32)
        width = -(-self.columns // lanes) * lanes
        return self.quantized_blocks * self.format.record * width
