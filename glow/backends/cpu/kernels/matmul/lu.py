"""LU factors of square matrices, by elimination with the largest element of a column as pivot.

A work item is a matrix, which is factored in the memory of the result, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class LuSpec:
    """factors [count, size, size], sign [count] of matrices [count, size, size].

    Arguments of the kernel: factors, sign, matrices.
    """

    count: int
    size: int
    element: Attribute = f32


def build_lu(spec: LuSpec, target: Target, name: str = "lu") -> Kernel:
    """The kernel f(factors, sign, matrices, lo, hi)."""
    builder = LoopBuilder(target)
    matrices = types.memref_type((spec.count, spec.size, spec.size), spec.element)
    buffers = [matrices, types.memref_type((spec.count,), spec.element), matrices]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        builder.loop(low, high, 1, _Elimination(builder, spec, memrefs).factor)

    return Kernel(builder.function(name, buffers, body), spec.count)


class _Elimination:
    def __init__(
        self, builder: LoopBuilder, spec: LuSpec, memrefs: Sequence[SSAValue]
    ) -> None:
        self.builder, self.spec = builder, spec
        self.factors, self.sign, self.source = memrefs

    def factor(self, matrix: Index) -> None:
        """Factor one matrix."""
        b, size = self.builder, self.spec.size

        def copy(row: Index) -> None:
            def move(column: Index, length: int) -> None:
                value = b.vector_load(length, self.source, matrix, row, column)
                b.vector_store(value, self.factors, matrix, row, column)

            self._columns(0, move)

        b.loop(0, size, 1, copy)
        start = b.constant(1.0, self.spec.element)
        (sign,) = b.carry(
            0, size, 1, [start], lambda k, sign: [self._step(matrix, k, sign[0])]
        )
        b.store(sign, self.sign, matrix)

    def _columns(self, first: Index, body: Callable[[Index, int], None]) -> None:
        """Runs the body on vectors of a row from a column on, then on single elements."""
        b, size = self.builder, self.spec.size
        lanes = b.target.lanes(types.bit_width(self.spec.element))
        whole = b.mul(b.floordiv(b.sub(size, first), lanes), lanes)
        middle = b.add(first, whole)
        b.loop(first, middle, lanes, lambda column: body(column, lanes))
        b.loop(middle, size, 1, lambda column: body(column, 1))

    def _step(self, matrix: Index, k: Index, sign: SSAValue) -> SSAValue:
        """Clear column k below the diagonal; returns the sign after the swap of rows."""
        b, a = self.builder, self.factors
        pivot_row = self._pivot(matrix, k)

        def swap(column: Index, length: int) -> None:
            upper = b.vector_load(length, a, matrix, k, column)
            lower = b.vector_load(length, a, matrix, pivot_row, column)
            b.vector_store(lower, a, matrix, k, column)
            b.vector_store(upper, a, matrix, pivot_row, column)

        is_moved = b.compare("ne", pivot_row, k)
        b.if_(is_moved, lambda: self._columns(0, swap))
        pivot = b.load(a, matrix, k, k)

        def eliminate(row: Index) -> None:
            factor = b.divf(b.load(a, matrix, row, k), pivot)
            b.store(factor, a, matrix, row, k)
            negative = b.unary(arith.NegfOp, factor)

            def subtract(column: Index, length: int) -> None:
                upper = b.vector_load(length, a, matrix, k, column)
                value = b.vector_load(length, a, matrix, row, column)
                value = b.fma(upper, b.broadcast(negative, (length,)), value)
                b.vector_store(value, a, matrix, row, column)

            self._columns(b.add(k, 1), subtract)

        # A column of zeros stays: its pivot makes the determinant zero.
        is_zero = b.cmpf("oeq", pivot, b.like(0.0, pivot))
        below = b.select_index(is_zero, self.spec.size, b.add(k, 1))
        b.loop(below, self.spec.size, 1, eliminate)
        if isinstance(is_moved, bool):
            return sign
        return b.select(is_moved, b.unary(arith.NegfOp, sign), sign)

    def _pivot(self, matrix: Index, k: Index) -> Index:
        """The first row from k on with the largest element of column k."""
        b = self.builder

        def size_at(row: Index) -> SSAValue:
            return b.unary(math.AbsFOp, b.load(self.factors, matrix, row, k))

        def better(row: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
            size = size_at(row)
            wins = b.cmpf("ogt", size, best[0])
            return [
                b.select(wins, size, best[0]),
                b.select(wins, b.index(row), best[1]),
            ]

        start = [size_at(k), b.index(k)]
        return b.carry(b.add(k, 1), self.spec.size, 1, start, better)[1]
