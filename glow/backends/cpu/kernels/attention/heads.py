"""What kernels of attention do with a head: pack keys, score, multiply with values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.attention.softmax_weights import (
    OnlineSoftmax,
    ReadMask,
    SoftmaxWeights,
)
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.kernels.matmul.batch_matmul import pack_columns
from glow.backends.cpu.kernels.matmul.weights import PackedWeights
from glow.backends.cpu.tiling.accumulation import accumulate
from glow.backends.cpu.tiling.matmul_tile import (
    ColumnGroup,
    Columns,
    ColumnSplit,
    Tile,
    columns_of,
)
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

Write = Callable[[SSAValue, Index, Columns], None]
"""Takes the products of some rows of a block, the first of these, and the columns."""


class Heads:
    """The tensors of one kernel, at the head that is computed."""

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
        width = -(-min(spec.keys, spec.key_block) // lanes) * lanes
        self.panels = builder.alloca(types.memref_type((spec.depth * width,)))
        self.height = height

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

    def move_to(self, head: Index) -> None:
        """Selects a head."""
        coordinates = self.builder.unflatten(head, self.spec.batch)
        tensors = (self.queries, self.keys, self.values, self.result, *self.masks)
        for matrix in tensors:
            matrix.move_to(coordinates)

    def store(self, total: SSAValue, row: Index, columns: Columns) -> None:
        """Stores results of some queries."""
        builder = self.builder
        if self.spec.zero_nans:
            is_nan = builder.cmpf("uno", total, total)
            total = builder.select(is_nan, builder.like(0.0, total), total)
        self.result.write_columns(total, row, columns)

    def each_group(
        self, split: ColumnSplit, body: Callable[[Index, ColumnGroup], None]
    ) -> None:
        """Runs the body for each group of columns, and its number."""
        builder = self.builder

        def at(unit: Index) -> None:
            split.visit(builder, unit, lambda group: body(unit, group))

        builder.loop(0, split.units, 1, at)

    def first_row(self, block: Index) -> Index:
        """The first query of a block; the last block may overlap the one before."""
        builder, spec = self.builder, self.spec
        first = builder.mul(block, spec.height)
        if spec.rows % spec.height:
            first = builder.minimum(first, spec.rows - spec.height)
        return first


class KeyBlock:
    """`keys` keys of a head, from `first` on: whole registers of keys lie before it."""

    def __init__(self, heads: Heads, keys: int) -> None:
        builder, lanes = heads.builder, heads.lanes
        width = -(-keys // lanes) * lanes
        self.heads = heads
        self.keys = keys
        self.split = ColumnSplit(keys, lanes, heads.score_tile.blocks)
        self.panels = PackedWeights(builder, heads.panels, heads.spec.depth, self.split)
        self.softmax = SoftmaxWeights(builder, heads.height, keys, width)
        self.first: Index = 0

    def pack(self) -> None:
        """Transposes the keys into panels."""
        heads, steps = self.heads, (0, self.heads.spec.depth)
        before = heads.builder.floordiv(self.first, heads.lanes)

        def at(unit: Index, group: ColumnGroup) -> None:
            memory, outer = self.panels.place(unit, group)
            there = replace(group, block=heads.builder.add(group.block, before))
            pack_columns(heads.builder, heads.keys, steps, there, memory, outer)

        heads.each_group(self.split, at)

    def weigh(self, first: Index, online: OnlineSoftmax | None = None) -> None:
        """Makes the softmax weights of the block of queries from `first` on."""
        self.heads.each_group(
            self.split, lambda unit, group: self._score(unit, group, first)
        )
        self.softmax.compute(self.heads.spec.scale, self._mask_reader(first), online)

    def multiply(self, write: Write) -> None:
        """Multiplies the weights with the values of the keys."""
        self.heads.each_group(
            self.heads.value_split, lambda _, group: self._multiply(group, write)
        )

    def _score(self, unit: Index, group: ColumnGroup, first: Index) -> None:
        """Multiplies the block's queries with a group of keys."""
        heads, tile = self.heads, self.heads.score_tile
        builder = heads.builder
        shape = (tile.rows, group.blocks, heads.lanes)
        unroll = tile.unroll(builder.target.core)

        def at(row: Index) -> None:
            line = builder.add(first, row)

            def factors(k: Index) -> tuple[SSAValue, SSAValue]:
                query = heads.queries.read(line, k, shape, (0, None, None))
                return query, self.panels.read(unit, group, k)

            total = accumulate(builder, heads.spec.depth, unroll, shape, factors)
            self.softmax.write(total, row, Columns(group.block, shape[1:]))

        builder.tiles(0, heads.height, tile.rows, at)

    def _mask_reader(self, first: Index) -> ReadMask | None:
        """Reads the mask of some rows of the block from a key on."""
        builder, strides = self.heads.builder, self.heads.spec.mask_strides
        if strides is None:
            return None
        axes = (0, 1 if strides.column else None)
        (mask,) = self.heads.masks
        return lambda row, key, shape: mask.read(
            builder.add(first, row), builder.add(self.first, key), shape, axes
        )

    def _multiply(self, group: ColumnGroup, write: Write) -> None:
        """Multiplies the block's softmax weights with a group of the values' columns."""
        heads, tile = self.heads, self.heads.value_tile
        builder = heads.builder
        unroll = tile.unroll(builder.target.core)

        def at(row: Index, columns: Columns) -> None:
            shape = (tile.rows, *columns.shape)

            def factors(k: Index) -> tuple[SSAValue, SSAValue]:
                weight = self.softmax.read(row, k, shape)
                key = builder.add(self.first, k)
                return weight, heads.values.read_columns(key, 0, columns)

            write(accumulate(builder, self.keys, unroll, shape, factors), row, columns)

        for columns in columns_of(group, heads.lanes):
            builder.tiles(0, heads.height, tile.rows, lambda row, c=columns: at(row, c))
