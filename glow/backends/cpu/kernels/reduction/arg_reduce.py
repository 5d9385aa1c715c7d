"""Positions of the largest or smallest element along one axis, [outer, extent, inner].

Lanes keep the best number and its position. If the axis is the last one, the lanes each walk
every lanes-th element and are compared at the end: the best number of all, then the first (or
last) position that holds it.

A NaN is more extreme than all numbers. To find it in the loop would make each step wait for a
comparison and a selection instead of a maximum, so lanes add up their elements on the side: where
a sum is NaN, as a NaN or infinities of both signs make it, a second loop looks for NaN alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
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

    Arguments of the kernel: out, in. Of equal elements, and of several NaN, the first counts, or
    the last.
    """

    outer: int
    extent: int
    inner: int = 1
    largest: bool = True
    select_last: bool = False
    element: Attribute = f32
    is_unsigned: bool = False

    def best(self, builder: LoopBuilder, values: SSAValue) -> SSAValue:
        """The most extreme of a vector's numbers, none of which is NaN."""
        verb = "max" if self.largest else "min"
        if not types.is_integer(self.element):
            return _reduced(builder, f"{verb}numf", values, ("nnan",))
        return _reduced(builder, f"{verb}{'u' if self.is_unsigned else 's'}i", values)

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
    """The best numbers so far, where they were, and of floats the sum of all elements."""

    value: SSAValue
    position: SSAValue
    total: SSAValue | None = None

    @property
    def carried(self) -> list[SSAValue]:
        """What a loop carries."""
        fields = (self.value, self.position, self.total)
        return [value for value in fields if value is not None]


@dataclass(frozen=True)
class Found:
    """The i32 positions of the best numbers, and whether there may be a NaN (not of integers)."""

    position: SSAValue
    may_be_nan: SSAValue | None


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
                self._store(
                    self._row(source, r),
                    lambda k: builder.load(source, r, k),
                    lambda position: builder.store(position, out, r),
                )

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
                    self._store(
                        self._column(source, outer, position, length),
                        lambda k: builder.vector_load(
                            length, source, outer, k, position
                        ),
                        lambda found: builder.vector_store(found, out, outer, position),
                    )

                visit_segments(builder, parts, number, column)

            builder.space(low, high, space, unit)

        buffers = [
            types.memref_type((spec.outer, spec.inner), i64),
            types.memref_type((spec.outer, spec.extent, spec.inner), spec.element),
        ]
        return Kernel(builder.function(name, buffers, body), prod(space))

    def _store(
        self,
        found: Found,
        read: Callable[[Index], SSAValue],
        store: Callable[[SSAValue], None],
    ) -> None:
        """Stores positions; `read` gives the elements number k along the axis."""
        builder = self.builder
        store(builder.cast(arith.ExtSIOp, found.position, i64))
        if found.may_be_nan is None:
            return

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            last = self.spec.extent - 1
            k = k if self.spec.select_last else builder.sub(last, k)
            value = read(k)
            position = self._position(k, types.shape_of(value))
            is_nan = builder.cmpf("uno", value, value)
            return [builder.select(is_nan, position, carried[0])]

        def search() -> None:
            """Towards the end that counts, so that the last NaN on the way stays."""
            position = builder.carry(0, self.spec.extent, 1, [found.position], step)[0]
            store(builder.cast(arith.ExtSIOp, position, i64))

        builder.if_(found.may_be_nan, search)

    def _start(self, length: int, first: int = 0) -> Best:
        element = self.spec.element
        kind = types.vector_type((length,), element)
        value = self.builder.constant(self.spec.worst, kind)
        position = self.builder.constant(first, types.vector_type((length,), i32))
        if types.is_integer(element):
            return Best(value, position)
        return Best(value, position, self.builder.constant(0.0, kind))

    def _better(self, best: Best, value: SSAValue, position: SSAValue) -> Best:
        builder = self.builder
        wins = self.spec.compare(
            builder, value, best.value, or_equal=self.spec.select_last
        )
        return Best(
            builder.select(wins, value, best.value),
            builder.select(wins, position, best.position),
            None if best.total is None else builder.addf(best.total, value),
        )

    def _position(self, k: Index, shape: tuple[int, ...]) -> SSAValue:
        """The i32 number k in every lane."""
        builder = self.builder
        number = builder.value(arith.IndexCastOp, (builder.index(k),), i32)
        return builder.broadcast(number, shape)

    def _column(
        self, source: SSAValue, outer: Index, position: Index, length: int
    ) -> Found:
        builder = self.builder

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = builder.vector_load(length, source, outer, k, position)
            where = self._position(k, (length,))
            return self._better(Best(*carried), value, where).carried

        start = self._start(length).carried
        best = Best(*builder.carry(0, self.spec.extent, 1, start, step))
        return Found(best.position, self._may_be_nan([best]))

    def _may_be_nan(self, found: Sequence[Best]) -> SSAValue | None:
        builder = self.builder
        totals = [best.total for best in found if best.total is not None]
        flags = [
            _reduced(builder, "or", builder.cmpf("uno", total, total))
            for total in totals
        ]
        if not flags:
            return None
        return reduce(partial(builder.binary_integer, arith.OrIOp), flags)

    def _row(self, source: SSAValue, r: Index) -> Found:
        builder = self.builder
        found = [self._segment(source, r, p) for p in self._segments()]
        values = [self.spec.best(builder, best.value) for best in found]
        extreme = values[0]
        for value in values[1:]:
            wins = self.spec.compare(builder, value, extreme)
            extreme = builder.select(wins, value, extreme)
        positions = [self._where(best, extreme) for best in found]
        keep = arith.MaxSIOp if self.spec.select_last else arith.MinSIOp
        position = reduce(partial(builder.binary_integer, keep), positions)
        return Found(position, self._may_be_nan(found))

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

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = builder.vector_load(part.length, source, r, k)
            first = self._position(k, (part.length,))
            return self._better(Best(*carried), value, first).carried

        # Until the end lanes keep where their vector began. One that never wins is like its first
        # element, or NaN all along.
        start = self._start(part.length, part.start).carried
        best = Best(*builder.carry(part.start, part.stop, part.length, start, step))
        steps = builder.constant_vector(range(part.length), i32)
        position = builder.binary_integer(arith.AddiOp, best.position, steps)
        return Best(best.value, position, best.total)

    def _where(self, best: Best, extreme: SSAValue) -> SSAValue:
        """The first (or last) position in the lanes that hold the extreme."""
        builder, last = self.builder, self.spec.select_last
        shape = types.shape_of(best.value)
        repeated = builder.broadcast(extreme, shape)
        holds = self.spec.same(builder, best.value, repeated)
        none = builder.like(-1 if last else 2**31 - 1, best.position)
        positions = builder.select(holds, best.position, none)
        return _reduced(builder, "maxsi" if last else "minsi", positions)


def _reduced(
    builder: LoopBuilder, kind: str, value: SSAValue, fast_math: tuple[str, ...] = ()
) -> SSAValue:
    if types.shape_of(value) == (1,):
        return builder.extract(value, 0)
    return builder.reduction(kind, value, fast_math)
