"""Matmuls, batched matmuls and convolutions for many threads.

A block has a tile of the results. Tiles of both factors come to shared memory by asynchronous
copies, some stages ahead of the products:

    copy stages 0 to s - 2
    for each tile of the depth:
      wait for its copies; barrier          all have arrived, and nobody reads the stage before
      copy the tile s - 1 ahead into the stage before
      multiply and add from shared memory
    each thread stores its sums through the epilogue
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    Factor,
    WarpgroupTile,
)
from glow.backends.cuda.kernels.copied_contraction import build_copied
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.results import ResultStore
from glow.backends.cuda.kernels.tiles.fma_tile import FmaTile
from glow.backends.cuda.kernels.tiles.int8_tile import Int8Tile
from glow.backends.cuda.kernels.tiles.shared_tile import Reader, SharedTile, TileShape
from glow.backends.cuda.kernels.tiles.tensor_core_tile import TensorCoreTile
from glow.backends.cuda.kernels.warpgroup_contraction import (
    build_warpgroup_contraction,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.target.target import Target


def reader_of(spec: ContractionSpec, factor: Factor) -> Reader:
    """What reads the tiles of a factor: `ldmatrix` transposes 16 bits alone."""
    if not spec.has_tensor_cores:
        return "threads"
    size = types.byte_width(spec.element)
    if factor.is_depth_contiguous or size == 2:
        return "matrices"
    return "bytes" if size == 1 else "words"


class Contraction:
    """The body of the kernel."""

    def __init__(
        self, b: GpuBuilder, spec: ContractionSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.b, self.spec, self.buffers = b, spec, buffers
        tile = spec.tile
        self.n = b.mul(b.block(DimensionEnum.X), tile.columns)
        self.m = b.mul(b.block(DimensionEnum.Y), tile.rows)
        self.batch = b.block(DimensionEnum.Z) if spec.batch > 1 else 0
        self.tiles = [
            SharedTile(b, spec, TileShape(factor, extent, tile.depth, reader), name)
            for name, factor, extent in (
                ("a", spec.a, tile.rows),
                ("b", spec.b, tile.columns),
            )
            if (reader := reader_of(spec, factor))
        ]
        self.sums = self.block_sums()

    def block_sums(self) -> FmaTile | TensorCoreTile:
        """What multiplies the tiles, and has the sums of a block."""
        b, spec = self.b, self.spec
        if not spec.has_tensor_cores:
            return FmaTile(b, spec, *self.tiles)
        if isinstance(spec.element, IntegerType):
            return Int8Tile(b, spec, *self.tiles, points=self.buffers[3:4])
        return TensorCoreTile(b, spec, *self.tiles)

    def fill(self, number: Index, stage: Index) -> None:
        """Begins to copy the tiles of both factors."""
        depth = self.b.mul(number, self.spec.tile.depth)
        for tile, source, outer in zip(
            self.tiles, self.buffers[1:3], (self.m, self.n), strict=True
        ):
            tile.fill(source, (self.batch, outer, depth), stage)

    def build(self) -> None:
        """Writes the kernel."""
        b, spec, stages = self.b, self.spec, self.spec.tile.stages
        count = -(-spec.k // spec.tile.depth)

        def begin(number: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            is_there = count >= stages - 1 or b.compare("slt", number, count)
            b.if_(is_there, lambda: self.fill(number, number))
            return [b.copy_group()]

        groups = b.carry(0, stages - 1, 1, [b.copy_group()], begin)

        def step(number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            group, *sums = carried
            b.wait(group, stages - 2)
            b.barrier()
            ahead = b.add(number, stages - 1)
            stage = b.remainder(ahead, stages)
            b.if_(b.compare("slt", ahead, count), lambda: self.fill(ahead, stage))
            group = b.copy_group()
            return [group, *self.sums.step(b.remainder(number, stages), sums)]

        _, *sums = b.carry(0, count, 1, [groups[-1], *self.sums.zeros()], step)
        store = ResultStore(b, spec, self.buffers)
        store.store_rows(self.batch, self.sums.pieces(self.m, self.n, sums))


def build_contraction(spec: ContractionSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a contraction."""
    if isinstance(spec.tile, WarpgroupTile):
        build = build_copied if not spec.tile.is_mapped else build_warpgroup_contraction
        return build(spec, target, name)
    b = GpuBuilder(target)
    return b.kernel(
        name,
        spec.buffers,
        spec.tile.threads,
        spec.grid,
        lambda buffers: Contraction(b, spec, buffers).build(),
    )
