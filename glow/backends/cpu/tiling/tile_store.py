"""What happens to register tiles of matrix products: bias, epilogue and the store.

Columns that fill no register are stored by themselves, and long epilogues take few rows at a
time: both go through the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.tiling.matmul_tile import ColumnGroup, Columns, columns_of
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides, flat
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import (
    Epilogue,
    OperandLayout,
    operand_types,
    stored_type,
)


@dataclass(frozen=True)
class TileEpilogue:
    """What happens to a product before it is stored: bias and epilogue.

    `channel` says whether the bias and the epilogue's "channel" inputs have one value per
    column (matmul) or per row (a convolution with the weights as the left matrix).
    """

    has_bias: bool = False
    epilogue: Epilogue | None = None
    channel: str = "column"
    sums: Attribute = f32

    @property
    def operand_layouts(self) -> tuple[OperandLayout, ...]:
        """How each input after the matrices is laid out."""
        epilogue_operands = (
            () if self.epilogue is None else self.epilogue.operand_layouts
        )
        return (*(("channel",) if self.has_bias else ()), *epilogue_operands)

    @property
    def runs(self) -> tuple[int, ...]:
        """The runs of the inputs after the matrices, if work items are tiles of rows."""
        return tuple(int(kind in ("full", "row")) for kind in self.operand_layouts)

    def output(self, elements: int) -> MemRefType:
        """The type of a flat buffer of results."""
        return stored_type(self.epilogue, flat(elements, self.sums))

    def buffers(self, full: MemRefType, rows: int, columns: int) -> list[MemRefType]:
        """The types of the inputs after the matrices."""
        count = columns if self.channel == "column" else rows
        channels = flat(count, self.sums)
        bias = [channels] if self.has_bias else []
        return bias + operand_types(self.epilogue, full, channels, rows)


class TileStore:
    """Finishes and stores rectangles of the product."""

    def __init__(
        self,
        builder: LoopBuilder,
        tile_epilogue: TileEpilogue,
        output: Matrix,
        epilogue_operands: Sequence[SSAValue | Matrix],
    ) -> None:
        self.builder = builder
        self.tile_epilogue = tile_epilogue
        self.output = output
        self.epilogue_operands = epilogue_operands

    def move_to(self, coordinates: Sequence[Index]) -> None:
        """Selects the matrices at those batch coordinates."""
        for matrix in (self.output, *self.epilogue_operands):
            if isinstance(matrix, Matrix):
                matrix.move_to(coordinates)

    def store(self, value: SSAValue, row: Index, columns: Columns) -> None:
        """Stores the rectangle after bias and epilogue."""
        shape = types.shape_of(value)
        epilogue_operands = [
            self._operand(kind, operand, row, columns, shape)
            for kind, operand in zip(
                self.tile_epilogue.operand_layouts, self.epilogue_operands, strict=True
            )
        ]
        self.output.write_columns(self.apply(value, epilogue_operands), row, columns)

    def fetch(self, row: Index, rows: int, group: ColumnGroup) -> None:
        """Asks for what a tile reads and writes in the end."""
        layouts = self.tile_epilogue.operand_layouts
        operands = zip(layouts, self.epilogue_operands, strict=True)
        full = [operand for layout, operand in operands if layout == "full"]
        for matrix in (self.output, *full):
            assert isinstance(matrix, Matrix)
            matrix.fetch(row, rows, group)

    def apply(self, value: SSAValue, epilogue_operands: list[SSAValue]) -> SSAValue:
        """The value after bias and epilogue; scalars or vectors."""
        if self.tile_epilogue.has_bias:
            value = self.builder.add_values(value, epilogue_operands.pop(0))
        if self.tile_epilogue.epilogue is not None:
            value = self.tile_epilogue.epilogue.apply(
                self.builder, value, epilogue_operands
            )
        return value

    def _operand(
        self,
        kind: OperandLayout,
        operand: SSAValue | Matrix,
        row: Index,
        columns: Columns,
        shape: tuple[int, ...],
    ) -> SSAValue:
        builder = self.builder
        of_row = (0, *[None] * (len(shape) - 1))
        if isinstance(operand, Matrix):
            if kind == "row":
                return operand.read(row, 0, shape, of_row)
            return operand.read_columns(row, shape[0], columns)
        if kind == "scalar":
            return builder.broadcast(builder.number(operand), shape)
        if "row" in (kind, self.tile_epilogue.channel):
            return builder.transfer_read(operand, (row,), shape, of_row)
        lanes = self.output.lanes
        column = builder.mul(columns.block, lanes)
        if len(columns.shape) == 1:
            return builder.transfer_read(operand, (column,), shape, (None, 0))
        (length,) = types.shape_of(operand)
        blocked = builder.reinterpret(operand, (length // lanes, lanes))
        value = builder.transfer_read(blocked, (columns.block, 0), shape[1:], (0, 1))
        return builder.broadcast(value, shape)


def matrices_of(
    builder: LoopBuilder,
    tile_epilogue: TileEpilogue,
    buffers: Sequence[SSAValue],
    strides: Strides,
    extents: tuple[int, ...],
) -> list[SSAValue | Matrix]:
    """The buffers of the epilogue, the "full" ones as matrices like the output."""
    lanes = builder.target.lanes(32)
    return [
        Matrix(builder, buffer, strides, extents, lanes, blocked=True)
        if kind == "full"
        else buffer
        for kind, buffer in zip(tile_epilogue.operand_layouts, buffers, strict=True)
    ]


def stored_rows(rows: int) -> int:
    """How many rows of a tile an epilogue finishes at a time: pairs, where they divide it."""
    return 1 if rows % 2 else 2


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
        epilogue = self.store.tile_epilogue.epilogue
        many = self.rows > stored_rows(self.rows)
        slowly = many and epilogue is not None and epilogue.is_long
        if whole and not slowly:
            self.store.store(value, row, pieces[0])
            return
        scratch = self.builder.alloca(
            types.memref_type((self.rows, group.blocks, lanes), types.element_of(value))
        )
        self.builder.transfer_write(value, scratch, (0, 0, 0), (0, 1, 2))
        height = stored_rows(self.rows) if slowly else self.rows
        self._finish(scratch, row, group, height)

    def finish(self, sums: SSAValue, row: Index, group: ColumnGroup) -> None:
        """The same for sums that are on the stack, [rows, blocks * lanes]."""
        shape = (self.rows, group.blocks, self.store.output.lanes)
        epilogue, height = self.store.tile_epilogue.epilogue, stored_rows(self.rows)
        if height > 1 and self.rows % 4 == 0 and not (epilogue and epilogue.is_long):
            height = 4
        self._finish(self.builder.reinterpret(sums, shape), row, group, height)

    def _finish(
        self, scratch: SSAValue, row: Index, group: ColumnGroup, height: int
    ) -> None:
        """Stores sums on the stack, so many rows at a time."""
        pieces = columns_of(group, self.store.output.lanes)

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
