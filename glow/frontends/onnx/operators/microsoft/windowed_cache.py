"""Caches of keys and values that hold the last positions alone: `sliding_window_cache`.

A cache of C rows for a window of W holds, after T tokens, the last L(T) of them in its first rows:

    L(T) = T                                  where T <= C
    L(T) = T - G * ceil((T - C) / G)          with G = C - W + 1: so many leave at once

What the tokens of a call see are the rows of the cache, then those of the call.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64

from glow.dialects.errors import GlowError
from glow.dialects.glow import ConcatOp, GatherOp, MinOp
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Operand, shape
from glow.frontends.onnx.operators.microsoft.attention import lowest, with_past

NOWHERE = 1 << 40
"""The position of a row that holds nothing, behind all others."""


class WindowedCache:
    """Where the rows of a cache, and those of `new` tokens, are in their sequences."""

    def __init__(self, node: OnnxNode, new: int) -> None:
        self.node, self.new = node, new
        self.batch, _, self.capacity, _ = shape(node.value(3))
        self.window = node.attr_int("local_window_size", -1)
        if not 0 < self.window <= self.capacity:
            raise GlowError(
                f"a cache of {self.capacity} rows does not hold a window of {self.window}"
            )
        last = Expression(node, node.convert(node.value(5), i64))
        self.total = last.reshape((self.batch, 1)) + 1
        self.before = self.total - self.total.apply(MinOp, new)

    def positions(self) -> Expression:
        """Those of the new tokens, [N, new]."""
        return self.before + self._counted(self.new)

    def _counted(self, count: int) -> Expression:
        return self.total.constant(np.arange(count).reshape(1, count))

    def _resident(self, tokens: Expression) -> Expression:
        """How many rows are held after so many tokens."""
        leaving = self.capacity - self.window + 1
        more = (tokens - self.capacity).maximum(0) + (leaving - 1)
        return tokens - more / leaving * leaving

    def mask(self, queries: Operand) -> Operand:
        """What is added to scores [N, heads, new, rows]: nothing where a token sees a row."""
        rows, held = self._counted(self.capacity), self._resident(self.before)
        places = self._is_held().choose(self.before - held + rows, NOWHERE)
        places = places.apply(ConcatOp, self.positions(), axis=1)
        own = self.positions().reshape((self.batch, 1, self.new, 1))
        distance = own - places.reshape((self.batch, 1, 1, places.shape[1]))
        seen = distance.within(0, self.window - 1)
        nothing, least = (
            Expression(self.node, self.node.number(number, queries))
            for number in (0.0, lowest(queries))
        )
        return seen.choose(nothing, least).value

    def joined(self, past: Operand, new: Operand) -> Operand:
        """The rows of the cache before the new ones, [N, heads, rows, size].

        Rows that hold nothing may be anything, a NaN too, so they are zeros.
        """
        held = self._is_held().reshape((self.batch, 1, self.capacity, 1))
        known = held.choose(Expression(self.node, past), 0.0)
        return with_past(self.node, known.value, new)

    def _is_held(self) -> Expression:
        """Which rows of the cache hold a position, [N, rows]."""
        return self._counted(self.capacity) < self._resident(self.before)

    def kept(self, joined: Operand) -> Operand:
        """The cache after the new tokens; what is in the rows that hold none is not said."""
        first = self.total - self._resident(self.total)
        places = first + self._counted(self.capacity)
        held = self._resident(self.before)
        in_cache = places - (self.before - held)
        among_new = places - self.before + self.capacity
        rows = (places < self.before).choose(in_cache, among_new)
        last = self.capacity + self.new - 1
        rows = rows.apply(MinOp, last)
        each = [self._rows(joined, rows, k) for k in range(self.batch)]
        return each[0] if len(each) == 1 else self.node.emit(ConcatOp, *each, axis=0)

    def _rows(self, joined: Operand, rows: Expression, sequence: int) -> Operand:
        """Some rows of a sequence."""
        whole = Expression(self.node, joined).part(0, sequence)
        own = rows.part(0, sequence).reshape((self.capacity,))
        return whole.apply(GatherOp, own, axis=2).value
