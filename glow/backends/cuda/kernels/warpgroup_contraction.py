"""Matmuls and batched matmuls by Hopper's warpgroups, with a warp that copies.

Each warpgroup multiplies 64 rows of the block's tile straight from shared memory. One thread of
one more warp begins the copies of whole tiles, as many stages ahead as there are:

    copies                                   multiplies (each warpgroup)
    for each tile of the depth:              for each tile of the depth:
      wait until its stage is empty            wait until its stage is full
      expect its bytes; begin both copies      multiply and add, beside what follows
                                               wait for the product before; its stage is empty
                                             wait for the last product
                                             store the sums through the epilogue

What is outside of a factor is copied as zeros. Rows of a factor run along the depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    MatrixFactor,
    WarpgroupTile,
)
from glow.backends.cuda.kernels.gpu_builder import WARP, GpuKernel, shared_type
from glow.backends.cuda.kernels.results import Piece, ResultStore
from glow.backends.cuda.kernels.warpgroup_builder import WarpgroupBuilder
from glow.dialects.gpu.bulk_copies import TensorMapType
from glow.dialects.gpu.matrix_descriptor import PIECE_BYTES
from glow.dialects.gpu.warpgroups import ROWS, WARPGROUP
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index
from glow.lowering.target.target import Target


class WarpgroupContraction:
    """The body of the kernel; its arguments are C, A and its map, B and its map, operands."""

    def __init__(
        self,
        b: WarpgroupBuilder,
        spec: ContractionSpec,
        tile: WarpgroupTile,
        buffers: Sequence[SSAValue],
    ) -> None:
        self.b, self.spec, self.tile = b, spec, tile
        result, a, self.a_map, other, self.b_map, *operands = buffers
        self.store = ResultStore(b, spec, [result, a, other, *operands])
        self.n = b.mul(b.block(DimensionEnum.X), tile.columns)
        self.m = b.mul(b.block(DimensionEnum.Y), tile.rows)
        self.batch = b.block(DimensionEnum.Z) if spec.batch > 1 else 0
        self.a_shape, self.b_shape = tile_shapes(tile)
        self.a = b.shared(
            "a", self.stages_of(tile.groups, ROWS), spec.element, PIECE_BYTES
        )
        self.other = b.shared(
            "b", self.stages_of(1, tile.columns), spec.element, PIECE_BYTES
        )
        self.full, self.empty = b.barriers(tile.stages), b.barriers(tile.stages)
        self.steps = -(-spec.k // tile.depth)

    def stages_of(self, tiles: int, rows: int) -> tuple[int, int, int]:
        """The shape of some tiles in all stages."""
        return (self.tile.stages * tiles, rows, self.tile.depth)

    def build(self) -> None:
        """Writes the kernel."""
        b, tile = self.b, self.tile
        threads = tile.groups * WARPGROUP
        b.if_(b.compare("eq", b.thread(), 0), self.init)
        b.barrier()
        copies = b.compare("eq", b.thread(), threads)
        multiplies = b.compare("slt", b.thread(), threads)
        b.if_(multiplies, self.multiply, lambda: b.if_(copies, self.copy))

    def init(self) -> None:
        """Makes the barriers ready: one thread fills a stage, each warp empties it."""
        b, tile = self.b, self.tile
        for stage in range(tile.stages):
            b.init_barrier(self.full, stage, 1)
            b.init_barrier(self.empty, stage, tile.groups * WARPGROUP // WARP)
        b.fence_barriers()

    def phase(self, step: Index, parity: int) -> tuple[Index, Condition]:
        """The stage of a step, and whether the phase of its barriers is odd (of `parity` 1)."""
        b, stages = self.b, self.tile.stages
        turn = b.remainder(b.floordiv(step, stages), 2)
        return b.remainder(step, stages), b.compare("eq", turn, parity)

    def copy(self) -> None:
        """Begins all copies, as stages become empty."""
        b, tile = self.b, self.tile
        bytes_ = (
            (tile.rows + tile.columns)
            * tile.depth
            * types.byte_width(self.spec.element)
        )

        def step(number: Index) -> None:
            # At first stages are empty: the phase before the first one counts as ended.
            stage, parity = self.phase(number, 0)
            b.await_phase(self.empty, stage, parity)
            b.expect(self.full, stage, bytes_)
            k = b.mul(number, tile.depth)
            for group in range(tile.groups):
                place = b.add(b.mul(stage, tile.groups), group)
                at = (k, b.add(self.m, group * ROWS), self.batch_of(self.spec.a))
                target = b.part(self.a, (place, 0, 0), self.a_shape)
                b.load_tile(self.a_map, at, (self.full, stage), target)
            at = (k, self.n, self.batch_of(self.spec.b))
            target = b.part(self.other, (stage, 0, 0), self.b_shape)
            b.load_tile(self.b_map, at, (self.full, stage), target)

        b.loop(0, self.steps, 1, step)

    def batch_of(self, factor: object) -> Index:
        """The matrix of a factor that the block multiplies."""
        assert isinstance(factor, MatrixFactor)
        return 0 if factor.is_shared else self.batch

    def multiply(self) -> None:
        """Multiplies all tiles as they come, and stores the results."""
        b, tile = self.b, self.tile
        group = b.floordiv(b.thread(), WARPGROUP)
        lane = b.remainder(b.thread(), WARP)
        speaks = b.compare("eq", lane, 0)

        def step(number: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            stage, parity = self.phase(number, 1)
            b.await_phase(self.full, stage, parity)
            place = b.add(b.mul(stage, tile.groups), group)
            rows = b.part(self.a, (place, 0, 0), self.a_shape)
            columns = b.part(self.other, (stage, 0, 0), self.b_shape)
            total = b.multiply_tiles(
                b.factor(rows, self.a_map, (ROWS, tile.depth)),
                b.factor(columns, self.b_map, (tile.depth, tile.columns)),
                sums[0],
                pending=1,
            )
            before = b.remainder(b.add(number, tile.stages - 1), tile.stages)
            is_done = b.both(b.compare("slt", 0, number), speaks)
            b.if_(is_done, lambda: b.arrive(self.empty, before))
            return [total]

        zeros = b.zero_sums(tile.columns, self.spec.sum_element)
        (sums,) = b.carry(0, self.steps, 1, [zeros], step)
        b.await_products()
        place = (b.add(self.m, b.mul(group, ROWS)), self.n)
        eights = range(tile.columns // 8)
        pieces = fragment_pieces(b, place, b.fragment(sums), eights)
        self.store.store_rows(self.batch, pieces)


def fragment_pieces(
    b: WarpgroupBuilder,
    place: tuple[Index, Index],
    sums: SSAValue,
    eights: Sequence[int],
) -> Iterator[Piece]:
    """The results of a thread in some eights of columns, for rows of a warpgroup at (m, n)."""
    m, n = place
    warp, lane = b.unflatten(b.remainder(b.thread(), WARPGROUP), (4, WARP))
    row, pair = b.unflatten(lane, (WARP // 4, 4))
    row = b.add(b.add(m, b.mul(warp, ROWS // 4)), row)
    column = b.add(n, b.mul(pair, 2))
    for half in range(2):
        at = b.add(row, 8 * half)
        for number in eights:
            vector = b.extract(sums, number, half)
            yield Piece(vector, at, b.add(column, 8 * number))


def tile_shapes(tile: WarpgroupTile) -> tuple[tuple[int, int, int], ...]:
    """The tiles of both factors that are copied at once, of one matrix of a batch."""
    return (1, ROWS, tile.depth), (1, tile.columns, tile.depth)


def arguments_of(spec: ContractionSpec, tile: WarpgroupTile) -> list[Attribute]:
    """The types of the arguments: each factor has its map behind it."""
    result, a, b, *operands = spec.buffers
    maps = [
        TensorMapType.of(shared_type(shape, spec.element))
        for shape in tile_shapes(tile)
    ]
    return [result, a, maps[0], b, maps[1], *operands]


def build_warpgroup_contraction(
    spec: ContractionSpec, target: Target, name: str
) -> GpuKernel:
    """The kernel of a contraction whose tile is one of warpgroups."""
    tile = spec.tile
    assert isinstance(tile, WarpgroupTile)
    b = WarpgroupBuilder(target)
    return b.kernel(
        name,
        arguments_of(spec, tile),
        tile.threads,
        spec.grid,
        lambda buffers: WarpgroupContraction(b, spec, tile, buffers).build(),
    )
