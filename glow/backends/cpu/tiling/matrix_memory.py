"""Matrices in flat buffers: their strides, and reads and writes of rectangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.tiling.matmul_tile import ColumnGroup, Columns
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder


@dataclass(frozen=True)
class Strides:
    """Element strides of a (batch of) matrices; a batch stride of 0 repeats the matrix."""

    batch: tuple[int, ...]
    row: int
    column: int

    def span(self, batch: Sequence[int], rows: int, columns: int) -> int:
        """The elements from the first to one past the last."""
        ends = zip(
            (*batch, rows, columns), (*self.batch, self.row, self.column), strict=True
        )
        return 1 + sum((extent - 1) * stride for extent, stride in ends)


class Matrix:
    """A (batch of) matrices in a flat buffer, at the current batch coordinates.

    `blocked`: columns are contiguous and are also accessed as whole registers.
    """

    def __init__(
        self,
        builder: LoopBuilder,
        buffer: SSAValue,
        strides: Strides,
        extents: tuple[int, ...],
        lanes: int,
        *,
        blocked: bool = False,
    ) -> None:
        *batch, rows, columns = extents
        self.builder = builder
        self.lanes = lanes
        self.strides = strides
        self.walked = [k for k, stride in enumerate(strides.batch) if stride]
        outer = tuple(batch[k] for k in self.walked)
        steps = tuple(strides.batch[k] for k in self.walked)
        self.plain = builder.reinterpret(
            buffer, (*outer, rows, columns), (*steps, strides.row, strides.column)
        )
        self.blocked = None
        if blocked and columns >= lanes:
            self.blocked = builder.reinterpret(
                buffer,
                (*outer, rows, columns // lanes, lanes),
                (*steps, strides.row, lanes, 1),
            )
        self.position: list[Index] = []

    def move_to(self, coordinates: Sequence[Index]) -> None:
        """Selects the matrix at those batch coordinates."""
        self.position = [coordinates[k] for k in self.walked]

    def read(
        self,
        row: Index,
        column: Index,
        shape: tuple[int, ...],
        axes: tuple[int | None, ...],
    ) -> SSAValue:
        """A vector from (row, column) on; its axes walk rows (0), columns (1) or nothing."""
        outer = len(self.position)
        dimensions = tuple(None if axis is None else axis + outer for axis in axes)
        indices = (*self.position, row, column)
        return self.builder.transfer_read(self.plain, indices, shape, dimensions)

    def read_columns(self, row: Index, rows: int, columns: Columns) -> SSAValue:
        """The rectangle [rows, *columns.shape]; rows == 0: one row without that dimension."""
        memory, indices, axes = self._rectangle(row, columns)
        shape = columns.shape if rows == 0 else (rows, *columns.shape)
        dimensions = axes[1:] if rows == 0 else axes
        return self.builder.transfer_read(memory, indices, shape, dimensions)

    def write_columns(self, value: SSAValue, row: Index, columns: Columns) -> None:
        """Stores the rectangle."""
        memory, indices, axes = self._rectangle(row, columns)
        self.builder.transfer_write(value, memory, indices, axes)

    def fetch(self, row: Index, rows: int, group: ColumnGroup) -> None:
        """Asks for the registers of a tile."""
        b = self.builder
        for down in range(rows):
            for across in range(group.blocks):
                column = b.mul(b.add(group.block, across), self.lanes)
                where = (*self.position, b.add(row, down), column)
                b.prefetch(self.plain, *where, locality=3)

    def _rectangle(
        self, row: Index, columns: Columns
    ) -> tuple[SSAValue, tuple[Index, ...], tuple[int, ...]]:
        outer = len(self.position)
        if len(columns.shape) == 1:
            column = self.builder.mul(columns.block, self.lanes)
            return self.plain, (*self.position, row, column), (outer, outer + 1)
        assert self.blocked is not None
        indices = (*self.position, row, columns.block, 0)
        return self.blocked, indices, (outer, outer + 1, outer + 2)


def flat(elements: int, element: Attribute = f32) -> MemRefType:
    """A flat buffer."""
    return types.memref_type((elements,), element)
