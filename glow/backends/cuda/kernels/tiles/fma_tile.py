"""Results of a block by fused multiply-adds: each thread has a tile of them in registers.

The 32 threads of a warp stand in 4 rows of 8. Of a factor whose depth is contiguous thread i of I
has positions i, i + I, ..., and loads four steps of each at once; else it has four positions in a
row of every 4 I, and loads these at once. So lanes of a warp meet in no bank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.kernels.gpu_builder import WARP, GpuBuilder
from glow.backends.cuda.kernels.results import Piece
from glow.backends.cuda.kernels.tiles.shared_tile import BANK_CHUNKS, SharedTile
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index

WARP_ROWS, WARP_COLUMNS, LANES = 4, 8, 4


class FmaTile:
    """The sums of a thread: vector<columns / 4 x 4> of each of its rows."""

    def __init__(
        self, b: GpuBuilder, spec: ContractionSpec, a: SharedTile, other: SharedTile
    ) -> None:
        self.b, self.spec = b, spec
        tile = spec.tile
        height, width = WARP_ROWS * tile.warps[0], WARP_COLUMNS * tile.warps[1]
        warp, lane = b.unflatten(b.thread(), (tile.threads // WARP, WARP))
        warp_row, warp_column = b.unflatten(warp, tile.warps)
        row, column = b.unflatten(lane, (WARP_ROWS, WARP_COLUMNS))
        y = b.add(b.mul(warp_row, WARP_ROWS), row)
        x = b.add(b.mul(warp_column, WARP_COLUMNS), column)
        self.rows = ThreadPositions(b, a, y, height, tile.rows // height)
        self.columns = ThreadPositions(b, other, x, width, tile.columns // width)

    def zeros(self) -> list[SSAValue]:
        """The sums before the first step."""
        shape = types.vector_type(self.columns.shape)
        return [self.b.constant(0, shape)] * self.rows.count

    def step(self, stage: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums after the tiles of a stage."""
        b = self.b

        def four(k: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            totals = list(before)
            left, right = self.rows.read(stage, k), self.columns.read(stage, k)
            for column, row in zip(left, right, strict=True):
                for i, total in enumerate(totals):
                    factor = b.extract(column, *divmod(i, LANES))
                    factors = b.broadcast(factor, self.columns.shape)
                    totals[i] = b.fma(factors, row, total)
            return totals

        return list(b.steps(range(0, self.spec.tile.depth, LANES), sums, four))

    def pieces(self, m: Index, n: Index, sums: Sequence[SSAValue]) -> Iterator[Piece]:
        """The results of a thread, for a tile at (m, n)."""
        b, columns = self.b, self.columns
        for i, total in enumerate(sums):
            row = b.add(m, self.rows.position(i))
            for j in range(0, columns.count, LANES):
                at = b.add(n, columns.position(j))
                yield Piece(b.extract(total, j // LANES), row, at, columns.step)


class ThreadPositions:
    """The positions of m or n that a thread has: `count`, number `own` of `threads`."""

    def __init__(
        self, b: GpuBuilder, tile: SharedTile, own: Index, threads: int, count: int
    ) -> None:
        self.b, self.tile, self.own = b, tile, own
        self.threads, self.count = threads, count
        self.shape = (count // LANES, LANES)
        self.is_strided = tile.shape.factor.is_depth_contiguous
        if self.is_strided and threads % BANK_CHUNKS:
            raise ValueError(
                f"positions of {threads} threads do not have the same swizzle"
            )
        self.step = threads if self.is_strided else 1

    def position(self, number: int) -> Index:
        """A position from the first of the tile."""
        b = self.b
        if self.is_strided:
            return b.add(self.own, number * self.threads)
        group, lane = divmod(number, LANES)
        return b.add(b.mul(self.own, LANES), group * LANES * self.threads + lane)

    def read(self, stage: Index, k: Index) -> list[SSAValue]:
        """The factor at four steps from k on: vector<count / 4 x 4> each."""
        b, shape, memory = self.b, self.tile.shape, self.tile.memory
        stages, depth, stage = self.tile.stages, shape.depth, self.tile.stage(stage)
        if not self.is_strided:
            sizes = (stages, depth, self.shape[0], LANES * self.threads)
            view, first = b.shared_view(memory, sizes), b.mul(self.own, LANES)
            return [
                b.transfer_read(view, [stage, at, 0, first], self.shape, (2, 3))
                for at in (b.add(k, step) for step in range(LANES))
            ]
        view = b.shared_view(memory, (stages, self.count, self.threads, depth))
        chunk = b.xor(k, shape.swizzle(b, self.own))
        size = (self.count, LANES)
        rows = b.transfer_read(view, [stage, 0, self.own, chunk], size, (1, 3))
        elements = b.elements(rows)
        return [b.vector_of(elements[step::LANES], self.shape) for step in range(LANES)]
