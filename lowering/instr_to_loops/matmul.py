"""Products with a constant right matrix, which is packed when the model is compiled.

`pack_matmul_weights` lays B out in the order in which the kernel reads it: groups of columns
as wide as the register tile, [K][blocks][lanes] each, so that B is one linear stream whatever
its size. A is read in place: its elements are only broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.epilogue import Epilogue
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.matmul_tile import (
    ColumnGroup,
    Columns,
    ColumnSplit,
    Finish,
    Matrix,
    Strides,
    Tile,
    TileStore,
    accumulate,
    choose_tile,
    columns_of,
    flat,
    matrices_of,
)
from glow.lowering.target import Target

WANTED_SLICES = 16
_STEPS_AHEAD = 8


def stored_rows(rows: int) -> int:
    """How many rows of a tile an epilogue finishes at a time: pairs, where they divide it."""
    return 1 if rows % 2 else 2


_RowBody = Callable[[Index], None]
_StepBody = Callable[[Index], None]


@dataclass(frozen=True)
class MatmulSpec:
    """C[rows, columns] = epilogue(A[rows, depth] B[depth, columns] + bias), f32.

    Arguments of the kernel: C, A, packed B, bias if `has_bias`, the epilogue's inputs. A and C
    may have longer rows in memory (`a_row_stride`, `c_row_stride`; 0: dense). A "full" input of
    the epilogue is strided like C and must not be C.
    """

    rows: int
    columns: int
    depth: int
    has_bias: bool = False
    epilogue: Epilogue | None = None
    a_row_stride: int = 0
    c_row_stride: int = 0

    @property
    def operations(self) -> int:
        """The additions and multiplications of a direct product."""
        return 2 * self.rows * self.columns * self.depth

    @property
    def a_strides(self) -> Strides:
        """The layout of A."""
        return Strides((), self.a_row_stride or self.depth, 1)

    @property
    def c_strides(self) -> Strides:
        """The layout of C and of the epilogue's "full" inputs."""
        return Strides((), self.c_row_stride or self.columns, 1)

    def tile(self, target: Target) -> Tile:
        """The register tile, which decides how the weights are packed."""
        return choose_tile(self.rows, self.columns, self.depth, target)

    def split(self, target: Target) -> ColumnSplit:
        """How the columns are cut into tiles."""
        return ColumnSplit(self.columns, target.lanes(32), self.tile(target).blocks)

    def row_blocks(self, target: Target) -> RowBlocks:
        """How the rows are cut into slices."""
        tile, split = self.tile(target), self.split(target)
        return RowBlocks.split(self.rows, tile.rows, split.units)

    @property
    def finish(self) -> Finish:
        """Bias and epilogue."""
        return Finish(self.has_bias, self.epilogue)

    def packed_elements(self, target: Target) -> int:
        """The size of the packed B in elements."""
        lanes = target.lanes(32)
        return self.depth * -(-self.columns // lanes) * lanes


def pack_matmul_weights(
    weights: np.ndarray,
    spec: MatmulSpec,
    target: Target,
    *,
    transposed: bool = False,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """B ([depth, columns], or [columns, depth] if transposed) as the kernel reads it, flat.

    `out` is where to put it.
    """
    matrix = weights.T if transposed else weights
    if matrix.shape != (spec.depth, spec.columns):
        raise ValueError(
            f"weights are {matrix.shape}, not {(spec.depth, spec.columns)}"
        )
    split = spec.split(target)
    width = split.blocks * split.lanes
    size = spec.packed_elements(target)
    packed = np.empty(size, np.float32) if out is None else out
    end = split.groups * spec.depth * width
    groups = packed[:end].reshape(split.groups, spec.depth, width)
    # One copy from either order: intermediate arrays would cost a large layer seconds.
    for number, group in enumerate(groups):
        columns = matrix[:, number * width : (number + 1) * width]
        _fill_columns(group, columns)
    if end < packed.size:
        rest = packed[end:].reshape(spec.depth, -1)
        _fill_columns(rest, matrix[:, split.groups * width :])
    return packed


def _fill_columns(target: np.ndarray, columns: np.ndarray) -> None:
    """Copy columns into a matrix that may have more, which become zero."""
    target[:, : columns.shape[1]] = columns
    target[:, columns.shape[1] :] = 0


class PackedWeights:
    """Reads the rows of the packed matrix."""

    def __init__(
        self, builder: LoopBuilder, buffer: SSAValue, depth: int, split: ColumnSplit
    ) -> None:
        self.builder = builder
        self.split = split
        whole = (split.groups, depth, split.blocks, split.lanes)
        rest = split.rest
        self.whole = builder.reinterpret(buffer, whole) if split.groups else buffer
        if rest is not None:
            offset = split.groups * depth * split.blocks * split.lanes
            shape = (depth, rest.blocks, split.lanes)
            self.rest = builder.reinterpret(buffer, shape, offset=offset)

    def read(self, unit: Index, group: ColumnGroup, k: Index) -> SSAValue:
        """The row k of a group of columns, [blocks, lanes]."""
        shape = (group.blocks, self.split.lanes)
        if group == self.split.rest:
            return self.builder.transfer_read(self.rest, (k, 0, 0), shape, (1, 2))
        return self.builder.transfer_read(self.whole, (unit, k, 0, 0), shape, (2, 3))


class PanelPrefetch:
    """Fetches what comes next of the packed matrix while a tile is multiplied.

    Each step of the depth asks for one element: the tiles of a panel together cover the next
    panel. Saves 9 % of the time where B comes from memory and costs nothing where it does
    not. A product that reads B once, with a single tile of rows, fetches a few steps ahead
    where B exceeds the second cache, which saves 18 %.
    """

    def __init__(
        self,
        builder: LoopBuilder,
        buffer: SSAValue,
        depth: int,
        tiles: int,
        tile_rows: int,
    ) -> None:
        self.builder = builder
        self.buffer = buffer
        self.depth = depth
        self.tiles = tiles
        self.tile_rows = tile_rows

    def at(self, next_panel: Index, group: ColumnGroup, row: Index) -> _StepBody:
        """What each step of the tile in that row does; the panel is an element's index."""
        builder, lanes = self.builder, self.builder.target.lanes(32)
        stride = -(-group.blocks * lanes // self.tiles)
        if self.tiles == 1:
            return self._ahead(next_panel, group)
        if stride > lanes:
            return lambda k: None
        share = builder.mul(row, -(-stride * self.depth // self.tile_rows))
        start = builder.add(next_panel, share)
        return lambda k: builder.prefetch(
            self.buffer, builder.add(start, builder.mul(k, stride)), locality=3
        )

    def _ahead(self, next_panel: Index, group: ColumnGroup) -> _StepBody:
        """Asks for the whole row of the panel that is read `_STEPS_AHEAD` steps later."""
        builder, lanes = self.builder, self.builder.target.lanes(32)
        (elements,) = types.shape_of(self.buffer)
        if 4 * elements <= builder.target.l2_bytes:
            return lambda k: None
        width = group.blocks * lanes
        start = builder.add(next_panel, (_STEPS_AHEAD - self.depth) * width)

        def fetch(k: Index) -> None:
            row = builder.add(start, builder.mul(k, width))
            for block in range(group.blocks):
                place = builder.add(row, block * lanes)
                builder.prefetch(self.buffer, place, locality=3)

        return fetch


@dataclass(frozen=True)
class RowBlocks:
    """Tiles of rows, cut into blocks when the columns alone give too few slices."""

    rows: int
    tile_rows: int
    blocks: int

    @staticmethod
    def split(rows: int, tile_rows: int, other_slices: int) -> RowBlocks:
        """As many blocks as bring the slices to `WANTED_SLICES`."""
        tiles = -(-rows // tile_rows)
        wanted = min(tiles, -(-WANTED_SLICES // other_slices))
        per_block = -(-tiles // wanted)
        return RowBlocks(rows, tile_rows, -(-tiles // per_block))

    def visit(self, builder: LoopBuilder, block: Index, body: _RowBody) -> None:
        """Runs the body at the first row of each tile of a block."""
        tiles = -(-self.rows // self.tile_rows)
        per_block = -(-tiles // self.blocks)
        start = builder.mul(block, per_block)
        end = builder.minimum(builder.add(start, per_block), tiles)
        last = self.rows - self.tile_rows

        def at(tile: Index) -> None:
            row = builder.mul(tile, self.tile_rows)
            exact = self.rows % self.tile_rows == 0
            body(row if exact else builder.minimum(row, last))

        builder.loop(start, end, 1, at)


class PartialStore:
    """Stores the accumulator of a group.

    Through the stack where its last register is partial, and where the epilogue is long: its
    values for a whole tile would not fit into the registers, and make a lot of code.
    """

    def __init__(self, builder: LoopBuilder, store: TileStore, rows: int) -> None:
        self.builder = builder
        self.store = store
        self.rows = rows

    def __call__(self, value: SSAValue, row: Index, group: ColumnGroup) -> None:
        lanes = self.store.output.lanes
        pieces = columns_of(group, lanes)
        whole = len(pieces) == 1 and len(pieces[0].shape) == 2
        epilogue = self.store.finish.epilogue
        many = self.rows > stored_rows(self.rows)
        slowly = many and epilogue is not None and epilogue.is_long
        if whole and not slowly:
            self.store.store(value, row, pieces[0])
            return
        scratch = self.builder.alloca(
            types.memref_type((self.rows, group.blocks, lanes))
        )
        self.builder.transfer_write(value, scratch, (0, 0, 0), (0, 1, 2))
        height = stored_rows(self.rows) if slowly else self.rows

        def rows(first: Index) -> None:
            for piece in pieces:
                part = self._read(scratch, group, piece, first, height)
                self.store.store(part, self.builder.add(row, first), piece)

        self.builder.loop(0, self.rows, height, rows)

    def _read(
        self,
        scratch: SSAValue,
        group: ColumnGroup,
        piece: Columns,
        first: Index,
        rows: int,
    ) -> SSAValue:
        shape = (rows, *piece.shape)
        if len(piece.shape) == 2:
            return self.builder.transfer_read(scratch, (first, 0, 0), shape, (0, 1, 2))
        indices = (first, group.blocks - 1, 0)
        return self.builder.transfer_read(scratch, indices, shape, (0, 2))


class _PackedProduct:
    """What one kernel computes, unit by unit."""

    def __init__(
        self, builder: LoopBuilder, spec: MatmulSpec, buffers: Sequence[SSAValue]
    ) -> None:
        c_buffer, a_buffer, b_buffer, *extra_buffers = buffers
        target = builder.target
        extents = (spec.rows, spec.columns)
        self.builder = builder
        self.spec = spec
        self.tile = spec.tile(target)
        self.split = spec.split(target)
        self.row_blocks = spec.row_blocks(target)
        lanes, strides = self.split.lanes, spec.c_strides
        self.a = Matrix(
            builder, a_buffer, spec.a_strides, (spec.rows, spec.depth), lanes
        )
        self.b = PackedWeights(builder, b_buffer, spec.depth, self.split)
        tiles = -(-spec.rows // self.tile.rows)
        self.prefetch = PanelPrefetch(
            builder, b_buffer, spec.depth, tiles, self.tile.rows
        )
        c = Matrix(builder, c_buffer, strides, extents, lanes, blocked=True)
        extras = matrices_of(builder, spec.finish, extra_buffers, strides, extents)
        store = TileStore(builder, spec.finish, c, extras)
        self.store = PartialStore(builder, store, self.tile.rows)

    def unit(self, coordinates: list[Index]) -> None:
        """Computes a group of columns of a block of rows."""
        column, block = coordinates

        def group(columns: ColumnGroup) -> None:
            self.row_blocks.visit(
                self.builder, block, lambda row: self._multiply(column, columns, row)
            )

        self.split.visit(self.builder, column, group)

    def _multiply(self, unit: Index, group: ColumnGroup, row: Index) -> None:
        shape = (self.tile.rows, group.blocks, self.split.lanes)
        unroll = Tile(self.tile.rows, group.blocks).unroll

        panel = self.spec.depth * group.blocks * self.split.lanes
        following = self.builder.mul(self.builder.add(unit, 1), panel)
        prefetch = self.prefetch.at(following, group, row)

        def factors(k: Index) -> tuple[SSAValue, SSAValue]:
            prefetch(k)
            a = self.a.read(row, k, shape, (0, None, None))
            return a, self.b.read(unit, group, k)

        product = accumulate(self.builder, self.spec.depth, unroll, shape, factors)
        self.store(product, row, group)


def build_matmul(spec: MatmulSpec, target: Target, name: str = "matmul") -> Kernel:
    """The kernel f(C, A, packed B, [bias], extras..., lo, hi)."""
    space = [spec.split(target).units, spec.row_blocks(target).blocks]
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        builder.space(low, high, space, _PackedProduct(builder, spec, buffers).unit)

    output = flat(spec.c_strides.span((), spec.rows, spec.columns))
    buffers = [
        output,
        flat(spec.a_strides.span((), spec.rows, spec.depth)),
        flat(spec.packed_elements(target)),
        *spec.finish.buffers(output, spec.rows, spec.columns),
    ]
    return Kernel(builder.function(name, buffers, body), space[0] * space[1])
