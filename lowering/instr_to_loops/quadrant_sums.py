"""The seven sums of a matrix's quadrants that Strassen's product multiplies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from glow.interpreter.strassen import LEFT, PRODUCTS
from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.strassen import signed_total
from glow.lowering.target import Target

_BLOCKS = 2
"""Registers at once: four of each quadrant would leave none for the sums."""


@dataclass(frozen=True)
class QuadrantSumsSpec:
    """[7, rows / 2, columns / 2] of a dense [rows, columns], f32; both are even."""

    rows: int
    columns: int


def build_quadrant_sums(
    spec: QuadrantSumsSpec, target: Target, name: str = "quadrant_sums"
) -> Kernel:
    """The kernel f(sums, matrix, lo, hi); slices are rows of a quadrant."""
    rows, columns = spec.rows // 2, spec.columns // 2
    source = types.memref_type((2, rows, 2, columns))
    output = types.memref_type((PRODUCTS, rows, columns))
    width = min(_BLOCKS * target.lanes(32), columns)
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        sums, matrix = buffers

        def piece(row: Index, column: Index) -> None:
            parts = [
                builder.vector_load(width, matrix, number // 2, row, number % 2, column)
                for number in range(4)
            ]
            for product, terms in enumerate(LEFT):
                total = signed_total(builder, parts, terms)
                builder.vector_store(total, sums, product, row, column)

        def line(row: Index) -> None:
            builder.tiles(0, columns, width, lambda column: piece(row, column))

        builder.loop(low, high, 1, line)

    return Kernel(builder.function(name, [output, source], body), rows)
