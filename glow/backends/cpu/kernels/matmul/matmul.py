"""Products with a constant right matrix, which is packed when the model is compiled.

`pack_matmul_weights` lays B out in the order in which the kernel reads it: groups of columns
as wide as the register tile, [K][blocks][lanes] each, so that B is one linear stream whatever
its size. A is read in place: its elements are only broadcast. 16-bit elements are multiplied
in pairs of neighbours along the depth, [K / 2][blocks][lanes][2]. A product of f32 that is bound
by reading B may have it stored in that form as bf16, and widens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import MemRefType, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.dialect.config import (
    USUAL_PREFETCH,
    MatmulConfig,
    wrong_prefetch,
)
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
from glow.backends.cpu.tiling.int8_tile import WORD, dot, signed_dot
from glow.backends.cpu.tiling.matmul_tile import (
    ColumnGroup,
    ColumnSplit,
    Matrix,
    RowBlocks,
    Strides,
    Tile,
    choose_shared_tile,
    choose_tile,
    flat,
    wrong_cut,
    wrong_tile,
)
from glow.backends.cpu.tiling.row_order import RowOrder, each_block, row_order
from glow.backends.cpu.tiling.tile_store import (
    PartialStore,
    TileEpilogue,
    TileStore,
    matrices_of,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.work_items import prefers_rows
from glow.lowering.target.target import Target

F32_BYTES = 4

SUM_REGISTERS = 3
"""Of a sum of bytes where numbers are one by one: its own, and those of two words' halves."""


