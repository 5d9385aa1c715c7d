"""The range of each row, which always includes 0: what quantization at run time needs first.

One pass over the row. Comparisons pass over NaN, so a fold of its own says where one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.reduction.softmax import larger
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import Combine, Fold, Read, fold_row_by
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class RowRangeSpec:
    """low [rows] = min(row, 0) and high [rows] = max(row, 0) of f32 [rows, extent].

    Arguments of the kernel: low, high, in. Both are NaN where a row has one.
    """

    rows: int
    extent: int


def smaller(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The smaller number in one instruction; if either is NaN, one of the two."""
    return builder.select(builder.cmpf("olt", a, b), a, b)


def not_a_number(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """NaN where b is one, else a, which starts as 0."""
    return builder.select(builder.cmpf("uno", b, b), b, a)


def not_finite(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """NaN where b is not finite, else a, which starts as 0."""
    return builder.addf(a, builder.mulf(b, builder.like(0.0, b)))


def row_range(
    builder: LoopBuilder, extent: int, read: Read, poison: Combine
) -> list[SSAValue]:
    """The lowest and highest number of a row and 0, and 0 or the NaN that `poison` finds."""
    folds = [
        Fold(smaller, "minnumf", 0.0),
        Fold(larger, "maxnumf", 0.0),
        Fold(poison, "add", 0.0),
    ]
    return fold_row_by(builder, extent, f32, read, folds)


def build_row_range(
    spec: RowRangeSpec, target: Target, name: str = "row_range"
) -> Kernel:
    """The kernel f(low, high, in, lo, hi)."""
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], first: Index, last: Index) -> None:
        lows, highs, source = buffers

        def row(r: Index) -> None:
            low, high, poison = row_range(
                builder,
                spec.extent,
                lambda position, length: builder.vector_load(
                    length, source, r, position
                ),
                not_a_number,
            )
            builder.store(builder.addf(low, poison), lows, r)
            builder.store(builder.addf(high, poison), highs, r)

        builder.loop(first, last, 1, row)

    bounds = [types.memref_type((spec.rows,))] * 2
    matrix = types.memref_type((spec.rows, spec.extent))
    return Kernel(builder.function(name, [*bounds, matrix], body), spec.rows)
