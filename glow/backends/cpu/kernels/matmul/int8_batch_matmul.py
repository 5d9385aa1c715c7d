"""Int8 matmuls with dynamic operands, such as queries times keys, summed up in i32.

The right matrix is packed on the fly, a panel as wide as the register tile at a time, into
words of four bytes along the depth and made signed, as dot products want it:
- columns of B contiguous in memory (queries times keys): its words are turned, as registers;
- rows of B contiguous (attention times values): four rows are interleaved;
- anything else: byte by byte.
A is read in place, but for the word in which its rows end. Zero points are taken off the
sums: `sum (a - p)(b - q) = sum ab - p sum b - q sum a + depth p q`, modulo 2^32, so that all
targets have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.config import USUAL_PREFETCH, MatmulConfig
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import DynamicBatchMatmul
from glow.backends.cpu.kernels.matmul.int8_panel import Int8Panel
from glow.backends.cpu.tiling.accumulation import I32_SUMS, accumulate
from glow.backends.cpu.tiling.int8_tile import WORD, words
from glow.backends.cpu.tiling.matmul_tile import (
    ColumnGroup,
    ColumnSplit,
    RowBlocks,
    Tile,
    choose_tile,
    wrong_tile,
)
from glow.backends.cpu.tiling.matrix_memory import Matrix, flat
from glow.backends.cpu.tiling.tile_store import (
    PartialStore,
    TileEpilogue,
    TileStore,
    matrices_of,
)
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import Fold, fold_row
from glow.lowering.target.target import Target

PANEL_BYTES = 128 << 10
"""A panel of the right matrix lies on the stack."""
SIGN = 128
"""What signed bytes are less than unsigned ones of the same bits, the highest one flipped."""


@dataclass(frozen=True)
class Int8BatchMatmulSpec(DynamicBatchMatmul):
    """C = epilogue((A - p) (B - q)).

    Arguments of the kernel: C, A (unsigned bytes), B (signed or unsigned), the points p and q
    [2] of i32, the epilogue's inputs. `plain_a`: p is 0; `plain_b`: q is 0, or 128 where B is
    unsigned.
    """

    signed_b: bool
    plain_a: bool = False
    plain_b: bool = False
    epilogue: Epilogue | None = None
    config: MatmulConfig | None = None
    """Chosen before; else the best one for the target."""

    @property
    def steps(self) -> int:
        """The words along the depth."""
        return words(self.depth)

    @property
    def whole_steps(self) -> int:
        """The words of A that are read in place."""
        return self.depth // WORD if self.a.column == 1 else 0

    @property
    def tile_epilogue(self) -> TileEpilogue:
        """What happens to sums."""
        return TileEpilogue(epilogue=self.epilogue, sums=i32)

    def tile(self, target: Target) -> Tile:
        """The register tile, whose panel fits on the stack."""
        if self.config:
            return Tile(self.config.rows, self.config.blocks)
        lanes = target.lanes(32)
        columns = min(self.columns, self._most_blocks(target) * lanes)
        return choose_tile(self.rows, columns, self.steps, target)

    def _most_blocks(self, target: Target) -> int:
        """The registers of columns in the widest panel."""
        return max(1, PANEL_BYTES // (self.steps * WORD * target.lanes(32)))

    def choose_config(self, target: Target) -> MatmulConfig:
        """The best register tile for a target."""
        tile = self.tile(target)
        return MatmulConfig(tile.rows, tile.blocks)

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the shapes do not allow of the configuration, if so."""
        tile, most = self.tile(target), self._most_blocks(target)
        if tile.blocks > most:
            return (
                f"tiles of {tile.blocks} blocks: panels on the stack allow 1 to {most}"
            )
        if self.config is not None and self.config.cut != "auto":
            return f"the cut {self.config.cut}: threads share matrices"
        if self.config is not None and self.config.prefetch != USUAL_PREFETCH:
            return f"a prefetch of {self.config.prefetch}: no weights are fetched ahead"
        if self.config is not None and self.config.streams != 1:
            return f"{self.config.streams} streams: panels are on the stack"
        return wrong_tile(tile, self.rows, target)


