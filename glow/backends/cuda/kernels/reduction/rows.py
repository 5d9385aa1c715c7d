"""Softmax, normalizations and reductions of rows for many threads.

How threads share rows, and get numbers of them together, is `row_threads.py`'s:

    for each pass:  number = combine(term(x, numbers so far) of all x of the row)
    results of a row = of_row(numbers), result = finish(x, numbers, operands)

Passes that do not wait for each other take one trip through the row.
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
from glow.lowering.loop_builder.epilogue import (
    Epilogue,
    operand_types,
    row_of_epilogue,
)
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.loop_builder.scalar_region import RegionBuilder, ScalarRegion
from glow.lowering.target.target import Target

IDENTITY = {"add": 0.0, "maximumf": float("-inf"), "minimumf": float("inf")}


@dataclass(frozen=True)
class RowPass:
    """A number of each row: `kind` of all terms; a term takes x and the first numbers before."""

    kind: Kind
    term: ScalarRegion

    @property
    def known(self) -> int:
        """How many numbers the term takes."""
        return len(self.term.input_types) - 1


@dataclass(frozen=True)
class RowsSpec:
    """What is done to rows of f32; arguments of the kernel are results, rows, operands.

    `of_row` takes the numbers of a row, and gives results with one element a row. `finish` gives
    the result with all columns: it takes x, what `of_row` gives (without one, the numbers), and an
    element of each operand [columns]. Its rows have `stored` columns, the last ones zeros.
    """

    rows: int
    columns: int
    passes: tuple[RowPass, ...]
    finish: ScalarRegion | None = None
    of_row: ScalarRegion | None = None
    stored: int = 0
    """As many as there are, if none are said."""
    epilogue: Epilogue | None = None
    """What is done to each element of the result; its operands are arguments behind the others."""
    keeps_plain: bool = False
    """Whether the second argument is the result without the epilogue."""

    @property
    def is_reduction(self) -> bool:
        """Whether all results have one element a row."""
        return self.finish is None

    @property
    def stored_columns(self) -> int:
        """The columns of the result."""
        return self.stored or self.columns

    @property
    def row_elements(self) -> tuple[Attribute, ...]:
        """The elements of the results of a row."""
        return () if self.of_row is None else self.of_row.result_types

    @property
    def operands(self) -> int:
        """How many operands there are."""
        if self.finish is None:
            return 0
        numbers = len(self.row_elements) or len(self.passes)
        return len(self.finish.input_types) - numbers - 1

    @property
    def trips(self) -> list[list[RowPass]]:
        """The passes that go through a row at once, one trip after the other."""
        trips: list[list[RowPass]] = []
        for number, one in enumerate(self.passes):
            if trips and one.known <= number - len(trips[-1]):
                trips[-1].append(one)
            else:
                trips.append([one])
        return trips

    @property
    def shape(self) -> RowShape:
        """The rows, and how threads share them."""
        return RowShape(self.rows, self.columns, self.stored_columns)

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        rows = types.memref_type((self.rows, self.columns))
        column = types.memref_type((self.columns,))
        shape = (self.rows, self.stored_columns)
        results = [types.memref_type(shape, element) for element in self.wide_elements]
        results += [types.memref_type((self.rows,), e) for e in self.row_elements]
        behind = operand_types(self.epilogue, rows, column)
        return [*results, rows, *[column] * self.operands, *behind]

    @property
    def wide_elements(self) -> list[Attribute]:
        """The elements of the results with all columns."""
        if self.finish is None:
            return []
        (plain,) = self.finish.result_types
        stored = plain if self.epilogue is None else self.epilogue.result_element
        return [stored, *[plain] * self.keeps_plain]


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

    return RowsSpec(rows, columns, passes, of_row=traced(finish, 1))


class Rows:
    """The body of the kernel."""

    def __init__(self, b: GpuBuilder, spec: RowsSpec, buffers: Sequence[SSAValue]):
        self.b, self.spec = b, spec
        left = list(buffers)
        wide, narrow = len(spec.wide_elements), len(spec.row_elements)
        self.results, self.row_results = left[:wide], left[wide : wide + narrow]
        self.source, *left = left[wide + narrow :]
        self.operands = left[: spec.operands]
        self.epilogue_operands = left[spec.operands :]
        self.threads = RowThreads(b, spec.shape, len(spec.passes))
        self.vector = (spec.shape.width,)

    def build(self) -> None:
        """Writes the kernel."""
        self.threads.at_row(self.build_row)

    def build_row(self) -> None:
        """The passes of a row, and its results."""
        numbers: list[SSAValue] = []
        for trip in self.spec.trips:
            numbers += self.numbers(trip, numbers)
        if self.spec.of_row is not None:
            numbers = self.spec.of_row.instantiate(self.b, numbers)
            self.threads.at_first(lambda: self.store_numbers(numbers))
        if self.spec.finish is not None:
            self.store_row(self.spec.finish, numbers)

    def store_numbers(self, numbers: Sequence[SSAValue]) -> None:
        """Stores the results with one element a row."""
        for number, buffer in zip(numbers, self.row_results, strict=True):
            self.b.store(number, buffer, self.threads.row)

    def store_row(self, finish: ScalarRegion, numbers: Sequence[SSAValue]) -> None:
        """Stores the results with all columns, and zeros behind them."""
        b, row, (target, *plain) = self.b, self.threads.row, self.results

        def column(at: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            operands = [b.vector_load(*self.vector, each, at) for each in self.operands]
            values = [self.read(at), *map(self.spread, numbers), *operands]
            (result,) = finish.instantiate(b, values)
            for buffer in plain:
                b.vector_store(result, buffer, row, at)
            result = row_of_epilogue(
                b, self.spec.epilogue, result, self.epilogue_operands, row, at
            )
            b.vector_store(result, target, row, at)
            return ()

        self.threads.columns((), column)
        zero = b.constant(0, types.element_of(target))
        self.threads.behind(lambda at: b.store(zero, target, row, at))

    def read(self, column: Index) -> SSAValue:
        """Elements of the row."""
        return self.b.vector_load(*self.vector, self.source, self.threads.row, column)

    def spread(self, number: SSAValue) -> SSAValue:
        """A number for each element that a thread reads at once."""
        return self.b.broadcast(number, self.vector)

    def numbers(
        self, trip: Sequence[RowPass], before: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The numbers of a trip through the row, which all its threads get."""
        b, type_ = self.b, types.vector_type(self.vector)
        spread = [self.spread(number) for number in before]

        def column(at: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            x, after = self.read(at), list[SSAValue]()
            for one, value in zip(trip, carried, strict=True):
                (term,) = one.term.instantiate(b, [x, *spread[: one.known]])
                after.append(b.binary(COMBINE[one.kind], value, term))
            return after

        starts = [b.constant(IDENTITY[one.kind], type_) for one in trip]
        partial = self.threads.columns(starts, column)
        pairs = zip(trip, partial, strict=True)
        return [self.threads.together(one.kind, value) for one, value in pairs]


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
