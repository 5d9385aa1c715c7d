"""The sums of a matrix's quadrants that Strassen's product multiplies.

Seven for one level; for two levels those of each sum, written seven at a time: more streams
than the ways of the nearest cache take five times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from glow.interpreter.strassen import LEFT, PRODUCTS, QUADRANTS, Sum, place
from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.strassen import signed_total
from glow.lowering.target import Target

_BLOCKS = 2
"""Registers at once: four of each quadrant would leave none for the sums."""
_ITSELF: Sum = ((0, 1),)


@dataclass(frozen=True)
class QuadrantSumsSpec:
    """[7, rows / 2, columns / 2] of a dense [rows, columns], f32; both are even.

    With two levels [49, rows / 4, columns / 4].
    """

    rows: int
    columns: int
    levels: int = 1


def build_quadrant_sums(
    spec: QuadrantSumsSpec, target: Target, name: str = "quadrant_sums"
) -> Kernel:
    """The kernel f(sums, matrix, lo, hi); slices are rows of a quadrant."""
    levels, side = spec.levels, 2**spec.levels
    rows, columns = spec.rows // side, spec.columns // side
    source = types.memref_type((rows, side, side, columns))
    output = types.memref_type((PRODUCTS**levels, rows, columns))
    width = min(_BLOCKS * target.lanes(32), columns)
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        sums, matrix = buffers

        def part(outer: Sum, inner: int, row: Index, column: Index) -> SSAValue:
            """A quadrant of a sum of quadrants."""
            loaded: dict[int, SSAValue] = {}
            for number, _ in outer:
                down, right = place(QUADRANTS * number + inner, levels)
                loaded[number] = builder.vector_load(
                    width, matrix, row, down, right, column
                )
            return signed_total(builder, loaded, outer)

        def seven(first: int, outer: Sum, row: Index, column: Index) -> None:
            parts = [part(outer, inner, row, column) for inner in range(QUADRANTS)]
            for number, terms in enumerate(LEFT, first):
                total = signed_total(builder, parts, terms)
                builder.vector_store(total, sums, number, row, column)

        def line(row: Index) -> None:
            for number, outer in enumerate(LEFT if levels > 1 else [_ITSELF]):
                builder.tiles(
                    0,
                    columns,
                    width,
                    partial(seven, PRODUCTS * number, outer, row),
                )

        builder.loop(low, high, 1, line)

    runs = (PRODUCTS**levels, 1)
    return Kernel(builder.function(name, [output, source], body), rows, runs)
