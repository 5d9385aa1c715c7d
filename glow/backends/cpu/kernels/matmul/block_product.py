"""How products with weights of a few bits read columns, and the loops around their tiles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.matmul.block_quantized_spec import BlockQuantizedSpec
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup
from glow.backends.cpu.tiling.matrix_memory import Matrix
from glow.backends.cpu.tiling.tile_store import PartialStore, TileStore, matrices_of
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder


class QuantizedColumns:
    """A group of columns of packed weights [units, K / size, record, blocks, lanes]."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: BlockQuantizedSpec,
        unit: tuple[SSAValue, Index],
        shape: tuple[int, int],
    ) -> None:
        """`unit`: the memory, and the place in it; `shape`: the group's registers."""
        self.builder, self.spec, self.format = builder, spec, spec.format
        self.memory, self.unit = unit
        self.shape = shape

    def row(self, block: Index, number: Index) -> SSAValue:
        """Words of a block along the depth, [blocks, lanes]."""
        place = (self.unit, block, number, 0, 0)
        return self.builder.transfer_read(self.memory, place, self.shape, (3, 4))

    def floats(self, block: Index, number: Index) -> SSAValue:
        """The same as floats: scales, or zero points."""
        return self.builder.bitcast(self.row(block, number), f32)


def columns_of(
    builder: LoopBuilder,
    spec: BlockQuantizedSpec,
    buffer: SSAValue,
    place: tuple[Index, ColumnGroup],
) -> QuantizedColumns:
    """A group of columns of all weights of a product; the narrower last one is behind others."""
    unit, group = place
    split = spec.split(builder.target)
    is_rest = group == split.rest
    shape = (group.blocks, split.lanes)
    height = (spec.quantized_blocks, spec.format.record)
    before = prod(height) * split.groups * split.blocks * split.lanes
    whole = (1 if is_rest else split.groups, *height, *shape)
    memory = builder.reinterpret(buffer, whole, offset=before if is_rest else 0)
    return QuantizedColumns(builder, spec, (memory, 0 if is_rest else unit), shape)


class BlockProduct(ABC):
    """What one kernel computes, unit by unit."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: BlockQuantizedSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        """`buffers`: C, A, the packed weights, what the epilogue reads."""
        output, left, self.weights, *operands = buffers
        extents, strides = (spec.rows, spec.columns), spec.c_strides
        self.builder, self.spec = builder, spec
        self.tile, self.split = spec.tile(builder.target), spec.split(builder.target)
        self.row_blocks = spec.row_blocks(builder.target)
        lanes, epilogue = self.split.lanes, spec.tile_epilogue
        self.a = Matrix(builder, left, spec.a_strides, (spec.rows, spec.depth), lanes)
        c = Matrix(builder, output, strides, extents, lanes, blocked=True)
        others = matrices_of(builder, epilogue, operands, strides, extents)
        results = TileStore(builder, epilogue, c, others)
        self.store = PartialStore(builder, results, self.tile.rows)

    def unit(self, coordinates: list[Index]) -> None:
        """Computes a group of columns of a block of rows."""
        unit, block = coordinates

        def visit(group: ColumnGroup) -> None:
            place = (unit, group)
            columns = columns_of(self.builder, self.spec, self.weights, place)
            self.group(columns, group, block)

        self.split.visit(self.builder, unit, visit)

    def group(
        self, columns: QuantizedColumns, group: ColumnGroup, block: Index
    ) -> None:
        """Computes a group of columns of a block of rows, one tile after the other."""

        def tile(row: Index) -> None:
            self.store(self.sums(columns, row), row, group)

        self.row_blocks.visit(self.builder, block, tile)

    def zeros(self, columns: QuantizedColumns) -> SSAValue:
        """The sums of a tile before the first step."""
        shape = (self.tile.rows, *columns.shape)
        return self.builder.constant(0, types.vector_type(shape, f32))

    def sums(self, columns: QuantizedColumns, row: Index) -> SSAValue:
        """The sums of a tile of rows."""
        form = self.spec.format
        whole, rest = divmod(self.spec.depth, form.size)
        (total,) = self.builder.carry(
            0,
            whole,
            1,
            [self.zeros(columns)],
            lambda block, carried: [
                self.add(columns, (row, block), form.words, *carried)
            ],
        )
        if not rest:
            return total
        return self.add(columns, (row, whole), rest // form.codes, total)

    @abstractmethod
    def add(
        self,
        columns: QuantizedColumns,
        place: tuple[Index, Index],
        words: int,
        total: SSAValue,
    ) -> SSAValue:
        """The sums of a tile after so many words of a block: `place` is its row and the block."""
