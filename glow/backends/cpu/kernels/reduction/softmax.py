"""Softmax and log-softmax over one axis, [outer, extent, inner].

Three passes over data that stays in the first-level cache: maximum, exponentials and their
sum, scaling. If the axis is the last one, vectors lie along it; else along the inner axes. A
NaN makes its whole row NaN, though the maximum may skip it, because the sum does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.reduction.reduce import visit_segments
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import (
    Epilogue,
    operand_types,
    row_of_epilogue,
    stored_type,
)
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import (
    Combine,
    Fold,
    Read,
    fold_row,
    for_each_vector,
    segments,
)
from glow.lowering.target.target import Target

LOWEST = -3.4028234663852886e38


@dataclass(frozen=True)
class SoftmaxSpec:
    """out = softmax (or its logarithm) of in [outer, extent, inner] over the middle axis, f32.

    Arguments of the kernel: out, in, the epilogue's inputs. Out and in may be one buffer, but
    not with an epilogue, which is for contiguous rows (inner 1, no logarithm).
    """

    outer: int
    extent: int
    inner: int = 1
    logarithm: bool = False
    epilogue: Epilogue | None = None


def larger(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The larger number in one instruction; if either is NaN, one of the two."""
    return builder.select(builder.cmpf("ogt", a, b), a, b)


