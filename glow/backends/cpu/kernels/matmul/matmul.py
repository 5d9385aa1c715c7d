"""Products with a constant right matrix, which is packed when the model is compiled.

`pack_matmul_weights` lays B out in the order in which the kernel reads it: groups of columns
as wide as the register tile, [K][blocks][lanes] each, so that B is one linear stream whatever
its size. A is read in place: its elements are only broadcast. 16-bit elements are multiplied
in pairs of neighbours along the depth, [K / 2][blocks][lanes][2]. A product of f32 that is bound
by reading B may have it stored in that form as bf16, and widens it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import MemRefType, i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.matmul.weights import (
    PackedWeights,
    PanelPrefetch,
    fill_columns,
)
from glow.backends.cpu.tiling.accumulation import (
    PRODUCTS,
    Sums,
    accumulate,
    widening_product,
)
from glow.backends.cpu.tiling.int8_tile import int8_dot
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup
from glow.backends.cpu.tiling.matrix_memory import Matrix, flat
from glow.backends.cpu.tiling.matrix_product import MatrixProduct
from glow.backends.cpu.tiling.matrix_tile import MatrixTile
from glow.backends.cpu.tiling.row_order import each_block
from glow.backends.cpu.tiling.tile_store import (
    PartialStore,
    TileStore,
    matrices_of,
)
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


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
    packed = np.empty(size, weights.dtype) if out is None else out
    end = split.groups * spec.depth * width
    streams = spec.streams(target)
    width //= streams
    count = split.groups * streams
    parts = packed[:end].reshape(count, spec.steps, width, spec.group)
    # One copy from either order: intermediate arrays would cost a large layer seconds.
    for number, part in enumerate(parts):
        columns = matrix[:, number * width : (number + 1) * width]
        fill_columns(part, columns)
    if end < packed.size:
        rest = packed[end:].reshape(spec.steps, -1, spec.group)
        fill_columns(rest, matrix[:, len(parts) * width :])
    return packed


Ahead = Callable[[Index], None]
"""Fetches what comes next of the packed matrix, from the step of the depth on."""


class _PackedProduct:
    """What one kernel computes, unit by unit."""

    def __init__(
        self, builder: LoopBuilder, spec: MatmulSpec, buffers: Sequence[SSAValue]
    ) -> None:
        c_buffer, a_buffer, b_buffer, *operand_buffers = buffers
        target = builder.target
        extents = (spec.rows, spec.columns)
        self.builder = builder
        self.spec = spec
        self.tile = spec.tile(target)
        self.split = spec.split(target)
        self.row_blocks = spec.row_blocks(target)
        self.together = spec.row_order(target).tiles
        lanes, strides = self.split.lanes, spec.c_strides
        self.a = Matrix(
            builder, a_buffer, spec.a_strides, (spec.rows, spec.depth), lanes
        )
        inner = 1 if spec.widens else spec.group
        streams = spec.streams(target)
        self.b = PackedWeights(
            builder, b_buffer, spec.steps, self.split, inner, streams
        )
        self.prefetch = PanelPrefetch(
            builder,
            b_buffer,
            spec.steps,
            self.together,
            self.tile.rows,
            (spec.config or spec.choose_config(target)).prefetch,
        )
        c = Matrix(builder, c_buffer, strides, extents, lanes, blocked=True)
        epilogue_operands = matrices_of(
            builder, spec.tile_epilogue, operand_buffers, strides, extents
        )
        self.results = TileStore(builder, spec.tile_epilogue, c, epilogue_operands)
        self.store = PartialStore(builder, self.results, self.tile.rows)

    def panels(self, low: Index, high: Index, tiles: tuple[Index, Index]) -> None:
        """Computes the panels [low, high) of some tiles of rows."""
        b, multiply, visit = self.builder, self._multiply, self.row_blocks.visit_tiles
        together = self.together if self.together < self.row_blocks.tiles else None

        def panel(unit: Index, start: Index, end: Index) -> None:
            def group(columns: ColumnGroup) -> None:
                visit(b, start, end, lambda row: multiply(unit, columns, row))

            self.split.visit(b, unit, group)

        def panels(start: Index, end: Index) -> None:
            b.loop(low, high, 1, lambda unit: panel(unit, start, end))

        each_block(b, tiles, together, panels)

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
        unroll = self.tile.unroll(self.builder.target.core)
        if self.spec.has_far_results(self.builder.target):
            self.results.fetch(row, self.tile.rows, group)
        panel = self.spec.steps * group.blocks * self.split.lanes
        following = self.builder.mul(self.builder.add(unit, 1), panel)
        prefetch = self.prefetch.at(following, group, row, self.b.streams(group))
        matrix = self.spec.matrix_tile(group.blocks, self.builder.target)
        if matrix is not None:
            self._multiply_tiles(matrix, (unit, group), row, prefetch)
            return

        def factors(k: Index) -> Sequence[SSAValue]:
            prefetch(k)
            return *self._left(row, k, shape), self.b.read(unit, group, k)

        steps = self.spec.steps
        if self.spec.element == i8:
            product = int8_dot(self.spec.signed_input, self.spec.wide_input)
        elif self.spec.widens:
            product = widening_product
        else:
            product = PRODUCTS[self.spec.group]
        total = accumulate(
            self.builder, steps, unroll, shape, factors, Sums(product, self.spec.sums)
        )
        self.store(total, row, group)

    def _multiply_tiles(
        self, tile: MatrixTile, at: tuple[Index, ColumnGroup], row: Index, ahead: Ahead
    ) -> None:
        """A tile by the CPU's matrix tiles."""
        b, product = self.builder, MatrixProduct(self.builder, tile, self.spec.element)
        memory, outer = self.b.rows(*at)
        rows = [b.add(row, first) for first in tile.first_rows]

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            depth = b.mul(k, tile.words)
            # With more tiles of rows, asking for weights takes longer than they do to come.
            for word in range(tile.words if self.together == 1 else 0):
                ahead(b.add(depth, word))
            left = [(row, b.mul(depth, product.per_word)) for row in rows]
            return product.step(
                (self.a.plain, left), (memory, (*outer, depth, 0)), carried
            )

        self.store.finish(product.sum(self.spec.steps // tile.words, step), row, at[1])

    def _left(self, row: Index, k: Index, shape: tuple[int, ...]) -> Sequence[SSAValue]:
        """What the rows of a tile multiply at step k."""
        group = self.spec.group
        first = self.builder.mul(k, group)
        if group > 1 and not self.spec.widens:
            return [self.a.read(row, first, (shape[0], group), (0, 1))]
        columns = [self.builder.add(first, i) for i in range(group)]
        return [self.a.read(row, column, shape, (0, None, None)) for column in columns]


def _packed_type(spec: MatmulSpec, target: Target) -> MemRefType:
    """The memref of the packed B; what is widened is read as words of two elements."""
    elements = spec.packed_elements(target)
    return flat(elements // 2, i32) if spec.widens else flat(elements, spec.element)


def build_matmul(spec: MatmulSpec, target: Target, name: str = "matmul") -> Kernel:
    """The kernel f(C, A, packed B, [bias], epilogue operands..., lo, hi)."""
    by_rows = spec.is_cut_by_rows(target)
    space = [spec.split(target).units, spec.row_blocks(target).blocks]
    work_items = spec.tiles(target) if by_rows else prod(space)
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        product = _PackedProduct(builder, spec, buffers)
        if by_rows:
            product.panels(0, space[0], (low, high))
        elif space[1] == 1 and spec.row_order(target).tiles < spec.tiles(target):
            product.panels(low, high, (0, spec.tiles(target)))
        else:
            builder.space(low, high, space, product.unit)

    rows, epilogue = spec.rows, spec.tile_epilogue
    output = epilogue.output(spec.c_strides.span((), rows, spec.columns))
    buffers = [
        output,
        flat(spec.a_strides.span((), rows, spec.depth), spec.a_element),
        _packed_type(spec, target),
        *epilogue.buffers(output, rows, spec.columns),
    ]
    dense = not (spec.a_row_stride or spec.c_row_stride)
    whole = by_rows and dense and rows % spec.tile(target).rows == 0
    runs = (1, 1, 0, *epilogue.runs) if whole else ()
    return Kernel(builder.function(name, buffers, body), work_items, runs)
