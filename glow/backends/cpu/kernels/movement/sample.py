"""Weighted sums of a few rows, which tables of places and weights name.

A row is what lies behind the axis that is sampled: vectors run along it. Where the axis is the
last one, a row is one element. What a result reads is looked up once for all vectors of its
row where that fits registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Condition, Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import for_each_vector
from glow.lowering.target.target import Target

MAX_UNROLLED_TAPS = 8
"""Taps that are looked up before the vectors of a row."""

MANY_ROWS = 64
"""From so many single elements on, one after another is a work item."""

Tap = tuple[Index, Condition, SSAValue]
"""A row, whether there is one, and its weight."""


@dataclass(frozen=True)
class SampleSpec:
    """out [outer, count, inner] = sums over taps of weights * source [outer, extent, inner].

    Tables are [outer, count, taps], or with `shared` [count, taps]. `largest` takes the
    largest product; `inside` promises that no place is outside of the axis. Arguments of the
    kernel: out, source, places, weights.
    """

    outer: int
    extent: int
    inner: int
    count: int
    taps: int
    shared: bool = True
    largest: bool = False
    inside: bool = False
    element: Attribute = f32
    place: Attribute = i64


class _Sampler:
    def __init__(
        self, builder: LoopBuilder, spec: SampleSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.out, self.source, self.places, self.weights = buffers

    def tap(self, outer: Index, result: Index, number: Index) -> Tap:
        """What a tap of a result reads."""
        builder, spec = self.builder, self.spec
        where = (0 if spec.shared else outer, result, number)
        place = builder.load(self.places, *where)
        index: Index = builder.value(arith.IndexCastOp, (place,), types.INDEX)
        weight = builder.load(self.weights, *where)
        if spec.inside:
            return index, True, weight
        # An unsigned comparison: below zero the place is huge, hence outside.
        exists = builder.compare("ult", index, spec.extent)
        return builder.clamp(index, 0, spec.extent - 1), exists, weight

    def product(self, outer: Index, tap: Tap, position: Index, length: int) -> SSAValue:
        """A tap's elements times its weight: a vector, or of length 0 an element."""
        value, weight = self.operands(outer, tap, position, length)
        return self.builder.mulf(value, weight)

    def operands(
        self, outer: Index, tap: Tap, position: Index, length: int
    ) -> tuple[SSAValue, SSAValue]:
        """A tap's elements and its weight."""
        builder, (place, exists, weight) = self.builder, tap
        if length:
            value = builder.vector_load(length, self.source, outer, place, position)
            weight = builder.broadcast(weight, (length,))
        else:
            value = builder.load(self.source, outer, place, position)
        if not isinstance(exists, bool):
            value = builder.select(exists, value, builder.like(0.0, value))
        return value, weight

    def fold(
        self, total: SSAValue, outer: Index, tap: Tap, position: Index, length: int
    ) -> SSAValue:
        """The total with one more tap."""
        if self.spec.largest:
            product = self.product(outer, tap, position, length)
            return self.builder.larger(total, product)
        value, weight = self.operands(outer, tap, position, length)
        return self.builder.fma(value, weight, total)

    def row(self, outer: Index, result: Index) -> Callable[[Index, int], None]:
        """What computes the elements of a result from a position on."""
        builder, spec = self.builder, self.spec
        few = spec.taps <= MAX_UNROLLED_TAPS
        taps = [self.tap(outer, result, k) for k in range(spec.taps)] if few else []

        def compute(position: Index, length: int) -> None:
            if taps:
                total = self.product(outer, taps[0], position, length)
                for tap in taps[1:]:
                    total = self.fold(total, outer, tap, position, length)
            else:
                total = self.loop(outer, result, position, length)
            where = (outer, result, position)
            if length:
                builder.vector_store(total, self.out, *where)
            else:
                builder.store(total, self.out, *where)

        return compute

    def loop(
        self, outer: Index, result: Index, position: Index, length: int
    ) -> SSAValue:
        """The total of many taps."""
        element = self.spec.element
        kind = types.vector_type((length,), element) if length else element
        least = float("-inf") if self.spec.largest else 0.0
        start = self.builder.constant(least, kind)

        def body(number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            tap = self.tap(outer, result, number)
            return [self.fold(carried[0], outer, tap, position, length)]

        return self.builder.carry(0, self.spec.taps, 1, [start], body)[0]


def build_sample(spec: SampleSpec, target: Target, name: str = "sample") -> Kernel:
    """The kernel f(out, source, places, weights, lo, hi)."""
    builder = LoopBuilder(target)
    tables = (1 if spec.shared else spec.outer, spec.count, spec.taps)
    buffers = [
        types.memref_type((spec.outer, spec.count, spec.inner), spec.element),
        types.memref_type((spec.outer, spec.extent, spec.inner), spec.element),
        types.memref_type(tables, spec.place),
        types.memref_type(tables, spec.element),
    ]
    by_row = spec.inner == 1 and spec.outer >= MANY_ROWS
    space = [spec.outer, 1 if by_row else spec.count]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        sampler = _Sampler(builder, spec, memrefs)
        lanes = target.lanes(types.bit_width(spec.element))

        def run(coordinates: list[Index]) -> None:
            outer, result = coordinates
            if by_row:
                builder.loop(0, spec.count, 1, lambda k: sampler.row(outer, k)(0, 0))
            elif spec.inner == 1:
                sampler.row(outer, result)(0, 0)
            else:
                compute = sampler.row(outer, result)
                for_each_vector(builder, spec.inner, lanes, compute)

        builder.space(low, high, space, run)

    return Kernel(builder.function(name, buffers, body), space[0] * space[1])
