"""Attention, head by head: scores never leave the L1.

A work item is a block of a head's queries, as high as a register tile. Its products with all keys
go into a scratch, become exponentials there, and are multiplied with the values while they are
there; the sums of the exponentials divide the result. Keys are transposed into panels first,
once for all blocks of a head that a thread computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.config import AttentionConfig
from glow.backends.cpu.kernels.attention.softmax_weights import SoftmaxWeights
from glow.backends.cpu.kernels.matmul.batch_matmul import pack_columns
from glow.backends.cpu.kernels.matmul.weights import PackedWeights
from glow.backends.cpu.tiling.accumulation import accumulate
from glow.backends.cpu.tiling.matmul_tile import (
    ColumnGroup,
    Columns,
    ColumnSplit,
    Matrix,
    Strides,
    Tile,
    choose_tile,
    columns_of,
    flat,
    wrong_tile,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

BLOCK_ROWS = 8
"""A register tile's: taller blocks are no faster, and their scores need more of the cache."""


@dataclass(frozen=True)
class AttentionSpec:
    """result[b] = softmax(scale * queries[b] keys[b] + mask[b]) values[b] for each b, f32.

    Shapes: queries [rows, depth], keys [depth, keys], mask [rows, keys], values [keys, columns].
    Arguments of the kernel: result, queries, keys, values, mask if it has strides. Strides are
    in elements; columns of the values and of the result are contiguous.
    """

    batch: tuple[int, ...]
    rows: int
    keys: int
    depth: int
    columns: int
    query_strides: Strides
    key_strides: Strides
    value_strides: Strides
    result_strides: Strides
    mask_strides: Strides | None = None
    scale: float = 1.0
    config: AttentionConfig | None = None
    """Chosen before; else the best one for the target."""

    @property
    def operations(self) -> int:
        """The additions and multiplications of both products."""
        scores = prod(self.batch) * self.rows * self.keys
        return 2 * scores * (self.depth + self.columns)

    @property
    def height(self) -> int:
        """The queries of a block."""
        return self.config.rows if self.config else min(self.rows, BLOCK_ROWS)

    def choose_config(self, target: Target) -> AttentionConfig:
        """The best configuration for a target."""
        score = choose_tile(self.height, self.keys, self.depth, target)
        value = choose_tile(self.height, self.columns, self.keys, target)
        return AttentionConfig(
            self.height, score.rows, score.blocks, value.rows, value.blocks
        )

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the shapes do not allow of the configuration, if so."""
        config = self.config or self.choose_config(target)
        most = min(self.rows, BLOCK_ROWS)
        if config.rows > most:
            return f"blocks of {config.rows} queries: the kernel and the shapes allow 1 to {most}"
        tiles = (
            Tile(config.score_rows, config.score_blocks),
            Tile(config.value_rows, config.value_blocks),
        )
        found = (wrong_tile(tile, config.rows, target) for tile in tiles)
        return next((wrong for wrong in found if wrong is not None), None)

    @property
    def blocks(self) -> int:
        """How many blocks the queries of a head are cut into; the last one may overlap."""
        return -(-self.rows // self.height)


class _Heads:
    """What one kernel computes."""

    def __init__(
        self, builder: LoopBuilder, spec: AttentionSpec, buffers: Sequence[SSAValue]
    ) -> None:
        result, queries, keys, values, *masks = buffers
        target, height = builder.target, spec.height
        lanes = target.lanes(32)
        self.builder = builder
        self.spec = spec
        self.lanes = lanes
        config = spec.config or spec.choose_config(target)
        self.score_tile = Tile(config.score_rows, config.score_blocks)
        self.value_tile = Tile(config.value_rows, config.value_blocks)
        self.key_split = ColumnSplit(spec.keys, lanes, self.score_tile.blocks)
        self.value_split = ColumnSplit(spec.columns, lanes, self.value_tile.blocks)
        self.queries = self._matrix(
            queries, spec.query_strides, spec.rows, spec.depth, blocked=False
        )
        self.keys = self._matrix(
            keys, spec.key_strides, spec.depth, spec.keys, blocked=False
        )
        self.values = self._matrix(values, spec.value_strides, spec.keys, spec.columns)
        self.result = self._matrix(result, spec.result_strides, spec.rows, spec.columns)
        self.masks = [
            self._matrix(mask, spec.mask_strides, spec.rows, spec.keys, blocked=False)
            for mask in masks
            if spec.mask_strides is not None
        ]
        width = -(-spec.keys // lanes) * lanes
        panels = builder.alloca(types.memref_type((spec.depth * width,)))
        self.panels = PackedWeights(builder, panels, spec.depth, self.key_split)
        self.softmax = SoftmaxWeights(builder, height, spec.keys, width)

    def _matrix(
        self,
        buffer: SSAValue,
        strides: Strides,
        rows: int,
        columns: int,
        *,
        blocked: bool = True,
    ) -> Matrix:
        extents = (*self.spec.batch, rows, columns)
        return Matrix(
            self.builder, buffer, strides, extents, self.lanes, blocked=blocked
        )

    def head(self, number: Index, low: Index, high: Index) -> None:
        """Computes blocks [low, high) of a head."""
        builder = self.builder
        coordinates = builder.unflatten(number, self.spec.batch)
        tensors = (self.queries, self.keys, self.values, self.result, *self.masks)
        for matrix in tensors:
            matrix.move_to(coordinates)
        self._each_group(self.key_split, self._pack)
        builder.loop(low, high, 1, self._block)

    def _each_group(
        self, split: ColumnSplit, body: Callable[[Index, ColumnGroup], None]
    ) -> None:
        builder = self.builder

        def at(unit: Index) -> None:
            split.visit(builder, unit, lambda group: body(unit, group))

        builder.loop(0, split.units, 1, at)

    def _pack(self, unit: Index, group: ColumnGroup) -> None:
        memory, outer = self.panels.place(unit, group)
        steps = (0, self.spec.depth)
        pack_columns(self.builder, self.keys, steps, group, memory, outer)

    def _block(self, block: Index) -> None:
        builder, spec = self.builder, self.spec
        first = builder.mul(block, spec.height)
        if spec.rows % spec.height:
            first = builder.minimum(first, spec.rows - spec.height)
        self._each_group(
            self.key_split, lambda unit, group: self._score(unit, group, first)
        )
        self.softmax.compute(spec.scale, self._mask_reader(first))
        self._each_group(
            self.value_split, lambda _, group: self._multiply(group, first)
        )

    def _score(self, unit: Index, group: ColumnGroup, first: Index) -> None:
        """Multiplies the block's queries with a group of keys."""
        builder, tile = self.builder, self.score_tile
        shape = (tile.rows, group.blocks, self.lanes)
        unroll = tile.unroll(builder.target.core)

        def at(row: Index) -> None:
            line = builder.add(first, row)

            def factors(k: Index) -> tuple[SSAValue, SSAValue]:
                query = self.queries.read(line, k, shape, (0, None, None))
                return query, self.panels.read(unit, group, k)

            total = accumulate(builder, self.spec.depth, unroll, shape, factors)
            columns = Columns(group.block, shape[1:])
            self.softmax.matrix.write_columns(total, row, columns)

        builder.tiles(0, self.spec.height, tile.rows, at)

    def _mask_reader(
        self, first: Index
    ) -> Callable[[Index, Index, tuple[int, int]], SSAValue] | None:
        """Reads the mask of some rows of the block from a key on."""
        builder, strides = self.builder, self.spec.mask_strides
        if strides is None:
            return None
        axes = (0, 1 if strides.column else None)
        (mask,) = self.masks
        return lambda row, key, shape: mask.read(
            builder.add(first, row), key, shape, axes
        )

    def _multiply(self, group: ColumnGroup, first: Index) -> None:
        """Multiplies the block's softmax weights with a group of the values' columns."""
        builder, tile = self.builder, self.value_tile

        def at(row: Index, columns: Columns) -> None:
            shape = (tile.rows, *columns.shape)

            def factors(k: Index) -> tuple[SSAValue, SSAValue]:
                weight = self.softmax.read(row, k, shape)
                return weight, self.values.read_columns(k, 0, columns)

            unroll = tile.unroll(builder.target.core)
            total = accumulate(builder, self.spec.keys, unroll, shape, factors)
            total = builder.mulf(total, self.softmax.inverse_sums(row, shape))
            self.result.write_columns(total, builder.add(first, row), columns)

        for columns in columns_of(group, self.lanes):
            builder.tiles(
                0, self.spec.height, tile.rows, lambda row, c=columns: at(row, c)
            )


