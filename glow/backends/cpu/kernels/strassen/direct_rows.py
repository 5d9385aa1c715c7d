"""The rows of Strassen's product that are computed directly.

Where a scale is NaN the rows that share its sums are direct sums of the left matrix itself, so that
an infinity or NaN reaches what it reaches in these; the weights are had back from their factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.strassen.weights import PackedFactors
from glow.backends.cpu.reference.strassen import factors_of_part
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup, Columns
from glow.backends.cpu.tiling.matrix_memory import Matrix
from glow.backends.cpu.tiling.tile_store import TileStore
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder


@dataclass(frozen=True)
class DirectRows:
    """What such rows are made of, and where they are stored."""

    builder: LoopBuilder
    spec: StrassenSpec
    matrix: Matrix
    """[rows, depth]"""
    factors: PackedFactors
    scales: Matrix
    """One for each row of a quadrant, in turn."""
    store: TileStore

    def mend(
        self, unit: Index, group: ColumnGroup, parts: Sequence[Columns], row: Index
    ) -> None:
        """Computes the rows of a tile anew whose scales are NaN, in a group of columns of each
        part of the result.
        """
        builder, spec = self.builder, self.spec

        def direct(at: Index) -> None:
            first, there = builder.mul(at, spec.parts), spec.parts
            if spec.lacks_row:
                there = builder.minimum(builder.sub(spec.rows, first), there)

            def at_turn(turn: Index) -> None:
                line = builder.add(first, turn)
                self.store.move_to([turn])
                for part, columns in enumerate(parts):
                    value = self._sums(unit, group, line, part)
                    self.store.store(value, at, columns)

            builder.loop(0, there, 1, at_turn)

        def check(position: Index) -> None:
            at = builder.add(row, position)
            scale = builder.load(self.scales.plain, 0, at, 0)
            lost = builder.cmpf("uno", scale, scale)
            builder.if_(lost, lambda: direct(at))

        builder.loop(0, spec.leaf.tile(builder.target).rows, 1, check)

    def _sums(
        self, unit: Index, group: ColumnGroup, line: Index, part: int
    ) -> SSAValue:
        """[1, blocks, lanes]: a row of the matrix times the columns of a part of the weights."""
        builder, spec, depth = self.builder, self.spec, self.spec.leaf.depth
        shape = (1, group.blocks, builder.target.lanes(32))
        total = builder.constant(0.0, types.vector_type(shape))
        for start in range(spec.parts):
            numbers = factors_of_part(start, part, spec.levels)

            def step(
                k: Index,
                sums: Sequence[SSAValue],
                start: int = start,
                numbers: Sequence[int] = tuple(numbers),
            ) -> Sequence[SSAValue]:
                at = builder.add(k, start * depth)
                a = self.matrix.read(line, at, shape, (0, None, None))
                b = [self.factors.read(unit, number, group, k) for number in numbers]
                row = builder.broadcast(reduce(builder.addf, b), shape)
                return [builder.fma(a, row, sums[0])]

            (total,) = builder.carry(0, depth, 1, [total], step)
        return total
