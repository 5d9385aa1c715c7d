"""A tile of a factor in shared memory: how threads copy it there, and where its elements are.

Rows run along what is contiguous in the buffer. Chunks of 16 bytes of a row change places by
the row (a swizzle), so that lanes that read one column of eight rows meet in no bank:

    row 0   chunks 0 1 2 3      row 2   chunks 1 0 3 2
    row 1   chunks 0 1 2 3      row 3   chunks 1 0 3 2    (rows of 64 bytes)

Of bytes whose rows run along m or n a lane reads two of each of four rows, its neighbours of the
next four: with the chunks the rows themselves change places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    Factor,
)
from glow.backends.cuda.kernels.gpu_builder import (
    SHARED_ALIGNMENT,
    GpuBuilder,
    tile_row_elements,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index

BANK_CHUNKS = 8
"""The chunks of 16 bytes that all banks hold."""

Reader = Literal["matrices", "words", "pairs", "threads", "rows", "bytes"]
"""What reads a tile: `ldmatrix`, which takes 16 bytes of each of eight rows; lanes of tensor
cores, which take words of four rows of the depth, or of each second one of eight; threads, which
take one position of the depth at a time; threads that wrote eight columns of four rows; or lanes
of tensor cores, which take two bytes of each of four rows."""

ROW_BYTES = 4
"""The bytes along the depth of a register, which are of as many rows."""

SPREADS = {"words": 1, "pairs": 2, "rows": 1}
"""The rows after which those move on that four rows are read, or written, of at once."""


@dataclass(frozen=True)
class TileShape:
    """The tile of a factor: `extent` positions of m or n, `depth` of k."""

    factor: Factor
    extent: int
    depth: int
    reader: Reader

    @property
    def rows(self) -> int:
        """The rows in shared memory."""
        return self.extent if self.factor.is_depth_contiguous else self.depth

    @property
    def columns(self) -> int:
        """The elements of a row."""
        return self.depth if self.factor.is_depth_contiguous else self.extent

    @property
    def chunk(self) -> int:
        """The elements that keep together."""
        return tile_row_elements(self.factor.type.element_type)

    def swizzle(self, b: GpuBuilder, row: Index) -> Index:
        """What the columns of a row are xored with."""
        if self.reader == "threads" and not self.factor.is_depth_contiguous:
            return 0
        if self.reader in SPREADS:
            row = b.floordiv(row, SPREADS[self.reader])
            return b.mul(
                b.remainder(row, min(4, self.columns // (2 * self.chunk))),
                2 * self.chunk,
            )
        chunks = self.columns // self.chunk
        rows = ROW_BYTES if self.reader == "bytes" else max(1, BANK_CHUNKS // chunks)
        row = b.floordiv(row, rows)
        return b.mul(b.remainder(row, min(chunks, BANK_CHUNKS)), self.chunk)

    def stored_row(self, b: GpuBuilder, row: Index) -> Index:
        """Which row of shared memory a row has."""
        if self.reader != "bytes":
            return row
        return b.xor(row, b.remainder(b.floordiv(row, ROW_BYTES), ROW_BYTES))


class SharedTile:
    """The tiles of a factor in all stages: memref<stages x rows x columns>."""

    def __init__(
        self,
        b: GpuBuilder,
        spec: ContractionSpec,
        shape: TileShape,
        name: str,
        stages: int | None = None,
        alignment: int = SHARED_ALIGNMENT,
    ):
        self.b, self.spec, self.shape = b, spec, shape
        self.stages = stages or spec.tile.stages
        element = shape.factor.type.element_type
        sizes = (self.stages, shape.rows, shape.columns)
        self.memory = b.shared(name, sizes, element, alignment)

    def stage(self, number: Index) -> Index:
        """Which tile has a stage: the only one, if all stages have the same."""
        return number if self.stages > 1 else 0

    def place(self, stage: Index, row: Index, column: Index) -> list[Index]:
        """The indices of an element, or of the first of a chunk."""
        column = self.b.xor(column, self.shape.swizzle(self.b, row))
        return [self.stage(stage), self.shape.stored_row(self.b, row), column]

    def fill(self, source: SSAValue, origins: Sequence[Index], stage: Index) -> None:
        """Copies the tile at (batch, m or n, k) into a stage, zeros beyond the extents."""
        b, shape = self.b, self.shape
        width = min(shape.factor.width, shape.columns)
        chunks = shape.columns // width
        threads = self.spec.tile.threads
        for first in range(0, shape.rows * chunks, threads):
            row, chunk = self.chunk_of(first, chunks)
            column = b.mul(chunk, width)

            def copy(row: Index = row, column: Index = column) -> None:
                self.copy(source, origins, (stage, row, column), width)

            count = shape.rows * chunks - first
            b.if_(count >= threads or b.compare("ult", b.thread(), count), copy)

    def chunk_of(self, first: int, chunks: int) -> tuple[Index, Index]:
        """The row and the chunk of the thread's number behind the first ones.

        Where all of a thread's are in one column, its place in the depth is computed once.
        """
        b, rows = self.b, self.shape.rows
        if first % chunks:
            row, chunk = b.unflatten(b.add(b.thread(), first), (rows, chunks))
        else:
            row, chunk = b.unflatten(b.thread(), (rows, chunks))
            row = b.add(row, first // chunks)
        return row, chunk

    def copy(
        self,
        source: SSAValue,
        origins: Sequence[Index],
        target: tuple[Index, Index, Index],
        width: int,
    ) -> None:
        """Copies `width` elements to a place of the tile."""
        b, factor = self.b, self.shape.factor
        stage, row, column = target
        batch, outer, depth = origins
        steps = (row, column) if factor.is_depth_contiguous else (column, row)
        outer, depth = b.add(outer, steps[0]), b.add(depth, steps[1])
        valid: Condition = True
        for position, extent, tile in (
            (outer, self.extent, self.shape.extent),
            (depth, self.spec.k, self.shape.depth),
        ):
            if extent % tile:
                valid = b.both(valid, b.compare("slt", position, extent))
        place = factor.locate(b, batch, outer, depth)
        valid = b.both(valid, place.valid)
        at = self.place(stage, row, column)
        element, padding = types.element_of(source), 0
        if factor is self.spec.a:
            padding = self.spec.padding
        if width * types.byte_width(element) >= 4 and not padding:
            count = None if valid is True else width
            if place.available is not None:
                count = b.clamp(place.available, 0, width)
            if count is not None:
                count = b.select_index(valid, count, 0)
            b.copy_async(source, place.indices, self.memory, at, width, count)
            return
        if place.available is not None:
            valid = b.both(valid, b.compare("sgt", place.available, 0))
        safe = [b.select_index(valid, index, 0) for index in place.indices]
        value = b.vector_load(width, source, *safe)
        if not isinstance(valid, bool):
            value = b.select(valid, value, b.like(padding, value))
        b.vector_store(value, self.memory, *at)

    @property
    def extent(self) -> int:
        """How many positions of m or n there are."""
        return self.spec.m if self.shape.factor is self.spec.a else self.spec.n
