"""Softmax of rows that are seen block by block: maxima and totals of the rows of a thread.

The lanes that have parts of a row find its maximum together, block by block; its total they add
up at the end. The first maximum is finite, so that rows of which nothing is seen yet do not become
NaN; where nothing is seen at all the total is 0, and the result is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import log2

from xdsl.dialects import math
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.attention_spec import AttentionSpec
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder
from glow.backends.cuda.kernels.results import Piece
from glow.lowering.loop_builder import ir_types as types

LOG2_E = log2(2.718281828459045)
LOWEST = -3.4028234663852886e38
"""The least number of f32."""


@dataclass(frozen=True)
class Rows:
    """The largest score and the total of weights of each row of a thread, the latter in part."""

    maxima: Sequence[SSAValue]
    totals: Sequence[SSAValue]

    @property
    def values(self) -> list[SSAValue]:
        """What a loop carries."""
        return [*self.maxima, *self.totals]

    @staticmethod
    def of(carried: Sequence[SSAValue], rows: int) -> tuple[Rows, Sequence[SSAValue]]:
        """The numbers of so many rows that a loop carries, and the rest."""
        return Rows(carried[:rows], carried[rows : 2 * rows]), carried[2 * rows :]


class OnlineSoftmax:
    """Weights of blocks of scores; `lanes` are the exchanges among the lanes of a row."""

    def __init__(
        self, b: GpuBuilder, spec: AttentionSpec, lanes: Sequence[int]
    ) -> None:
        self.b, self.lanes = b, lanes
        is_added = spec.mask is not None and not spec.has_boolean_mask
        self.factor = LOG2_E if is_added else 1.0
        """What differences of scores are multiplied by: masks may be the least number."""
        self.scale = spec.scale * LOG2_E / self.factor

    def start(self, rows: int) -> Rows:
        """No score, no weight."""
        lowest, zero = (self.b.constant(number, f32) for number in (LOWEST, 0.0))
        return Rows([lowest] * rows, [zero] * rows)

    def block(
        self, before: Rows, scores: Sequence[Piece]
    ) -> tuple[Rows, list[SSAValue], list[Piece]]:
        """Maxima and totals after a block, what is left of sums before, and the weights.

        The pieces of a row stand side by side.
        """
        b, rows = self.b, len(before.maxima)
        width = len(scores) // rows
        maxima, totals, decays = list[SSAValue](), list[SSAValue](), list[SSAValue]()
        weights: list[Piece] = []
        for row in range(rows):
            pieces = scores[row * width : (row + 1) * width]
            found = reduce(b.maximumf, [one.value for one in pieces])
            largest = reduce(b.maximumf, b.elements(found), before.maxima[row])
            for lane in self.lanes:
                largest = b.maximumf(largest, b.exchange(largest, lane))
            decay = self.power(before.maxima[row], largest)
            powers = [self.power(one.value, largest) for one in pieces]
            found = reduce(b.addf, b.elements(reduce(b.addf, powers)))
            maxima.append(largest)
            totals.append(b.addf(b.mulf(before.totals[row], decay), found))
            decays.append(decay)
            weights += [
                replace(one, value=power)
                for one, power in zip(pieces, powers, strict=True)
            ]
        return Rows(maxima, totals), decays, weights

    def power(self, score: SSAValue, largest: SSAValue) -> SSAValue:
        """The weight of scores below the largest."""
        b = self.b
        largest = (
            b.broadcast(largest, types.shape_of(score))
            if types.shape_of(score)
            else largest
        )
        difference = b.subf(score, largest)
        if self.factor != 1.0:
            difference = b.mulf(difference, b.like(self.factor, difference))
        return b.unary(math.Exp2Op, difference)

    def inverse_totals(self, rows: Rows) -> list[SSAValue]:
        """One over the total of each row, which all its lanes get."""
        b, result = self.b, list[SSAValue]()
        for total in rows.totals:
            for lane in self.lanes:
                total = b.addf(total, b.exchange(total, lane))
            result.append(b.divf(b.constant(1.0, f32), total))
        return result
