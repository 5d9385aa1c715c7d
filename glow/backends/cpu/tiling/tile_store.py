"""What happens to register tiles of matrix products: bias, epilogue and the store.

Columns that fill no register are stored by themselves, and long epilogues take few rows at a
time: both go through the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.tiling.matmul_tile import (
    ColumnGroup,
    Columns,
    Matrix,
    Strides,
    columns_of,
    flat,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import (
    Epilogue,
    ExtraInput,
    extra_types,
    stored_type,
)


@dataclass(frozen=True)
class Finish:
    """What happens to a product before it is stored: bias and epilogue.

    `channel` says whether the bias and the epilogue's "channel" inputs have one value per
    column (matmul) or per row (a convolution with the weights as the left matrix).
    """

    has_bias: bool = False
    epilogue: Epilogue | None = None
    channel: str = "column"
    sums: Attribute = f32

    @property
    def extra_inputs(self) -> tuple[ExtraInput, ...]:
        """How each input after the matrices is laid out."""
        extras = () if self.epilogue is None else self.epilogue.extra_inputs
        return (*(("channel",) if self.has_bias else ()), *extras)

    @property
    def runs(self) -> tuple[int, ...]:
        """The runs of the inputs after the matrices, if work items are tiles of rows."""
        return tuple(int(kind in ("full", "row")) for kind in self.extra_inputs)

    def output(self, elements: int) -> MemRefType:
        """The type of a flat buffer of results."""
        return stored_type(self.epilogue, flat(elements, self.sums))

    def buffers(self, full: MemRefType, rows: int, columns: int) -> list[MemRefType]:
        """The types of the inputs after the matrices."""
        count = columns if self.channel == "column" else rows
        channels = flat(count, self.sums)
        bias = [channels] if self.has_bias else []
        return bias + extra_types(self.epilogue, full, channels, rows)


class TileStore:
    """Finishes and stores rectangles of the product."""

    def __init__(
        self,
        builder: LoopBuilder,
        finish: Finish,
        output: Matrix,
        extras: Sequence[SSAValue | Matrix],
    ) -> None:
        self.builder = builder
        self.finish = finish
        self.output = output
        self.extras = extras

    def move_to(self, coordinates: Sequence[Index]) -> None:
        """Selects the matrices at those batch coordinates."""
        for matrix in (self.output, *self.extras):
            if isinstance(matrix, Matrix):
                matrix.move_to(coordinates)

    def store(self, value: SSAValue, row: Index, columns: Columns) -> None:
        """Stores the rectangle after bias and epilogue."""
        shape = types.shape_of(value)
        extras = [
            self._extra(kind, extra, row, columns, shape)
            for kind, extra in zip(self.finish.extra_inputs, self.extras, strict=True)
        ]
        self.output.write_columns(self.apply(value, extras), row, columns)

    def apply(self, value: SSAValue, extras: list[SSAValue]) -> SSAValue:
        """The value after bias and epilogue; scalars or vectors."""
        if self.finish.has_bias:
            value = self.builder.add_values(value, extras.pop(0))
        if self.finish.epilogue is not None:
            value = self.finish.epilogue.apply(self.builder, value, extras)
        return value

    def _extra(
        self,
        kind: ExtraInput,
        extra: SSAValue | Matrix,
        row: Index,
        columns: Columns,
        shape: tuple[int, ...],
    ) -> SSAValue:
        builder = self.builder
        of_row = (0, *[None] * (len(shape) - 1))
        if isinstance(extra, Matrix):
            if kind == "row":
                return extra.read(row, 0, shape, of_row)
            return extra.read_columns(row, shape[0], columns)
        if kind == "scalar":
            return builder.broadcast(builder.load(extra, 0), shape)
        if "row" in (kind, self.finish.channel):
            return builder.transfer_read(extra, (row,), shape, of_row)
        lanes = self.output.lanes
        column = builder.mul(columns.block, lanes)
        if len(columns.shape) == 1:
            return builder.transfer_read(extra, (column,), shape, (None, 0))
        (length,) = types.shape_of(extra)
        blocked = builder.reinterpret(extra, (length // lanes, lanes))
        value = builder.transfer_read(blocked, (columns.block, 0), shape[1:], (0, 1))
        return builder.broadcast(value, shape)


def matrices_of(
    builder: LoopBuilder,
    finish: Finish,
    buffers: Sequence[SSAValue],
    strides: Strides,
    extents: tuple[int, ...],
) -> list[SSAValue | Matrix]:
    """The buffers of the finish, the "full" ones as matrices like the output."""
    lanes = builder.target.lanes(32)
    return [
        Matrix(builder, buffer, strides, extents, lanes, blocked=True)
        if kind == "full"
        else buffer
        for kind, buffer in zip(finish.extra_inputs, buffers, strict=True)
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
        epilogue = self.store.finish.epilogue
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
