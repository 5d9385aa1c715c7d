"""Weighted sums of elements at places: interpolation back.

Where the places are constants (resizing), the gradient of the input is a sample of the result's
by the transposed table: which results an element counts in, and how much. Computed places
(grids, regions of interest) are added up at.
"""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import constant_value, dtype_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.indexing import add_at
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.node_builder import element_type, name_of


def sample(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """Of the input by the transposed table, or added up; of the weights what they multiply."""
    assert isinstance(op, glow.SampleOp)
    assert gradients[0] is not None
    places, weights = constant_value(op.places), constant_value(op.weights)
    if places is None or weights is None or places.ndim != 2 or op.largest is not None:
        return _Taps(builder, op).gradients(gradients[0])
    table = places.astype(np.int64), weights.astype(np.float64)
    return [_by_table(builder, op, gradients[0], table), None, None]


Table = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


def transposed(table: Table, extent: int) -> Table:
    """The places and weights, [extent, K], of the table that samples the other way."""
    places, weights = table
    inside = (places >= 0) & (places < extent) & (weights != 0)
    results, taps = np.nonzero(inside)
    sources = places[results, taps]
    order = np.argsort(sources, kind="stable")
    results, taps, sources = results[order], taps[order], sources[order]
    counts = np.bincount(sources, minlength=extent)
    shape = extent, max(int(counts.max(initial=0)), 1)
    numbers = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
    found, factors = np.zeros(shape, np.int64), np.zeros(shape)
    found[sources, numbers] = results
    factors[sources, numbers] = weights[results, taps]
    return found, factors


def _by_table(
    builder: GradientBuilder, op: glow.SampleOp, gradient: SSAValue, table: Table
) -> SSAValue:
    axis = op.attributes_view().int("axis")
    found, factors = transposed(table, shape_of(op.input)[axis])
    dtype = dtype_of(element_type(op.weights))
    places = builder.constant(found, f"{name_of(op.places)}.transposed")
    weights = builder.constant(
        factors.astype(dtype), f"{name_of(op.weights)}.transposed"
    )
    return builder.node(glow.SampleOp, gradient, places, weights, axis=axis)


class _Taps:
    """The elements that a node multiplies, [outer, places, taps, inner]."""

    def __init__(self, builder: GradientBuilder, op: glow.SampleOp) -> None:
        self.builder = builder
        self.op = op
        axis, shape = op.attributes_view().int("axis"), shape_of(op.input)
        self.sizes = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
        outer, extent, inner = self.sizes
        *batch, count, taps = shape_of(op.places)
        self.spread = (prod(batch), count, taps, 1)
        self.shape = (outer, count, taps, inner)
        wide = builder.reshape(builder.convert(op.places, i64), self.spread)
        zero, end = builder.number(0, wide), builder.number(extent, wide)
        self.inside = builder.node(
            glow.AndOp,
            builder.node(glow.LessEqualOp, zero, wide),
            builder.node(glow.LessOp, wide, end),
        )
        safe = builder.node(glow.SelectOp, self.inside, wide, zero)
        self.places = builder.broadcast(safe, (outer, count, taps, 1))
        self.weights = builder.reshape(op.weights, self.spread)
        self.element = element_type(op.weights)

    def _where_inside(self, value: SSAValue) -> SSAValue:
        zero = self.builder.number(0, value)
        return self.builder.node(glow.SelectOp, self.inside, value, zero)

    def gradients(self, gradient: SSAValue) -> Gradients:
        """Of input, places and weights."""
        builder, op = self.builder, self.op
        outer, count, _, inner = self.shape
        # An axis of several taps reads the result's gradient each.
        of_result = builder.reshape(
            builder.convert(gradient, self.element), (outer, count, 1, inner)
        )
        rows = builder.reshape(op.input, self.sizes)
        found = builder.node(glow.GatherNDOp, rows, self.places, batch_dims=1)
        found = self._where_inside(builder.convert(found, self.element))
        of_taps = builder.broadcast(of_result, self.shape)
        if op.largest is not None:
            of_taps = self._of_largest(found, of_taps)
        weighted = builder.node(glow.MulOp, of_taps, self.weights)
        of_input = add_at(
            builder,
            builder.convert(rows, self.element),
            self.places,
            self._where_inside(weighted),
            [0, -1, 3],
        )
        products = builder.node(glow.MulOp, of_taps, found)
        axes = [0, 3] if self.spread[0] == 1 else [3]
        of_weights = builder.node(glow.ReduceSumOp, products, axes=axes)
        return [
            builder.reshape(of_input, shape_of(op.input)),
            None,
            builder.reshape(of_weights, shape_of(op.weights)),
        ]

    def _of_largest(self, found: SSAValue, of_taps: SSAValue) -> SSAValue:
        """The gradient of the taps: the first with the largest product has it all."""
        builder = self.builder
        products = builder.node(glow.MulOp, found, self.weights)
        first = builder.node(glow.ArgMaxOp, products, axis=2, keepdims=True)
        numbers = builder.constant(
            np.arange(self.shape[2]).reshape(1, 1, -1, 1), "taps"
        )
        wins = builder.node(glow.EqualOp, first, numbers)
        zero = builder.number(0, of_taps)
        return builder.node(glow.SelectOp, wins, of_taps, zero)


RULES: dict[type[Operation], Rule] = {glow.SampleOp: sample}
