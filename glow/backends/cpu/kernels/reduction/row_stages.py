"""The passes over a row that a region with sums over rows takes.

A value's stage is the number of sums that it waits for. Each stage is one pass: it computes the
sums that can be taken then, and the last one what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from glow.backends.cpu.dialect.fused_rows import RowSumOp
from glow.lowering.loop_builder.math_expansions import EXPANSIONS
from glow.lowering.loop_builder.scalar_region import ScalarRegion


class RowStages:
    """The passes that a region takes; `are_vectors`: which inputs have a number a column."""

    def __init__(self, region: ScalarRegion, are_vectors: Sequence[bool]) -> None:
        self.region = region
        self.ops: list[Operation] = list(region.block.ops)[:-1]
        self.stage: dict[SSAValue, int] = {}
        self.vectors: set[SSAValue] = set()
        for argument, is_vector in zip(region.block.args, are_vectors, strict=True):
            self.stage[argument] = 0
            if is_vector:
                self.vectors.add(argument)
        for op in self.ops:
            stage = max((self.stage[value] for value in op.operands), default=0)
            is_sum = isinstance(op, RowSumOp)
            for result in op.results:
                self.stage[result] = stage + is_sum
                if not is_sum and any(value in self.vectors for value in op.operands):
                    self.vectors.add(result)

    @cached_property
    def passes(self) -> list[list[SSAValue]]:
        """What each pass computes for each element: the terms of sums, and then the results."""
        sums = [op for op in self.ops if isinstance(op, RowSumOp)]
        count = max((self.stage[op.result] for op in sums), default=0)
        terms: list[list[SSAValue]] = [[] for _ in range(count + 1)]
        for op in sums:
            terms[self.stage[op.value]].append(op.value)
        terms[count] += [
            value for value in self.region.results if value in self.vectors
        ]
        return terms

    @cached_property
    def kept(self) -> dict[SSAValue, int]:
        """Functions that are written out and needed again, with the pass that computes them."""
        found: dict[SSAValue, int] = {}
        again: dict[SSAValue, int] = {}
        for number, values in enumerate(self.passes):
            for value in self._needed(values):
                if type(value.owner) not in EXPANSIONS:
                    continue
                if value in found:
                    again[value] = found[value]
                found.setdefault(value, number)
        return again

    def _needed(self, values: Sequence[SSAValue]) -> set[SSAValue]:
        seen: set[SSAValue] = set()
        left = list(values)
        while left:
            value = left.pop()
            if value in seen or value not in self.vectors:
                continue
            seen.add(value)
            if isinstance(value.owner, Operation):
                left += value.owner.operands
        return seen