def build_attention(
    spec: AttentionSpec, target: Target, name: str = "attention"
) -> Kernel:
    """The kernel f(result, queries, keys, values, [mask], lo, hi)."""
    builder = LoopBuilder(target)
    blocks = spec.blocks

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        heads = _Heads(builder, spec, buffers)

        def head(number: Index) -> None:
            start = builder.mul(number, blocks)
            first = builder.maximum(builder.sub(low, start), 0)
            last = builder.minimum(builder.sub(high, start), blocks)
            heads.head(number, first, last)

        end = builder.floordiv(builder.add(high, blocks - 1), blocks)
        builder.loop(builder.floordiv(low, blocks), end, 1, head)

    function = builder.function(name, _buffers(spec), body)
    return Kernel(function, prod(spec.batch) * blocks)


def _buffers(spec: AttentionSpec) -> list[types.MemRefType]:
    extents = [
        (spec.result_strides, spec.rows, spec.columns),
        (spec.query_strides, spec.rows, spec.depth),
        (spec.key_strides, spec.depth, spec.keys),
        (spec.value_strides, spec.keys, spec.columns),
    ]
    if spec.mask_strides is not None:
        extents.append((spec.mask_strides, spec.rows, spec.keys))
    return [
        flat(strides.span(spec.batch, rows, columns))
        for strides, rows, columns in extents
    ]
