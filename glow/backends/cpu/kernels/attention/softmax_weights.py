"""The softmax weights of attention: exponentials of a block's scores, in a scratch.

Some rows are folded at once, since folding one is a chain of dependent operations: saves a
third of the time where there are few keys. A NaN makes its whole row NaN through the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.reduction.softmax import LOWEST, add, larger
from glow.backends.cpu.tiling.matmul_tile import Columns
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.vector_row import (
    Combine,
    Segment,
    reduce_vector,
    segments,
)

ROWS_TOGETHER = 4

Read = Callable[[Index, tuple[int, int]], SSAValue]
"""Takes a position and a shape (rows, length); returns what stands there in some rows."""

ReadMask = Callable[[Index, Index, tuple[int, int]], SSAValue]
"""The same from a row of the block on."""


class OnlineSoftmax:
    """What rows of scores come to that are seen block by block of keys.

    A block has the largest score so far, and the sum of exponentials below it; where a later
    score is larger, what was summed before decays.
    """

    def __init__(self, builder: LoopBuilder, rows: int) -> None:
        self.builder = builder
        self.rows = rows
        self.first: Index = 0
        """The row with which the block of queries begins."""
        self._maxima = builder.alloca(types.memref_type((rows,)))
        self._sums = builder.alloca(types.memref_type((rows,)))
        self._decays = builder.alloca(types.memref_type((rows,)))

    def clear(self) -> None:
        """Begins: no score, no sum."""
        builder = self.builder

        def row(number: Index) -> None:
            builder.store(builder.constant(LOWEST, f32), self._maxima, number)
            builder.store(builder.constant(0.0, f32), self._sums, number)

        builder.loop(0, self.rows, 1, row)

    def raise_maximum(self, row: Index, found: SSAValue) -> SSAValue:
        """The largest score of a row with that of a block of keys."""
        builder, there = self.builder, self.builder.add(self.first, row)
        before = builder.load(self._maxima, there)
        maximum = larger(builder, before, found)
        builder.store(maximum, self._maxima, there)
        decay = math_functions.exp_nonpositive(builder, builder.subf(before, maximum))
        builder.store(decay, self._decays, row)
        return maximum

    def add_sum(self, row: Index, found: SSAValue) -> None:
        """Adds the sum of the exponentials of a block of keys."""
        builder, there = self.builder, self.builder.add(self.first, row)
        before = builder.load(self._sums, there)
        kept = builder.mulf(before, builder.load(self._decays, row))
        builder.store(builder.addf(kept, found), self._sums, there)

    def decays(self, row: Index, shape: tuple[int, ...]) -> SSAValue:
        """What is left of sums before, in some rows of the block, each repeated."""
        return self.builder.transfer_read(self._decays, (row,), shape, _of_row(shape))

    def inverse_sums(self, row: Index, shape: tuple[int, ...]) -> SSAValue:
        """One over the sums of some rows' weights, each repeated; rows count from the first."""
        sums = self.builder.transfer_read(self._sums, (row,), shape, _of_row(shape))
        return self.builder.divf(self.builder.like(1.0, sums), sums)


