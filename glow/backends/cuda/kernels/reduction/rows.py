"""Softmax, normalizations and reductions of rows for many threads.

How threads share rows, and get numbers of them together, is `row_threads.py`'s:

    for each pass:  number = combine(term(x, numbers so far) of all x of the row)
    result = finish(x, numbers, operands), or finish(numbers): one a row
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.reduction.row_threads import (
    COMBINE,
    THREADS,
    Kind,
    RowShape,
    RowThreads,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.loop_builder.scalar_region import RegionBuilder, ScalarRegion
from glow.lowering.target.target import Target

IDENTITY = {"add": 0.0, "maximumf": float("-inf"), "minimumf": float("inf")}


@dataclass(frozen=True)
class RowPass:
    """A number of each row: `kind` of all terms; a term takes x and the numbers before."""

    kind: Kind
    term: ScalarRegion


@dataclass(frozen=True)
class RowsSpec:
    """What is done to rows of f32; arguments of the kernel are result, rows, operands.

    `finish` takes x, the numbers of its row, and an element of each operand [columns]; if
    `is_reduction`, the numbers alone, and there is one result a row.
    """

    rows: int
    columns: int
    passes: tuple[RowPass, ...]
    finish: ScalarRegion
    is_reduction: bool = False

    @property
    def operands(self) -> int:
        """How many operands there are."""
        inputs = len(self.finish.input_types) - len(self.passes)
        return 0 if self.is_reduction else inputs - 1

    @property
    def shape(self) -> RowShape:
        """The rows, and how threads share them."""
        return RowShape(self.rows, self.columns)

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        rows = types.memref_type((self.rows, self.columns))
        result = types.memref_type((self.rows,)) if self.is_reduction else rows
        operands = [types.memref_type((self.columns,))] * self.operands
        return [result, rows, *operands]


def traced(function: Callable[..., SSAValue], inputs: int) -> ScalarRegion:
    """The region of a function of so many numbers of f32."""
    return ScalarRegion.trace(function, [f32] * inputs)


def itself(b: RegionBuilder, x: SSAValue) -> SSAValue:
    """X."""
    return x


def square(b: RegionBuilder, x: SSAValue) -> SSAValue:
    """X squared."""
    return b.mulf(x, x)


def softmax(rows: int, columns: int) -> RowsSpec:
    """exp(x - max) / sum(exp(x - max)) of each row."""

    def shifted(b: RegionBuilder, x: SSAValue, largest: SSAValue) -> SSAValue:
        return b.unary(math.ExpOp, b.subf(x, largest))

    passes = (
        RowPass("maximumf", traced(itself, 1)),
        RowPass("add", traced(shifted, 2)),
    )

    def finish(
        b: RegionBuilder, x: SSAValue, largest: SSAValue, total: SSAValue
    ) -> SSAValue:
        return b.divf(shifted(b, x, largest), total)

    return RowsSpec(rows, columns, passes, traced(finish, 3))


def layer_norm(rows: int, columns: int, epsilon: float) -> RowsSpec:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias; operands: scale, bias [columns]."""

    def centered(b: RegionBuilder, x: SSAValue, total: SSAValue) -> SSAValue:
        return b.subf(x, b.mulf(total, b.constant(1 / columns, f32)))

    def squared(b: RegionBuilder, x: SSAValue, total: SSAValue) -> SSAValue:
        difference = centered(b, x, total)
        return b.mulf(difference, difference)

    def finish(b: RegionBuilder, x: SSAValue, total: SSAValue, squares: SSAValue,
               scale: SSAValue, bias: SSAValue) -> SSAValue:  # fmt: skip
        factor = b.mulf(inverse_root(b, squares, columns, epsilon), scale)
        return b.addf(b.mulf(centered(b, x, total), factor), bias)

    passes = (
        RowPass("add", traced(itself, 1)),
        RowPass("add", traced(squared, 2)),
    )
    return RowsSpec(rows, columns, passes, traced(finish, 5))


def rms_norm(rows: int, columns: int, epsilon: float) -> RowsSpec:
    """X / sqrt(mean(x^2) + epsilon) * scale; operand: scale [columns]."""

    def finish(
        b: RegionBuilder, x: SSAValue, squares: SSAValue, scale: SSAValue
    ) -> SSAValue:
        factor = inverse_root(b, squares, columns, epsilon)
        return b.mulf(b.mulf(x, factor), scale)

    passes = (RowPass("add", traced(square, 1)),)
    return RowsSpec(rows, columns, passes, traced(finish, 3))


def inverse_root(
    b: RegionBuilder, squares: SSAValue, columns: int, epsilon: float
) -> SSAValue:
    """1 / sqrt(mean + epsilon) of a sum of squares."""
    mean = b.mulf(squares, b.constant(1 / columns, f32))
    root = b.unary(math.SqrtOp, b.addf(mean, b.constant(epsilon, f32)))
    return b.divf(b.constant(1.0, f32), root)


def reduce_rows(rows: int, columns: int, kind: Kind, factor: float = 1.0) -> RowsSpec:
    """The sum, the largest or the smallest element of each row, times a factor."""
    passes = (RowPass(kind, traced(itself, 1)),)

    def finish(b: RegionBuilder, number: SSAValue) -> SSAValue:
        return b.mulf(number, b.constant(factor, f32))

    return RowsSpec(rows, columns, passes, traced(finish, 1), is_reduction=True)


class Rows:
    """The body of the kernel."""

    def __init__(self, b: GpuBuilder, spec: RowsSpec, buffers: Sequence[SSAValue]):
        self.b, self.spec = b, spec
        self.result, self.source, *self.operands = buffers
        self.threads = RowThreads(b, spec.shape, len(spec.passes))
        self.vector = (spec.shape.width,)

    def build(self) -> None:
        """Writes the kernel."""
        self.threads.at_row(self.build_row)

    def build_row(self) -> None:
        """The passes of a row, and its results."""
        b, row, numbers = self.b, self.threads.row, list[SSAValue]()
        for one in self.spec.passes:
            numbers.append(self.number(one, numbers))
        if self.spec.is_reduction:
            (result,) = self.spec.finish.instantiate(b, numbers)
            self.threads.at_first(lambda: b.store(result, self.result, row))
            return

        def column(at: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            operands = [b.vector_load(*self.vector, each, at) for each in self.operands]
            values = [self.read(at), *map(self.spread, numbers), *operands]
            (result,) = self.spec.finish.instantiate(b, values)
            b.vector_store(result, self.result, row, at)
            return ()

        self.threads.columns((), column)

    def read(self, column: Index) -> SSAValue:
        """Elements of the row."""
        return self.b.vector_load(*self.vector, self.source, self.threads.row, column)

    def spread(self, number: SSAValue) -> SSAValue:
        """A number for each element that a thread reads at once."""
        return self.b.broadcast(number, self.vector)

    def number(self, one: RowPass, before: Sequence[SSAValue]) -> SSAValue:
        """A number of the row, which all its threads get."""
        b, combine = self.b, COMBINE[one.kind]
        start = b.constant(IDENTITY[one.kind], types.vector_type(self.vector))

        def column(at: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            values = [self.read(at), *map(self.spread, before)]
            (term,) = one.term.instantiate(b, values)
            return [b.binary(combine, carried[0], term)]

        (partial,) = self.threads.columns([start], column)
        return self.threads.together(one.kind, partial)


def build_rows(spec: RowsSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of work on rows."""
    b = GpuBuilder(target)
    return b.kernel(
        name,
        spec.buffers,
        THREADS,
        spec.shape.grid,
        lambda buffers: Rows(b, spec, buffers).build(),
    )