@dataclass(frozen=True)
class MatmulSpec:
    """C[rows, columns] = epilogue(A[rows, depth] B[depth, columns] + bias).

    `element` is what A and B have. bf16 needs an even depth, and sums are f32; bytes, unsigned
    times signed ones, a multiple of four, and sums are i32. Arguments of the kernel: C, A,
    packed B, bias if `has_bias`, the epilogue's inputs. A and C
    may have longer rows in memory (`a_row_stride`, `c_row_stride`; 0: dense). A "full" input of
    the epilogue is strided like C and must not be C. `widens`: A is f32, B is stored as bf16.
    `signed_input`: the bytes of A are read as signed ones, 128 lower.
    `config`: the register tile, chosen before; else the best one for the target.
    """

    rows: int
    columns: int
    depth: int
    has_bias: bool = False
    epilogue: Epilogue | None = None
    a_row_stride: int = 0
    c_row_stride: int = 0
    element: Attribute = f32
    widens: bool = False
    signed_input: bool = False
    step: int = WORD
    """The bytes along the depth that are multiplied at once."""
    config: MatmulConfig | None = None

    def __post_init__(self) -> None:
        if self.depth % self.group:
            raise ValueError(
                f"{self.element} products take a depth in groups of {self.group}"
            )

    @property
    def sums(self) -> Attribute:
        """The element type of sums and bias."""
        return i32 if self.element == i8 else f32

    @property
    def group(self) -> int:
        """The elements that are multiplied and added up at once: as many as fit in 32 bits, of
        bytes maybe more.
        """
        if self.element == i8:
            return self.step
        return 2 if self.widens else max(1, 32 // types.bit_width(self.element))

    def is_bound_by_reading(self, target: Target) -> bool:
        """Whether B, f32 in the L3 or DRAM, takes longer to read than to multiply."""
        core, elements = target.core, self.depth * self.columns
        read = elements * F32_BYTES / core.far_bytes_per_cycle
        multiplied = elements * self.rows / (core.fma_per_cycle * target.lanes(32))
        return elements * F32_BYTES > target.l2_bytes and read > multiplied

    def has_far_results(self, target: Target) -> bool:
        """Whether C, and what the epilogue reads beside it, comes from beyond the L2.

        A tile asks for its part before it multiplies: its stores would wait for all lines at once.
        """
        epilogue = self.tile_epilogue
        full = epilogue.operand_layouts.count("full")
        size = types.byte_width(epilogue.output(0).element_type)
        is_far = (1 + full) * self.rows * self.columns * size > target.l2_bytes
        return is_far and not target.prefers_small_loops

    @property
    def steps(self) -> int:
        """The groups along the depth."""
        return self.depth // self.group

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
        if self.config is not None:
            return Tile(self.config.rows, self.config.blocks)
        tile = choose_tile(self.rows, self.columns, self.steps, target)
        if self.element != i8 or target.lanes(32) > 1:
            return tile
        sums = max(1, target.num_vector_registers // SUM_REGISTERS)
        blocks = min(tile.blocks, sums)
        return Tile(min(tile.rows, max(1, sums // blocks)), blocks)

    def choose_config(self, target: Target) -> MatmulConfig:
        """The best register tile for a target."""
        tile = self.tile(target)
        return MatmulConfig(tile.rows, tile.blocks)

    def shared_config(self, target: Target) -> MatmulConfig:
        """The one whose weights products of other numbers of rows are likely to read too."""
        tile = choose_shared_tile(self.rows, self.columns, self.steps, target)
        return MatmulConfig(tile.rows, tile.blocks)

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the product does not allow of the configuration, if so."""
        wrong = wrong_tile(self.tile(target), self.rows, target)
        if wrong is not None or self.config is None:
            return wrong
        return wrong_cut(self.config.cut) or wrong_prefetch(self.config.prefetch)

    def fetches_weights(self, target: Target) -> bool:
        """Whether B, from beyond the L2, is fetched ahead."""
        weight_bytes = self.packed_elements(target) * types.byte_width(self.element)
        tiles = self.tiles(target)
        is_fetched = tiles == 1 or tiles >= self.tile(target).blocks
        return weight_bytes > target.l2_bytes and is_fetched

    def split(self, target: Target) -> ColumnSplit:
        """How the columns are cut into tiles."""
        return ColumnSplit(self.columns, target.lanes(32), self.tile(target).blocks)

    def tiles(self, target: Target) -> int:
        """The tiles of rows."""
        return -(-self.rows // self.tile(target).rows)

    def is_cut_by_rows(self, target: Target) -> bool:
        """Whether work items are tiles of rows."""
        if self.config is not None and self.config.cut != "auto":
            return self.config.cut == "rows"
        read = self.depth * types.byte_width(self.element)
        weight_bytes = read * self.columns // (2 if self.widens else 1)
        written = self.columns * types.byte_width(
            self.tile_epilogue.output(0).element_type
        )
        bytes_of_rows = self.rows * (read + written)
        return prefers_rows(
            self.tiles(target), weight_bytes, bytes_of_rows, target.core
        )

    def row_blocks(self, target: Target) -> RowBlocks:
        """How the rows are cut into work items."""
        tile, split = self.tile(target), self.split(target)
        return RowBlocks.split(self.rows, tile.rows, split.units)

    def row_order(self, target: Target) -> RowOrder:
        """How many tiles of rows go through all columns before the next ones do."""
        size = self.depth * types.byte_width(self.element)
        weights = size * self.columns // (2 if self.widens else 1)
        tile_bytes, units = self.tile(target).rows * size, self.split(target).units
        return row_order(self.tiles(target), tile_bytes, units, weights, target)

    @property
    def tile_epilogue(self) -> TileEpilogue:
        """Bias and epilogue."""
        return TileEpilogue(self.has_bias, self.epilogue, sums=self.sums)

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
    packed = np.empty(size, weights.dtype) if out is None else out
    end = split.groups * spec.depth * width
    groups = packed[:end].reshape(split.groups, spec.steps, width, spec.group)
    # One copy from either order: intermediate arrays would cost a large layer seconds.
    for number, group in enumerate(groups):
        columns = matrix[:, number * width : (number + 1) * width]
        fill_columns(group, columns)
    if end < packed.size:
        rest = packed[end:].reshape(spec.steps, -1, spec.group)
        fill_columns(rest, matrix[:, split.groups * width :])
    return packed


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
        self.b = PackedWeights(builder, b_buffer, spec.steps, self.split, inner)
        self.prefetch = PanelPrefetch(
            builder,
            b_buffer,
            spec.steps,
            self.together,
            self.tile.rows,
            spec.config.prefetch if spec.config else USUAL_PREFETCH,
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
        prefetch = self.prefetch.at(following, group, row)

        def factors(k: Index) -> Sequence[SSAValue]:
            prefetch(k)
            return *self._left(row, k, shape), self.b.read(unit, group, k)

        steps = self.spec.steps
        if self.spec.element == i8:
            product = signed_dot if self.spec.signed_input else dot
        elif self.spec.widens:
            product = widening_product
        else:
            product = PRODUCTS[self.spec.group]
        total = accumulate(
            self.builder, steps, unroll, shape, factors, Sums(product, self.spec.sums)
        )
        self.store(total, row, group)

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
        flat(spec.a_strides.span((), rows, spec.depth), spec.element),
        _packed_type(spec, target),
        *epilogue.buffers(output, rows, spec.columns),
    ]
    dense = not (spec.a_row_stride or spec.c_row_stride)
    whole = by_rows and dense and rows % spec.tile(target).rows == 0
    runs = (1, 1, 0, *epilogue.runs) if whole else ()
    return Kernel(builder.function(name, buffers, body), work_items, runs)
