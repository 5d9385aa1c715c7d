"""The sums of a line of a convolution between two chunks of its input channels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.tiling.row_tiles import RowTraversal
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import Tile, TileBody


@dataclass(frozen=True)
class PartialSums:
    """A place on the stack for the sums of each pixel of a line: [pixels, blocks, lanes].

    They are what the accumulators of tiles were, so that results are the same bits as where all
    channels come at once.
    """

    builder: LoopBuilder
    line: RowTraversal
    buffer: SSAValue
    origin: tuple[Index, Index] = (0, 0)
    """The first row and column of the line."""

    @staticmethod
    def of(
        builder: LoopBuilder, line: RowTraversal, part: ChannelPart, spec: Conv2dSpec
    ) -> PartialSums:
        """Room for the sums of a part's lines."""
        shape = (line.rows * line.most_columns, part.blocks, spec.lanes)
        buffer = builder.alloca(types.memref_type(shape, spec.sums))
        return PartialSums(builder, line, buffer)

    def read(self, tile: Tile) -> SSAValue:
        """The sums of a tile: [pixels, blocks, lanes]."""
        shape = (tile.pixels, *types.shape_of(self.buffer)[1:])
        return self.builder.transfer_read(self.buffer, self._at(tile), shape, (0, 1, 2))

    def write(self, tile: Tile, sums: SSAValue) -> None:
        """Keeps the sums of a tile."""
        self.builder.transfer_write(sums, self.buffer, self._at(tile), (0, 1, 2))

    def _at(self, tile: Tile) -> tuple[Index, Index, Index]:
        b, (row, column) = self.builder, self.origin
        before = b.mul(b.sub(tile.row, row), self.line.most_columns)
        return b.add(before, b.sub(tile.column, column)), 0, 0

    def of_line(self, line: Index) -> tuple[PartialSums, Callable[[TileBody], None]]:
        """The place of a line, and a loop over its pixels as tiles of one."""
        b = self.builder
        rows, columns = self.line.area(b, line)

        def each(body: TileBody) -> None:
            def pixel(row: Index, column: Index) -> None:
                body(Tile(row, column, 1, False, (0, 0), (0, 0)))

            b.loop(
                *rows,
                1,
                lambda row: b.loop(*columns, 1, lambda column: pixel(row, column)),
            )

        return replace(self, origin=(rows[0], columns[0])), each
