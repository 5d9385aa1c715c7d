"""Matrices that lie anywhere in a buffer, steps between their elements apart.

So a factor is read where a transposition or a split into heads left it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute

from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.backends.cuda.kernels.contraction_spec import Place
from glow.backends.cuda.kernels.gpu_builder import copied_elements
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.index_builder import Index


def place_of(
    b: LoopBuilder, strides: Strides, batch: Sequence[Index], row: Index, column: Index
) -> Index:
    """The position of an element in its buffer."""
    place: Index = 0
    steps = (*strides.batch, strides.row, strides.column)
    for step, index in zip(steps, (*batch, row, column), strict=True):
        place = b.add(place, b.mul(index, step))
    return place


def together(strides: Strides, extent: int) -> int:
    """What divides a contiguous axis of that extent and the steps of all others."""
    return gcd(extent, *strides.batch, *({strides.row, strides.column} - {1}))


@dataclass(frozen=True)
class StridedFactor:
    """A factor of a contraction: matrices [*batch, outer, depth], one axis of them contiguous."""

    batch: tuple[int, ...]
    outer: int
    depth: int
    strides: Strides
    element: Attribute = f32

    @property
    def type(self) -> MemRefType[Attribute]:
        """The buffer, flat."""
        size = self.strides.span(self.batch, self.outer, self.depth)
        return types.memref_type((size,), self.element)

    @property
    def is_depth_contiguous(self) -> bool:
        """Whether k + 1 lies behind k; else outer + 1 lies behind outer."""
        return self.strides.column == 1

    @property
    def width(self) -> int:
        """The elements in a row that one copy may take."""
        extent = self.depth if self.is_depth_contiguous else self.outer
        return copied_elements(together(self.strides, extent), self.element)

    def locate(self, b: LoopBuilder, batch: Index, outer: Index, depth: Index) -> Place:
        """Where an element lies; the batch is flat."""
        indices = b.unflatten(batch, self.batch)
        return Place([place_of(b, self.strides, indices, outer, depth)])


@dataclass(frozen=True)
class StridedResult:
    """Results [*batch, rows, columns]; "channel" operands of epilogues have a value a column.

    "full" operands lie as the results do.
    """

    batch: tuple[int, ...]
    rows: int
    columns: int
    strides: Strides
    has_channel_columns = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The buffer's."""
        return (self.strides.span(self.batch, self.rows, self.columns),)

    @property
    def channels(self) -> int:
        """The values of a "channel" operand."""
        return self.columns

    @property
    def row_extent(self) -> int:
        """The columns that lie in a row, at a multiple of their number."""
        return together(self.strides, self.columns) if self.strides.column == 1 else 1

    def locate(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> list[Index]:
        """The indices of a result."""
        indices = b.unflatten(batch, self.batch)
        return [place_of(b, self.strides, indices, m, n)]

    def channel(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> Index:
        """The position in a "channel" operand."""
        return n
