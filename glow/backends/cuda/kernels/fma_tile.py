"""Results of a block by fused multiply-adds: each thread has a tile of them in registers.

The 32 threads of a warp stand in 4 rows of 8. Thread (y, x) has rows y, y + Y, ..., where Y is
how many threads there are in a column, and four columns in a row of every 4 X; where the second
factor's depth is contiguous, columns x, x + X, ... So no two lanes of a warp meet in a bank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.kernels.gpu_builder import WARP, GpuBuilder
from glow.backends.cuda.kernels.results import Piece
from glow.backends.cuda.kernels.shared_tile import SharedTile
from glow.lowering.loop_builder.index_builder import Index

WARP_ROWS, WARP_COLUMNS, LANES = 4, 8, 4


class FmaTile:
    """The sums of a thread: one vector<rows x columns / 4 x 4>."""

    def __init__(
        self, b: GpuBuilder, spec: ContractionSpec, a: SharedTile, other: SharedTile
    ) -> None:
        self.b, self.spec, self.a, self.other = b, spec, a, other
        tile = spec.tile
        self.height, self.width = (
            WARP_ROWS * tile.warps[0],
            WARP_COLUMNS * tile.warps[1],
        )
        self.shape = (
            tile.rows // self.height,
            tile.columns // self.width // LANES,
            LANES,
        )
        warp, lane = b.unflatten(b.thread(), (tile.threads // WARP, WARP))
        warp_row, warp_column = b.unflatten(warp, tile.warps)
        row, column = b.unflatten(lane, (WARP_ROWS, WARP_COLUMNS))
        self.y = b.add(b.mul(warp_row, WARP_ROWS), row)
        self.x = b.add(b.mul(warp_column, WARP_COLUMNS), column)

    def zeros(self) -> list[SSAValue]:
        """The sums before the first step."""
        return [self.b.broadcast(self.b.constant(0, f32), self.shape)]

    def step(self, stage: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums after the tiles of a stage."""
        (total,) = sums
        for k in range(self.spec.tile.depth):
            row = self.b.broadcast(self.read_row(stage, k), self.shape)
            total = self.b.fma(self.read_column(stage, k), row, total)
        return [total]

    def depth_column(self, tile: SharedTile, position: Index, k: int) -> Index:
        """Where step k of a row is, whose chunks are swizzled as those of `position`."""
        chunk = tile.shape.chunk
        first = self.b.xor(k - k % chunk, tile.shape.swizzle(self.b, position))
        return self.b.add(first, k % chunk)

    def read_column(self, stage: Index, k: int) -> SSAValue:
        """The first factor at step k, for all columns alike."""
        rows, stages = self.shape[0], self.spec.tile.stages
        memory, depth = self.a.memory, self.spec.tile.depth
        if self.a.shape.factor.is_depth_contiguous:
            view = self.b.shared_view(memory, (stages, rows, self.height, depth))
            place = [stage, 0, self.y, self.depth_column(self.a, self.y, k)]
            return self.b.transfer_read(view, place, self.shape, (1, None, None))
        view = self.b.shared_view(memory, (stages, depth, rows, self.height))
        return self.b.transfer_read(
            view, [stage, k, 0, self.y], self.shape, (2, None, None)
        )

    def read_row(self, stage: Index, k: int) -> SSAValue:
        """The second factor at step k: vector<columns / 4 x 4>."""
        stages, depth, groups = (
            self.spec.tile.stages,
            self.spec.tile.depth,
            self.shape[1],
        )
        memory, shape = self.other.memory, self.shape[1:]
        if self.other.shape.factor.is_depth_contiguous:
            split = (stages, groups, LANES, self.width, depth)
            column = self.depth_column(self.other, self.x, k)
            view = self.b.shared_view(memory, split)
            return self.b.transfer_read(
                view, [stage, 0, 0, self.x, column], shape, (1, 2)
            )
        view = self.b.shared_view(memory, (stages, depth, groups, LANES * self.width))
        first = self.b.mul(self.x, LANES)
        return self.b.transfer_read(view, [stage, k, 0, first], shape, (2, 3))

    def pieces(self, m: Index, n: Index, sums: Sequence[SSAValue]) -> Iterator[Piece]:
        """The results of a thread, for a tile at (m, n)."""
        b, (rows, groups, _) = self.b, self.shape
        strided = self.other.shape.factor.is_depth_contiguous
        first = b.add(n, self.x if strided else b.mul(self.x, LANES))
        for i in range(rows):
            row = b.add(m, b.add(self.y, i * self.height))
            for j in range(groups):
                column = b.add(first, j * LANES * self.width)
                value = b.extract(sums[0], i, j)
                yield Piece(value, row, column, self.width if strided else 1)
