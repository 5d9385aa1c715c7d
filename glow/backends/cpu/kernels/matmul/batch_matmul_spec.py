"""What a product of activations is, the forms that it can have, and its register tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import BatchMatmulConfig
from glow.backends.cpu.tiling.matmul_tile import (
    ColumnSplit,
    RowBlocks,
    Tile,
    choose_tile,
    wrong_tile,
)
from glow.backends.cpu.tiling.matrix_memory import Strides, flat
from glow.backends.cpu.tiling.tile_store import TileEpilogue
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.target.target import Target

DEPTH_BLOCK = 512
"""The steps of the depth in a block: 128 KiB of four registers of columns, which are transposed
on the stack. Of operands that lie as they are read, blocks may be several times as deep."""
IN_PLACE = 4
MAX_SUMS = 1 << 14
"""The elements of C that wait on the stack for the next block."""
PACK_ROWS = 6
"""From so many rows on, transposing costs less than summing up registers."""
_DOT_ROWS = 4
_DOT_COLUMNS = 4


@dataclass(frozen=True)
class DynamicBatchMatmul:
    """C[batch, rows, columns] = A[.., rows, depth] B[.., depth, columns], in any elements.

    Strides are in elements; the row of B is its index along the depth. C's columns are
    contiguous.
    """

    batch: tuple[int, ...]
    rows: int
    columns: int
    depth: int
    a: Strides
    b: Strides
    c: Strides

    def __post_init__(self) -> None:
        if self.c.column != 1:
            raise ValueError("a batch matmul stores contiguous columns")

    @property
    def operations(self) -> int:
        """The additions and multiplications."""
        return 2 * prod(self.batch) * self.rows * self.columns * self.depth

    def buffers(
        self, tile_epilogue: TileEpilogue, element: Attribute = f32, *others: MemRefType
    ) -> list[MemRefType]:
        """The types of C, A, B, the others, and what the epilogue takes."""
        a = flat(self.a.span(self.batch, self.rows, self.depth), element)
        b = flat(self.b.span(self.batch, self.depth, self.columns), element)
        c = tile_epilogue.output(self.c.span(self.batch, self.rows, self.columns))
        return [c, a, b, *others, *tile_epilogue.buffers(c, self.rows, self.columns)]


@dataclass(frozen=True)
class BatchMatmulSpec(DynamicBatchMatmul):
    """C = epilogue(A B + bias), f32.

    Arguments of the kernel: C, A, B, bias if `has_bias`, the epilogue's inputs. Bias and
    "channel" inputs have one value per `channel`; "full" inputs are strided like C and must
    not be C.
    """

    has_bias: bool = False
    epilogue: Epilogue | None = None
    channel: Literal["row", "column"] = "column"
    config: BatchMatmulConfig | None = None
    """Chosen before; else the best one for the target."""

    @staticmethod
    def dense(
        batch: tuple[int, ...],
        rows: int,
        columns: int,
        depth: int,
        *,
        has_bias: bool = False,
        epilogue: Epilogue | None = None,
    ) -> BatchMatmulSpec:
        """The product of dense row-major operands."""
        a = dense_strides(batch, batch, rows, depth)
        b = dense_strides(batch, batch, depth, columns)
        c = dense_strides(batch, batch, rows, columns)
        return BatchMatmulSpec(batch, rows, columns, depth, a, b, c, has_bias, epilogue)

    @property
    def tile_epilogue(self) -> TileEpilogue:
        """Bias and epilogue."""
        return TileEpilogue(self.has_bias, self.epilogue, self.channel)

    @property
    def forms(self) -> Sequence[str]:
        """How the product can be computed, the best first."""
        if self.b.column == 1:
            return ("direct",)
        if self.b.row != 1 or self.a.column != 1:
            return ("pack",)
        return ("dot", "pack") if self.rows < PACK_ROWS else ("pack", "dot")

    @property
    def form(self) -> str:
        """How the product is computed."""
        return self.config.form if self.config else self.forms[0]

    def tile(self, target: Target) -> Tile:
        """The register tile; of the columns themselves in the `dot` form."""
        if self.config:
            return Tile(self.config.rows, self.config.blocks)
        if self.form != "dot":
            return choose_tile(self.rows, self.columns, self.depth, target)
        return self._dot_tile

    @property
    def _dot_tile(self) -> Tile:
        """The tile of the `dot` form, for all targets: with few registers some are stored."""
        rows = min(self.rows, _DOT_ROWS)
        most = _DOT_COLUMNS if rows > 1 else 2 * _DOT_COLUMNS
        return Tile(rows, min(self.columns, most))

    @property
    def depth_block(self) -> int:
        """The steps of the depth in a block: as large as blocks of equal size may be."""
        in_place = self.a.column == self.b.column == 1
        most = DEPTH_BLOCK * (IN_PLACE if in_place else 1)
        blocks = -(-self.depth // most)
        while blocks < 2 * self.depth // most and self.depth % blocks:
            blocks += 1
        return -(-self.depth // blocks)

    @property
    def copies_lhs(self) -> bool:
        """Whether rows of A lie across the memory's, too far apart to be read in place."""
        deep = self.depth_block < self.depth
        return self.form == "direct" and deep and self.a.row == 1 != self.a.column

    def row_blocks(self, split: ColumnSplit, tile_rows: int) -> RowBlocks:
        """How the rows are cut into work items."""
        units = prod(self.batch) * split.units
        most = None
        if self.depth_block < self.depth:
            most = max(1, MAX_SUMS // (tile_rows * split.blocks * split.lanes))
        return RowBlocks.split(self.rows, tile_rows, units, most)

    def choose_config(self, target: Target) -> BatchMatmulConfig:
        """The best configuration for a target."""
        tile = self.tile(target)
        return BatchMatmulConfig(self.form, tile.rows, tile.blocks)

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the shapes do not allow of the configuration, if so."""
        if self.form not in self.forms:
            known = ", ".join(self.forms)
            return f"the form {self.form}: how the operands lie and their sizes allow {known}"
        tile = self.tile(target)
        if self.form != "dot":
            return wrong_tile(tile, self.rows, target)
        usual, registers = self._dot_tile, target.num_vector_registers
        if tile.rows <= usual.rows and tile.blocks <= usual.blocks:
            return None
        rows = min(self.rows, (registers - 1 - tile.blocks) // tile.blocks)
        if tile.blocks > min(self.columns, registers // 2) or tile.rows > max(1, rows):
            return (
                f"a tile of {tile.rows} rows and {tile.blocks} columns: the target's "
                f"{registers} registers and a product of {self.rows} x {self.columns} allow "
                f"1 to {max(1, rows)} rows"
            )
        return None


def dense_strides(
    batch: tuple[int, ...], own: tuple[int, ...], rows: int, columns: int
) -> Strides:
    """The strides of a dense [*own, rows, columns] operand of a product over `batch`.

    Extents of 1 repeat the operand.
    """
    own = (1,) * (len(batch) - len(own)) + own
    steps = types.row_major_strides((*own, rows, columns))
    outer = tuple(
        0 if extent == 1 else step for extent, step in zip(own, steps, strict=False)
    )
    return Strides(outer, columns, 1)