def add(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The sum, as a combining function."""
    return builder.addf(a, b)


SUM = Fold(add, "add", 0.0)
MAXIMUM = Fold(larger, "maxnumf", LOWEST)


def build_softmax(spec: SoftmaxSpec, target: Target, name: str = "softmax") -> Kernel:
    """The kernel f(out, in, lo, hi)."""
    build = _rows if spec.inner == 1 else _columns
    return build(spec, target, name)


class _Row:
    """Computes one contiguous row."""

    def __init__(
        self, builder: LoopBuilder, spec: SoftmaxSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.out, self.source = buffers

    def compute(self, r: Index) -> None:
        """Computes row r."""
        builder, spec = self.builder, self.spec

        def read(position: Index, length: int) -> SSAValue:
            return builder.vector_load(length, self.source, r, position)

        maximum = self._fold(read, MAXIMUM)

        def exponential(position: Index, length: int) -> SSAValue:
            value = read(position, length)
            value = builder.subf(value, builder.broadcast(maximum, (length,)))
            value = math_functions.exp_nonpositive(builder, value)
            if not spec.logarithm:
                builder.vector_store(value, self.out, r, position)
            return value

        total = self._fold(exponential, SUM)
        finish = _finisher(builder, spec, maximum, total)
        memory = self.source if spec.logarithm else self.out

        def scale(position: Index, length: int) -> None:
            value = builder.vector_load(length, memory, r, position)
            builder.vector_store(finish(value), self.out, r, position)

        for_each_vector(builder, spec.extent, builder.target.lanes(32), scale)

    def _fold(self, read: Read, fold: Fold) -> SSAValue:
        return fold_row(self.builder, self.spec.extent, f32, read, fold)


class _StoredRows:
    """Contiguous rows that an epilogue stores.

    What a cast takes, above all its division, is done for a row while the exponentials of the
    next one are computed, on other units of the processor. Exponentials of two rows lie on the
    stack.
    """

    def __init__(
        self, builder: LoopBuilder, spec: SoftmaxSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.out, self.source, *self.epilogue_operands = buffers
        self.powers = builder.alloca(types.memref_type((2, spec.extent)))

    def compute(self, low: Index, high: Index) -> None:
        """Computes rows [low, high)."""
        builder = self.builder

        def row(r: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            # Before the first row there is none: what this stores is overwritten.
            previous = builder.maximum(builder.sub(r, 1), low)
            place = builder.remainder(r, 2)
            other = builder.sub(1, place)
            return [self._exponentials(r, place, (previous, other, carried[0]))]

        zero = builder.constant(0.0, f32)
        (inverse,) = builder.carry(low, high, 1, [zero], row)

        def last() -> None:
            r = builder.sub(high, 1)
            place = builder.remainder(r, 2)
            for_each_vector(
                builder,
                self.spec.extent,
                builder.target.lanes(32),
                lambda position, length: self._store(
                    (r, place, inverse), position, length
                ),
            )

        builder.if_(builder.compare("slt", low, high), last)

    def _exponentials(
        self, r: Index, place: Index, previous: tuple[Index, Index, SSAValue]
    ) -> SSAValue:
        """Computes the exponentials of row r and stores the previous one; 1 / their sum."""
        builder, extent = self.builder, self.spec.extent

        def read(position: Index, length: int) -> SSAValue:
            return builder.vector_load(length, self.source, r, position)

        maximum = fold_row(builder, extent, f32, read, MAXIMUM)

        def exponential(position: Index, length: int) -> SSAValue:
            value = read(position, length)
            value = builder.subf(value, builder.broadcast(maximum, (length,)))
            value = math_functions.exp_nonpositive(builder, value)
            self._store(previous, position, length)
            builder.vector_store(value, self.powers, place, position)
            return value

        total = fold_row(builder, extent, f32, exponential, SUM)
        return builder.divf(builder.constant(1.0, f32), total)

    def _store(
        self, row: tuple[Index, Index, SSAValue], position: Index, length: int
    ) -> None:
        """Stores a vector of a row, given with its place and the inverse of its sum."""
        builder, (r, place, inverse) = self.builder, row
        value = builder.vector_load(length, self.powers, place, position)
        value = builder.mulf(value, builder.broadcast(inverse, (length,)))
        epilogue, epilogue_operands = self.spec.epilogue, self.epilogue_operands
        stored = row_of_epilogue(
            builder, epilogue, value, epilogue_operands, r, position
        )
        builder.vector_store(stored, self.out, r, position)


def _rows(spec: SoftmaxSpec, target: Target, name: str) -> Kernel:
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        if spec.epilogue is not None:
            _StoredRows(builder, spec, buffers).compute(low, high)
            return
        builder.loop(low, high, 1, _Row(builder, spec, buffers).compute)

    buffer = types.memref_type((spec.outer, spec.extent))
    channel = types.memref_type((spec.extent,))
    buffers = [
        stored_type(spec.epilogue, buffer),
        buffer,
        *operand_types(spec.epilogue, buffer, channel),
    ]
    return Kernel(builder.function(name, buffers, body), spec.outer, (1, 1))


def _finisher(
    builder: LoopBuilder, spec: SoftmaxSpec, maximum: SSAValue, total: SSAValue
) -> Callable[[SSAValue], SSAValue]:
    """Maps the exponentials (the inputs, if logarithms are wanted) to the results."""
    if spec.logarithm:
        logarithm = math_functions.log(builder, total)

        def subtract(value: SSAValue) -> SSAValue:
            shape = types.shape_of(value)
            value = builder.subf(value, builder.broadcast(maximum, shape))
            return builder.subf(value, builder.broadcast(logarithm, shape))

        return subtract
    inverse = builder.divf(builder.like(1.0, total), total)
    return lambda value: builder.mulf(
        value, builder.broadcast(inverse, types.shape_of(value))
    )


def _columns(spec: SoftmaxSpec, target: Target, name: str) -> Kernel:
    builder = LoopBuilder(target)
    parts = segments(spec.inner, target.lanes(32))
    units = sum((part.stop - part.start) // part.length for part in parts)
    space = [spec.outer, units]

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        def unit(coordinates: list[Index]) -> None:
            outer, number = coordinates
            visit_segments(
                builder,
                parts,
                number,
                lambda position, length: _column(
                    builder, spec, buffers, outer, position, length
                ),
            )

        builder.space(low, high, space, unit)

    buffer = types.memref_type((spec.outer, spec.extent, spec.inner))
    return Kernel(builder.function(name, [buffer, buffer], body), prod(space))


def _column(
    builder: LoopBuilder,
    spec: SoftmaxSpec,
    buffers: Sequence[SSAValue],
    outer: Index,
    position: Index,
    length: int,
) -> None:
    """One vector of columns."""
    out, source = buffers
    vector = types.vector_type((length,))

    def read(memory: SSAValue, k: Index) -> SSAValue:
        return builder.vector_load(length, memory, outer, k, position)

    def fold(
        step: Callable[[Index], SSAValue], combine: Combine, start: float
    ) -> SSAValue:
        def body(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [combine(builder, carried[0], step(k))]

        first = builder.constant(start, vector)
        return builder.carry(0, spec.extent, 1, [first], body)[0]

    maximum = fold(lambda k: read(source, k), larger, LOWEST)

    def exponential(k: Index) -> SSAValue:
        value = builder.subf(read(source, k), maximum)
        value = math_functions.exp_nonpositive(builder, value)
        if not spec.logarithm:
            builder.vector_store(value, out, outer, k, position)
        return value

    finish = _finisher(builder, spec, maximum, fold(exponential, add, 0.0))
    memory = source if spec.logarithm else out
    builder.loop(
        0,
        spec.extent,
        1,
        lambda k: builder.vector_store(
            finish(read(memory, k)), out, outer, k, position
        ),
    )
