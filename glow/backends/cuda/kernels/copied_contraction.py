"""Products of Hopper's warpgroups whose tiles the threads copy: convolutions, bytes, any strides.

Tensor maps bring boxes of a buffer. What is none, as the windows of an image in blocks, the threads
copy 16 bytes at a time, with the addresses and zeros of other contractions (`shared_tile.py`). Rows
of a tile have 128 bytes of the depth; the places of their chunks of 16 bytes are those of other
tiles, and the ones that `wgmma` reads, too.

Products run beside the copies, and over barriers. When one begins, the one before may not be done,
so that of the stages one is read, one may be, and the others are copied to:

    copy stages 0 to s - 3
    for each tile of the depth:
      wait for its copies; show them to products; barrier    all have arrived, and nobody reads the
                                                             stage before the last one
      begin its products
      copy the tile s - 2 ahead into that stage
      wait for the products before
    wait for the last products; each thread stores its sums through the epilogue
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    Factor,
    WarpgroupTile,
)
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.kernels.results import ResultStore
from glow.backends.cuda.kernels.tiles.shared_tile import SharedTile, TileShape
from glow.backends.cuda.kernels.warpgroup_builder import (
    KINDS,
    ProductKind,
    WarpgroupBuilder,
)
from glow.backends.cuda.kernels.warpgroup_contraction import fragment_pieces
from glow.dialects.gpu.matrix_descriptor import CHUNK_BYTES, PIECE_BYTES, ROW_BYTES
from glow.dialects.gpu.warpgroups import ROWS, STEP_BYTES, WARPGROUP
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.target.target import Target

ROW_CHUNKS = ROW_BYTES // CHUNK_BYTES
EIGHTS = 8
"""Of columns, which are stored at a time."""
STAGES_READ = 2
"""The stages that products may read at a time."""


class CopiedContraction:
    """The body of the kernel; its arguments are C, A, B, operands."""

    def __init__(
        self,
        b: WarpgroupBuilder,
        spec: ContractionSpec,
        tile: WarpgroupTile,
        buffers: Sequence[SSAValue],
    ) -> None:
        self.b, self.spec, self.tile, self.buffers = b, spec, tile, buffers
        self.n = b.mul(b.block(DimensionEnum.X), tile.columns)
        self.m = b.mul(b.block(DimensionEnum.Y), tile.rows)
        self.batch = b.block(DimensionEnum.Z) if spec.batch > 1 else 0
        pairs = (("a", spec.a, tile.rows), ("b", spec.b, tile.columns))
        self.tiles = [self.tile_of(*pair) for pair in pairs]
        self.descriptors = [b.descriptor(shared.memory) for shared in self.tiles]
        element = KINDS[spec.element]
        first = "u8" if spec.is_unsigned else element
        self.kind = ProductKind(first, element, tile.columns)
        self.steps = -(-spec.k // tile.depth)
        self.ahead = tile.stages - STAGES_READ

    def tile_of(self, name: str, factor: Factor, extent: int) -> SharedTile:
        """The tiles of a factor."""
        shape = TileShape(factor, extent, self.tile.depth, "matrices")
        return SharedTile(self.b, self.spec, shape, name, alignment=PIECE_BYTES)

    def fill(self, number: Index, stage: Index) -> None:
        """Begins to copy the tiles of both factors."""
        depth = self.b.mul(number, self.tile.depth)
        for shared, source, outer in zip(
            self.tiles, self.buffers[1:3], (self.m, self.n), strict=True
        ):
            shared.fill(source, (self.batch, outer, depth), stage)

    def build(self) -> None:
        """Writes the kernel."""
        b = self.b
        groups = b.carry(0, self.ahead, 1, [b.copy_group()], self.begin)
        zeros = [b.zero_struct(self.kind) for _ in range(self.tile.parts)]
        carried = [groups[-1], *zeros]
        _, *sums = b.carry(0, self.steps, 1, carried, self.step)
        b.await_products()
        self.store([b.struct_fragment(part) for part in sums])

    def begin(self, number: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Begins the copies of a first step."""
        b = self.b
        is_there = self.steps >= self.ahead or b.compare("slt", number, self.steps)
        b.if_(is_there, lambda: self.fill(number, number))
        return [b.copy_group()]

    def step(self, number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """A step of the depth: the group of copies, and the sums."""
        b, stages = self.b, self.tile.stages
        group, *sums = carried
        b.wait(group, self.ahead - 1)
        b.show_writes()
        b.barrier()
        totals = self.multiply(b.remainder(number, stages), sums)
        ahead = b.add(number, self.ahead)
        stage = b.remainder(ahead, stages)
        b.if_(b.compare("slt", ahead, self.steps), lambda: self.fill(ahead, stage))
        group = b.copy_group()
        b.await_products(STAGES_READ - 1)
        return [group, *totals]

    def store(self, sums: Sequence[SSAValue]) -> None:
        """Stores the sums, some columns at a time.

        Without barriers between the assembler loads the operands of all at once, for which there
        are no registers.
        """
        b, count = self.b, self.tile.columns // 8
        results = ResultStore(b, self.spec, self.buffers)
        for number, part in enumerate(sums):
            row = b.add(self.first_row, number * ROWS)
            place = (b.add(self.m, row), self.n)
            for first in range(0, count, EIGHTS):
                if number or first:
                    b.barrier()
                eights = range(first, min(first + EIGHTS, count))
                pieces = fragment_pieces(b, place, part, eights)
                results.store_rows(self.batch, pieces)

    @property
    def first_row(self) -> Index:
        """The first row of the thread's warpgroup."""
        b = self.b
        group = b.floordiv(b.thread(), WARPGROUP)
        return b.mul(group, self.tile.parts * ROWS)

    def multiply(self, stage: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """Begins the products of a stage: each warpgroup its rows, and all columns."""
        b, tile = self.b, self.tile
        rows = b.add(b.mul(stage, tile.rows), self.first_row)
        places = (rows, b.mul(stage, tile.columns))
        a, other = (
            b.moved(descriptor, b.mul(place, ROW_CHUNKS))
            for descriptor, place in zip(self.descriptors, places, strict=True)
        )
        totals = list(sums)
        b.fence_products()
        for chunk in range(0, ROW_CHUNKS, STEP_BYTES // CHUNK_BYTES):
            columns = b.moved(other, chunk)
            for number, total in enumerate(totals):
                part = b.moved(a, chunk + number * ROWS * ROW_CHUNKS)
                totals[number] = b.begin_product(self.kind, part, columns, total)
        b.commit_products()
        return totals


def build_copied(spec: ContractionSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a contraction whose tile warpgroups multiply, and threads copy."""
    tile = spec.tile
    assert isinstance(tile, WarpgroupTile)
    b = WarpgroupBuilder(target)
    return b.kernel(
        name,
        spec.buffers,
        tile.threads,
        spec.grid,
        lambda buffers: CopiedContraction(b, spec, tile, buffers).build(),
    )
