"""The threads of a block at rows: who has which, and what they have together.

A warp has a row, or all warps of a block have one that is long. Each thread goes through its
columns, four at a time where rows are aligned; neighbours read what lies side by side. Then
lanes exchange what they have, and warps by shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import f32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.gpu_builder import WARP, GpuBuilder
from glow.dialects import arith
from glow.lowering.loop_builder.index_builder import Index

WARPS, VECTOR = 4, 4
THREADS = WARPS * WARP
LONG_ROW = 1024
"""Columns from which on all warps of a block work at one row."""

Kind = Literal["add", "maximumf", "minimumf"]
COMBINE = {
    "add": arith.AddfOp,
    "maximumf": arith.MaximumfOp,
    "minimumf": arith.MinimumfOp,
}


@dataclass(frozen=True)
class RowShape:
    """So many rows, and how threads share them.

    `stored`: the columns of results, where these have more.
    """

    rows: int
    columns: int
    stored: int = 0

    @property
    def warps_of_row(self) -> int:
        """The warps that work at one row."""
        return WARPS if self.columns > LONG_ROW else 1

    @property
    def grid(self) -> tuple[int, int, int]:
        """The blocks."""
        return (-(-self.rows * self.warps_of_row // WARPS), 1, 1)

    @property
    def width(self) -> int:
        """The columns that a thread reads, and stores, at once."""
        return VECTOR if self.columns % VECTOR == 0 == self.stored % VECTOR else 1

    @property
    def threads_of_row(self) -> int:
        """The threads that work at one row."""
        return self.warps_of_row * WARP


class RowThreads:
    """The threads of a block, while a kernel is built.

    `numbers`: how many of them all threads of a row get from each other.
    """

    def __init__(self, b: GpuBuilder, shape: RowShape, numbers: int) -> None:
        self.b, self.shape = b, shape
        self.warp, self.lane = b.unflatten(b.thread(), (WARPS, WARP))
        number = b.add(b.mul(b.block(DimensionEnum.X), WARPS), self.warp)
        self.row, part = b.unflatten(number, (shape.rows, shape.warps_of_row))
        self.member = b.add(b.mul(part, WARP), self.lane)
        self.shared = None
        self.given = 0
        if shape.warps_of_row > 1 and numbers:
            self.shared = b.shared("numbers", (numbers, WARPS), f32)

    def at_row(self, body: Callable[[], None]) -> None:
        """Runs a body in the threads that have a row."""
        whole = self.shape.rows * self.shape.warps_of_row % WARPS == 0
        is_row = whole or self.b.compare("slt", self.row, self.shape.rows)
        self.b.if_(is_row, body)

    def at_first(self, body: Callable[[], None]) -> None:
        """Runs a body in one thread of each row."""
        self.b.if_(self.b.compare("eq", self.member, 0), body)

    def columns(
        self,
        carried: Sequence[SSAValue],
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """Runs a body on the columns of a thread."""
        shape = self.shape
        step = shape.threads_of_row * shape.width
        first = self.b.mul(self.member, shape.width)
        return self.b.carry(first, shape.columns, step, carried, body)

    def behind(self, body: Callable[[Index], None]) -> None:
        """Runs a body on the columns that are stored behind those that there are."""
        shape = self.shape
        if shape.stored > shape.columns:
            first = self.b.add(self.member, shape.columns)
            self.b.loop(first, shape.stored, shape.threads_of_row, body)

    def together(self, kind: Kind, partial: SSAValue) -> SSAValue:
        """A number of the row from each thread's vector, which all its threads get."""
        b, combine = self.b, COMBINE[kind]
        total = b.extract(partial, 0)
        for lane in range(1, self.shape.width):
            total = b.binary(combine, total, b.extract(partial, lane))
        for offset in (16, 8, 4, 2, 1):
            total = b.binary(combine, total, b.exchange(total, offset))
        return total if self.shared is None else self._over_warps(total, kind)

    def _over_warps(self, total: SSAValue, kind: Kind) -> SSAValue:
        """What all warps have together, each number in memory of its own."""
        b, shared, slot = self.b, self.shared, self.given
        assert shared is not None
        self.given += 1
        first = b.compare("eq", self.lane, 0)
        b.if_(first, lambda: b.store(total, shared, slot, self.warp))
        b.barrier()
        result = b.load(shared, slot, 0)
        for warp in range(1, WARPS):
            result = b.binary(COMBINE[kind], result, b.load(shared, slot, warp))
        return result
