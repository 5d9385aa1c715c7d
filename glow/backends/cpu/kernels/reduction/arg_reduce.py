"""Positions of the largest or smallest element along one axis, [outer, extent, inner].

Lanes keep the best value and its position. If the axis is the last one, the lanes each walk
every lanes-th element and are compared at the end: the best value of all, then the first (or
last) position that holds it. A NaN is never found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.reduction.reduce import visit_segments
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import Segment, segments
from glow.lowering.target.target import Target

_INFINITY = float("inf")


@dataclass(frozen=True)
class ArgReduceSpec:
    """out i64 [outer, inner] = position of the extreme of in [outer, extent, inner].

    Arguments of the kernel: out, in. Of equal elements the first counts, or the last.
    """

    outer: int
    extent: int
    inner: int = 1
    largest: bool = True
    select_last: bool = False
    element: Attribute = f32
    is_unsigned: bool = False

    @property
    def kind(self) -> str:
        """The reduction that finds the extreme."""
        verb = "max" if self.largest else "min"
        if not types.is_integer(self.element):
            return f"{verb}numf"
        return f"{verb}{'u' if self.is_unsigned else 's'}i"

    @property
    def worst(self) -> float:
        """The number that every element equals or beats."""
        if not types.is_integer(self.element):
            return -_INFINITY if self.largest else _INFINITY
        half = 2 ** (types.bit_width(self.element) - 1)
        if self.is_unsigned:
            return 0 if self.largest else -1
        return -half if self.largest else half - 1

    def compare(
        self, builder: LoopBuilder, a: SSAValue, b: SSAValue, *, or_equal: bool = False
    ) -> SSAValue:
        """Whether a is more extreme than b."""
        name = ("g" if self.largest else "l") + ("e" if or_equal else "t")
        if types.is_integer(self.element):
            return builder.cmpi(("u" if self.is_unsigned else "s") + name, a, b)
        return builder.cmpf("o" + name, a, b)

    def same(self, builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether a equals b."""
        if types.is_integer(self.element):
            return builder.cmpi("eq", a, b)
        return builder.cmpf("oeq", a, b)


@dataclass(frozen=True)
class Best:
    """The best values so far and where they were."""

    value: SSAValue
    position: SSAValue


def build_arg_reduce(
    spec: ArgReduceSpec, target: Target, name: str = "arg_reduce"
) -> Kernel:
    """The kernel f(out, in, lo, hi)."""
    if spec.extent == 0:
        raise ValueError("an empty axis has no largest element")
    finder = _Finder(LoopBuilder(target), spec)
    return finder.rows(name) if spec.inner == 1 else finder.columns(name)