class _Product:
    """What one kernel computes, unit by unit."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: Int8BatchMatmulSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        c_buffer, a_buffer, b_buffer, points, *operand_buffers = buffers
        lanes = builder.target.lanes(32)
        extents = (*spec.batch, spec.rows, spec.columns)
        epilogue_operands = matrices_of(
            builder, spec.tile_epilogue, operand_buffers, spec.c, extents
        )
        c = Matrix(builder, c_buffer, spec.c, extents, lanes, blocked=True)
        a_extents = (*spec.batch, spec.rows, spec.depth)
        b_extents = (*spec.batch, spec.depth, spec.columns)
        self.builder = builder
        self.spec = spec
        self.lanes = lanes
        self.tile = spec.tile(builder.target)
        self.a = Matrix(builder, a_buffer, spec.a, a_extents, lanes)
        self.panel = Int8Panel(
            builder, b_buffer, spec.b, b_extents, signed=spec.signed_b
        )
        self.tile_store = TileStore(builder, spec.tile_epilogue, c, epilogue_operands)
        self.store = PartialStore(builder, self.tile_store, self.tile.rows)
        self.points = points

    def move_to(self, coordinates: Sequence[Index]) -> None:
        """Selects the matrices at those batch coordinates."""
        self.a.move_to(coordinates)
        self.panel.source.move_to(coordinates)
        self.tile_store.move_to(coordinates)

    def group(self, group: ColumnGroup, row_blocks: RowBlocks, block: Index) -> None:
        """The columns of a group of a block of rows."""
        builder, spec = self.builder, self.spec
        panel = self.panel.pack(group)
        of_columns = None if spec.plain_a else self._column_terms(panel, group)

        def at(row: Index) -> None:
            total = self._multiply(row, panel, group)
            if of_columns is not None:
                shape = (group.blocks, self.lanes)
                term = builder.transfer_read(of_columns, (0, 0), shape, (0, 1))
                total = self._plus(total, builder.broadcast(term, total_shape))
            if not spec.plain_b:
                total = self._plus(total, self._row_terms(row, total_shape))
            self.store(total, row, group)

        total_shape = (self.tile.rows, group.blocks, self.lanes)
        row_blocks.visit(builder, block, at)

    def _plus(self, value: SSAValue, term: SSAValue) -> SSAValue:
        return self.builder.binary_integer(arith.AddiOp, value, term)

    def _times(self, value: SSAValue, factor: SSAValue) -> SSAValue:
        factor = self.builder.broadcast(factor, types.shape_of(value))
        return self.builder.binary_integer(arith.MuliOp, value, factor)

    def _multiply(self, row: Index, panel: SSAValue, group: ColumnGroup) -> SSAValue:
        """The int8 products as they are."""
        builder, spec = self.builder, self.spec
        shape = (self.tile.rows, group.blocks, self.lanes)
        unroll = Tile(self.tile.rows, group.blocks).unroll(self.builder.target.core)

        def right(k: Index) -> SSAValue:
            part = (group.blocks, self.lanes, WORD)
            return builder.transfer_read(panel, (k, 0, 0, 0), part, (1, 2, 3))

        def in_place(k: Index) -> Sequence[SSAValue]:
            first = builder.mul(k, WORD)
            left = self.a.read(row, first, (shape[0], WORD), (0, 1))
            return left, right(k)

        whole, total = spec.whole_steps, None
        if whole:
            total = accumulate(builder, whole, unroll, shape, in_place, I32_SUMS)
        if whole == spec.steps:
            assert total is not None
            return total
        copied = self._copied(row)

        def from_copy(k: Index) -> Sequence[SSAValue]:
            first = builder.mul(k, WORD)
            left = builder.transfer_read(copied, (0, first), (shape[0], WORD), (0, 1))
            return left, right(builder.add(k, whole))

        rest = spec.steps - whole
        other = accumulate(builder, rest, unroll, shape, from_copy, I32_SUMS)
        return other if total is None else self._plus(total, other)

    def _copied(self, row: Index) -> SSAValue:
        """The words of a tile's rows that are not read in place, zeros behind their end."""
        builder, spec = self.builder, self.spec
        first = WORD * spec.whole_steps
        columns = WORD * spec.steps - first
        copy = builder.alloca(types.memref_type((self.tile.rows, columns), i8))

        def element(m: Index, k: Index) -> None:
            where = (*self.a.position, builder.add(row, m), builder.add(k, first))
            builder.store(builder.load(self.a.plain, *where), copy, m, k)

        def line(m: Index) -> None:
            builder.loop(0, spec.depth - first, 1, lambda k: element(m, k))
            for k in range(spec.depth - first, columns):
                builder.store(builder.constant(0, i8), copy, m, k)

        builder.loop(0, self.tile.rows, 1, line)
        return copy

    def _signed_point(self) -> SSAValue:
        """The zero point of the signed bytes of B."""
        point = self.builder.load(self.points, 1)
        if self.spec.signed_b:
            return point
        sign = self.builder.constant(SIGN, i32)
        return self.builder.binary_integer(arith.SubiOp, point, sign)

    def _column_terms(self, panel: SSAValue, group: ColumnGroup) -> SSAValue:
        """-p times the sum of each column of B, [blocks, lanes]."""
        builder, shape = self.builder, (1, group.blocks, self.lanes)
        ones = builder.constant(1, types.vector_type((1, WORD), i8))

        def factors(k: Index) -> Sequence[SSAValue]:
            part = (*shape[1:], WORD)
            return ones, builder.transfer_read(panel, (k, 0, 0, 0), part, (1, 2, 3))

        sums = accumulate(builder, self.spec.steps, 1, shape, factors, I32_SUMS)
        point = builder.load(self.points, 0)
        negative = builder.binary_integer(arith.SubiOp, builder.constant(0, i32), point)
        terms = builder.alloca(types.memref_type(shape[1:], i32))
        value = self._times(builder.extract(sums, 0), negative)
        builder.transfer_write(value, terms, (0, 0), (0, 1))
        return terms

    def _row_terms(self, row: Index, shape: tuple[int, ...]) -> SSAValue:
        """q (depth p - the sum of each row of A) as a tile."""
        builder, spec = self.builder, self.spec
        whole = builder.constant(0, i32)
        if not spec.plain_a:
            depth = builder.constant(spec.depth, i32)
            whole = self._times(builder.load(self.points, 0), depth)
        terms = builder.alloca(types.memref_type((shape[0],), i32))

        def of_row(m: Index) -> None:
            total = self._row_sum(builder.add(row, m))
            builder.store(builder.binary_integer(arith.SubiOp, whole, total), terms, m)

        builder.loop(0, shape[0], 1, of_row)
        value = builder.transfer_read(terms, (0,), shape, (0, None, None))
        return self._times(value, self._signed_point())

    def _row_sum(self, row: Index) -> SSAValue:
        builder, spec = self.builder, self.spec

        def wide(value: SSAValue) -> SSAValue:
            return builder.cast(arith.ExtUIOp, value, i32)

        def read(position: Index, length: int) -> SSAValue:
            where = (*self.a.position, row, position)
            return wide(builder.vector_load(length, self.a.plain, *where))

        if spec.a.column == 1:
            return fold_row(
                builder, spec.depth, i32, read, Fold(add_integers, "add", 0)
            )

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            element = builder.load(self.a.plain, *self.a.position, row, k)
            return [self._plus(carried[0], wide(element))]

        return builder.carry(0, spec.depth, 1, [builder.constant(0, i32)], step)[0]


def add_integers(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The sum, as a combining function."""
    return builder.binary_integer(arith.AddiOp, a, b)


def build_int8_batch_matmul(
    spec: Int8BatchMatmulSpec, target: Target, name: str = "int8_batch_matmul"
) -> Kernel:
    """The kernel f(C, A, B, points, epilogue operands..., lo, hi)."""
    tile = spec.tile(target)
    split = ColumnSplit(spec.columns, target.lanes(32), tile.blocks)
    row_blocks = RowBlocks.split(spec.rows, tile.rows, prod(spec.batch) * split.units)
    space = [*spec.batch, split.units, row_blocks.blocks]
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        product = _Product(builder, spec, buffers)

        def unit(coordinates: list[Index]) -> None:
            *batch, column, block = coordinates
            product.move_to(batch)
            split.visit(
                builder, column, lambda group: product.group(group, row_blocks, block)
            )

        builder.space(low, high, space, unit)

    buffers = spec.buffers(spec.tile_epilogue, i8, flat(2, i32))
    return Kernel(builder.function(name, buffers, body), prod(space))