class SoftmaxWeights:
    """Scores [rows, keys] of a block, which become softmax weights up to a factor for each row.

    `width` is the length of a row in memory, whole registers.
    """

    def __init__(self, builder: LoopBuilder, rows: int, keys: int, width: int) -> None:
        lanes = builder.target.lanes(32)
        buffer = builder.alloca(types.memref_type((rows * width,)))
        self.builder = builder
        self.rows = rows
        self.parts = segments(keys, lanes, registers=1)
        self.together = max(n for n in range(1, ROWS_TOGETHER + 1) if rows % n == 0)
        self.matrix = Matrix(
            builder, buffer, Strides((), width, 1), (rows, width), lanes, blocked=True
        )
        self.factors = builder.alloca(types.memref_type((rows,)))
        """Maxima, then one over the sums."""

    def compute(
        self, scale: float, mask: ReadMask | None, online: OnlineSoftmax | None = None
    ) -> None:
        """Makes softmax weights of scores, times a scale and plus a mask.

        Those of a block of keys are below the largest score so far; their sums are added.
        """
        self.builder.loop(
            0,
            self.rows,
            self.together,
            lambda row: self._rows(row, scale, mask, online),
        )

    def write(self, scores: SSAValue, row: Index, columns: Columns) -> None:
        """Stores the scores of some rows and keys."""
        self.matrix.write_columns(scores, row, columns)

    def read(self, row: Index, key: Index, shape: tuple[int, ...]) -> SSAValue:
        """A key's weights in some rows, each repeated."""
        return self.matrix.read(row, key, shape, _of_row(shape))

    def inverse_sums(self, row: Index, shape: tuple[int, ...]) -> SSAValue:
        """One over the sums of some rows' weights, each repeated."""
        return self._factors(row, shape)

    def _factors(self, row: Index, shape: tuple[int, ...]) -> SSAValue:
        return self.builder.transfer_read(self.factors, (row,), shape, _of_row(shape))

    def _rows(
        self,
        row: Index,
        scale: float,
        mask: ReadMask | None,
        online: OnlineSoftmax | None,
    ) -> None:
        builder = self.builder

        def score(position: Index, shape: tuple[int, int]) -> SSAValue:
            value = self.matrix.read(row, position, shape, (0, 1))
            if scale != 1.0:
                value = builder.mulf(value, builder.like(scale, value))
            if mask is not None:
                value = builder.addf(value, mask(row, position, shape))
            if scale != 1.0 or mask is not None:
                self._write(value, row, position)
            return value

        def exponential(position: Index, shape: tuple[int, int]) -> SSAValue:
            value = self.matrix.read(row, position, shape, (0, 1))
            value = builder.subf(value, self._factors(row, shape))
            value = math_functions.exp_nonpositive(builder, value)
            self._write(value, row, position)
            return value

        maxima = self._fold(score, larger, "maxnumf", LOWEST)
        rows = [builder.add(row, number) for number in range(self.together)]
        if online is not None:
            maxima = list(map(online.raise_maximum, rows, maxima))
        self._keep(row, maxima)
        sums = self._fold(exponential, add, "add", 0.0)
        if online is None:
            self._keep(row, [builder.divf(builder.like(1.0, x), x) for x in sums])
            return
        for at, total in zip(rows, sums, strict=True):
            online.add_sum(at, total)

    def _write(self, value: SSAValue, row: Index, position: Index) -> None:
        self.builder.transfer_write(value, self.matrix.plain, (row, position), (0, 1))

    def _keep(self, row: Index, factors: Sequence[SSAValue]) -> None:
        for number, factor in enumerate(factors):
            self.builder.store(factor, self.factors, self.builder.add(row, number))

    def _fold(
        self, read: Read, combine: Combine, kind: str, start: float
    ) -> list[SSAValue]:
        """The fold of each row."""
        folded = [
            self._fold_part(part, read, combine, kind, start) for part in self.parts
        ]
        return [
            reduce(lambda a, b: combine(self.builder, a, b), of_row)
            for of_row in zip(*folded, strict=True)
        ]

    def _fold_part(
        self, part: Segment, read: Read, combine: Combine, kind: str, start: float
    ) -> list[SSAValue]:
        builder, shape = self.builder, (self.together, part.length)
        first = builder.constant(start, types.vector_type(shape))

        def body(position: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [combine(builder, carried[0], read(position, shape))]

        (total,) = builder.carry(part.start, part.stop, part.length, [first], body)
        return [
            reduce_vector(builder, kind, builder.extract(total, row))
            for row in range(self.together)
        ]


def _of_row(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """The dimensions of a vector that repeats one element a row."""
    return (0, *[None] * (len(shape) - 1))