class _Finder:
    def __init__(self, builder: LoopBuilder, spec: ArgReduceSpec) -> None:
        self.builder = builder
        self.spec = spec
        self.lanes = builder.target.lanes(max(32, types.bit_width(spec.element)))

    def rows(self, name: str) -> Kernel:
        """The kernel for the last axis."""
        spec, builder = self.spec, self.builder

        def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
            out, source = buffers

            def row(r: Index) -> None:
                result = self._row(source, r)
                builder.store(builder.cast(arith.ExtSIOp, result, i64), out, r)

            builder.loop(low, high, 1, row)

        buffers = [
            types.memref_type((spec.outer,), i64),
            types.memref_type((spec.outer, spec.extent), spec.element),
        ]
        return Kernel(builder.function(name, buffers, body), spec.outer)

    def columns(self, name: str) -> Kernel:
        """The kernel for another axis."""
        spec, builder = self.spec, self.builder
        parts = segments(spec.inner, self.lanes)
        space = [spec.outer, sum((p.stop - p.start) // p.length for p in parts)]

        def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
            out, source = buffers

            def unit(coordinates: list[Index]) -> None:
                outer, number = coordinates

                def column(position: Index, length: int) -> None:
                    result = self._column(source, outer, position, length)
                    result = builder.cast(arith.ExtSIOp, result, i64)
                    builder.vector_store(result, out, outer, position)

                visit_segments(builder, parts, number, column)

            builder.space(low, high, space, unit)

        buffers = [
            types.memref_type((spec.outer, spec.inner), i64),
            types.memref_type((spec.outer, spec.extent, spec.inner), spec.element),
        ]
        return Kernel(builder.function(name, buffers, body), prod(space))

    def _start(self, length: int) -> Best:
        kind = types.vector_type((length,), self.spec.element)
        value = self.builder.constant(self.spec.worst, kind)
        # Positions start at 0, so that a row of nothing but NaN gives a valid one.
        return Best(value, self.builder.constant(0, types.vector_type((length,), i32)))

    def _better(self, best: Best, value: SSAValue, position: SSAValue) -> Best:
        builder = self.builder
        wins = self.spec.compare(
            builder, value, best.value, or_equal=self.spec.select_last
        )
        return Best(
            builder.select(wins, value, best.value),
            builder.select(wins, position, best.position),
        )

    def _position(self, k: Index, length: int) -> SSAValue:
        """The i32 number k in every lane."""
        builder = self.builder
        number = builder.value(arith.IndexCastOp, (builder.index(k),), i32)
        return builder.broadcast(number, (length,))

    def _column(
        self, source: SSAValue, outer: Index, position: Index, length: int
    ) -> SSAValue:
        builder = self.builder

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = builder.vector_load(length, source, outer, k, position)
            best = self._better(Best(*carried), value, self._position(k, length))
            return [best.value, best.position]

        start = self._start(length)
        carried = [start.value, start.position]
        return builder.carry(0, self.spec.extent, 1, carried, step)[1]

    def _row(self, source: SSAValue, r: Index) -> SSAValue:
        builder = self.builder
        found = [self._segment(source, r, p) for p in self._segments()]
        values = [_reduced(builder, self.spec.kind, best.value) for best in found]
        extreme = values[0]
        for value in values[1:]:
            wins = self.spec.compare(builder, value, extreme)
            extreme = builder.select(wins, value, extreme)
        positions = [self._where(best, extreme) for best in found]
        result = positions[0]
        keep = arith.MaxSIOp if self.spec.select_last else arith.MinSIOp
        for position in positions[1:]:
            result = builder.binary_integer(keep, result, position)
        last = builder.constant(self.spec.extent - 1, i32)
        result = builder.binary_integer(arith.MinSIOp, result, last)
        return builder.binary_integer(arith.MaxSIOp, result, builder.constant(0, i32))

    def _segments(self) -> list[Segment]:
        """Runs of single registers: wide vectors would compare twice as much at the end."""
        whole = self.spec.extent - self.spec.extent % self.lanes
        parts = [
            Segment(0, whole, self.lanes),
            Segment(whole, self.spec.extent, self.spec.extent - whole),
        ]
        return [part for part in parts if part.start < part.stop]

    def _segment(self, source: SSAValue, r: Index, part: Segment) -> Best:
        builder = self.builder
        steps = builder.constant_vector(range(part.length), i32)

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = builder.vector_load(part.length, source, r, k)
            first = self._position(k, part.length)
            position = builder.binary_integer(arith.AddiOp, first, steps)
            best = self._better(Best(*carried), value, position)
            return [best.value, best.position]

        start = self._start(part.length)
        # Lanes that never win hold their own first position.
        carried = [start.value, steps]
        return Best(*builder.carry(part.start, part.stop, part.length, carried, step))

    def _where(self, best: Best, extreme: SSAValue) -> SSAValue:
        """The first (or last) position in the lanes that hold the extreme."""
        builder, last = self.builder, self.spec.select_last
        shape = types.shape_of(best.value)
        repeated = builder.broadcast(extreme, shape)
        holds = self.spec.same(builder, best.value, repeated)
        none = builder.like(-1 if last else 2**31 - 1, best.position)
        positions = builder.select(holds, best.position, none)
        return _reduced(builder, "maxsi" if last else "minsi", positions)


def _reduced(builder: LoopBuilder, kind: str, value: SSAValue) -> SSAValue:
    if types.shape_of(value) == (1,):
        return builder.extract(value, 0)
    return builder.reduction(kind, value)
