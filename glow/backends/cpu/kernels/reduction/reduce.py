"""Reductions over any set of axes, and the positions of extremes.

Neighbouring axes that are both kept or both reduced are merged. If the last axis is kept,
vectors lie along it and one fold gives as many results as there are lanes; if it is reduced,
vectors are folded and their lanes combined at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod

from xdsl.dialects import math
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.builder import CarryBody, Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import (
    REGISTERS,
    Combine,
    Segment,
    VectorBody,
    reduce_vector,
    segments,
)
from glow.lowering.target.target import Target

Step = Callable[[LoopBuilder, SSAValue], SSAValue]


def _identity_step(_: LoopBuilder, value: SSAValue) -> SSAValue:
    return value


@dataclass(frozen=True)
class Reduction:
    """A fold: `before` each element, the combining operations, `after` on the result."""

    float_kind: str
    integer_kind: str
    float_identity: float
    before: Step = _identity_step
    after: Step = _identity_step
    is_mean: bool = False
    is_unsigned: bool = False
    is_shifted: bool = False
    """Subtract the maximum before, add it afterwards (log-sum-exp)."""

    def kind(self, element: Attribute) -> str:
        """The vector.reduction kind for elements of that type."""
        return (
            self.integer_kind if isinstance(element, IntegerType) else self.float_kind
        )

    def identity(self, element: Attribute) -> float:
        """The start of the fold."""
        limit = 2 ** (types.bit_width(element) - 1)
        if not isinstance(element, IntegerType):
            return self.float_identity
        identities = {"maxsi": -limit, "minsi": limit - 1, "minui": -1, "mul": 1}
        return identities.get(self.integer_kind, 0)

    def combine(self, element: Attribute) -> Combine:
        """The operation on two partial results."""
        operation = _OPERATIONS[self.kind(element), isinstance(element, IntegerType)]

        def apply(builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
            if isinstance(element, IntegerType):
                return builder.binary_integer(operation, a, b)
            return builder.binary(operation, a, b)

        return apply


_OPERATIONS: dict[tuple[str, bool], type[Operation]] = {
    ("add", False): arith.AddfOp,
    ("mul", False): arith.MulfOp,
    ("maximumf", False): arith.MaximumfOp,
    ("minimumf", False): arith.MinimumfOp,
    ("add", True): arith.AddiOp,
    ("mul", True): arith.MuliOp,
    ("maxsi", True): arith.MaxSIOp,
    ("minsi", True): arith.MinSIOp,
    ("maxui", True): arith.MaxUIOp,
    ("minui", True): arith.MinUIOp,
}


def _square(builder: LoopBuilder, x: SSAValue) -> SSAValue:
    return builder.mulf(x, x)


def _absolute(builder: LoopBuilder, x: SSAValue) -> SSAValue:
    return builder.unary(math.AbsFOp, x)


def _root(builder: LoopBuilder, x: SSAValue) -> SSAValue:
    return builder.unary(math.SqrtOp, x)


_INFINITY = float("inf")
_SUM = ("add", "add", 0.0)
_MAX = Reduction("maximumf", "maxsi", -_INFINITY)

REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction(*_SUM),
    "mean": Reduction(*_SUM, is_mean=True),
    "max": _MAX,
    "min": Reduction("minimumf", "minsi", _INFINITY),
    "prod": Reduction("mul", "mul", 1.0),
    "mean_unsigned": Reduction(*_SUM, is_mean=True, is_unsigned=True),
    "max_unsigned": Reduction("maximumf", "maxui", -_INFINITY),
    "min_unsigned": Reduction("minimumf", "minui", _INFINITY),
    "sum_square": Reduction(*_SUM, before=_square),
    "l1": Reduction(*_SUM, before=_absolute),
    "l2": Reduction(*_SUM, before=_square, after=_root),
    "log_sum": Reduction(*_SUM, after=math_functions.log),
    "log_sum_exp": Reduction(
        *_SUM, before=math_functions.exp, after=math_functions.log, is_shifted=True
    ),
}
"""The reductions by name; those with `before` or `after` are for f32."""


@dataclass(frozen=True)
class ReduceSpec:
    """out = the reduction `kind` (a key of `REDUCTIONS`) of in over `axes`, none negative.

    Arguments of the kernel: out, in. A mean of integers is rounded towards zero.
    """

    kind: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    element: Attribute = f32


@dataclass(frozen=True)
class MergedAxes:
    """The axes of a buffer after merging; `reduced` says which are folded."""

    extents: tuple[int, ...]
    reduced: tuple[bool, ...]

    @staticmethod
    def of(shape: Sequence[int], axes: Sequence[int]) -> MergedAxes:
        """The merged axes of a shape; axes of extent 1 vanish."""
        extents: list[int] = []
        reduced: list[bool] = []
        for axis, extent in enumerate(shape):
            if extent == 1:
                continue
            if reduced and reduced[-1] == (axis in axes):
                extents[-1] *= extent
            else:
                extents.append(extent)
                reduced.append(axis in axes)
        if not extents:
            return MergedAxes((1,), (False,))
        return MergedAxes(tuple(extents), tuple(reduced))

    def select(self, *, reduced: bool) -> list[int]:
        """The numbers of the axes that are (not) folded."""
        return [axis for axis, flag in enumerate(self.reduced) if flag == reduced]


def nest(
    builder: LoopBuilder,
    extents: Sequence[int],
    carried: Sequence[SSAValue],
    body: Callable[[list[Index], Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """The carried values after nested loops over the extents."""
    if not extents:
        return body([], carried)

    def outer(k: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return nest(
            builder, extents[1:], values, lambda rest, inner: body([k, *rest], inner)
        )

    step: CarryBody = outer
    return builder.carry(0, extents[0], 1, carried, step)


class _Reducer:
    """Reduces one buffer at kept coordinates."""

    def __init__(
        self, builder: LoopBuilder, spec: ReduceSpec, source: SSAValue
    ) -> None:
        self.builder = builder
        self.element = spec.element
        self.merged = MergedAxes.of(spec.shape, spec.axes)
        self.source = source
        self.reduction = REDUCTIONS[spec.kind]
        self.reduced = self.merged.select(reduced=True)
        self.kept = self.merged.select(reduced=False)
        self.count = prod(self.merged.extents[axis] for axis in self.reduced)

    def results(self, kept: Sequence[Index], length: int) -> SSAValue:
        """The results from the kept coordinates on: a vector, or a scalar if length is 0."""
        reduction = self.reduction
        if not reduction.is_shifted:
            total = self._fold(reduction, kept, length, reduction.before)
            return self._finish(reduction.after(self.builder, total))
        shift = self._finite(self._fold(_MAX, kept, length, _identity_step))

        def before(builder: LoopBuilder, value: SSAValue) -> SSAValue:
            repeated = builder.broadcast(shift, types.shape_of(value))
            return reduction.before(builder, builder.subf(value, repeated))

        total = self._fold(reduction, kept, length, before)
        return self.builder.addf(reduction.after(self.builder, total), shift)

    def _finite(self, value: SSAValue) -> SSAValue:
        builder = self.builder
        size = builder.unary(math.AbsFOp, value)
        finite = builder.cmpf("olt", size, builder.like(_INFINITY, value))
        return builder.select(finite, value, builder.like(0.0, value))

    def _finish(self, total: SSAValue) -> SSAValue:
        if not self.reduction.is_mean:
            return total
        count = self.builder.like(self.count, total)
        if isinstance(self.element, IntegerType):
            divide = arith.DivUIOp if self.reduction.is_unsigned else arith.DivSIOp
            return self.builder.binary_integer(divide, total, count)
        return self.builder.divf(total, count)

    def _fold(
        self, reduction: Reduction, kept: Sequence[Index], length: int, before: Step
    ) -> SSAValue:
        if not length:
            return self._fold_lanes(reduction, kept, before)
        builder, combine = self.builder, reduction.combine(self.element)

        def step(where: Sequence[Index], total: SSAValue) -> SSAValue:
            value = before(builder, self._read(kept, where, length))
            return combine(builder, total, value)

        start = self._constant(reduction.identity(self.element), length)
        if not self.reduced:
            return step((), start)
        return self._fold_chains(step, combine, start)

    def _fold_chains(
        self,
        step: Callable[[Sequence[Index], SSAValue], SSAValue],
        combine: Combine,
        start: SSAValue,
    ) -> SSAValue:
        """All steps from a start, with partial results that do not wait for each other."""
        builder = self.builder
        *outer, last = (self.merged.extents[axis] for axis in self.reduced)
        lanes = builder.target.lanes(types.bit_width(self.element))
        chains = min(last, max(1, REGISTERS * lanes // prod(types.shape_of(start))))
        whole = last - last % chains

        def row(where: list[Index], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def several(k: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return [
                    step([*where, builder.add(k, n)], total)
                    for n, total in enumerate(totals)
                ]

            totals = list(builder.carry(0, whole, chains, carried, several))
            for n in range(last - whole):
                totals[n] = step([*where, whole + n], totals[n])
            return totals

        totals = nest(builder, outer, [start] * chains, row)
        return reduce(partial(combine, builder), totals)

    def _fold_lanes(
        self, reduction: Reduction, kept: Sequence[Index], before: Step
    ) -> SSAValue:
        builder, combine = self.builder, reduction.combine(self.element)
        identity = reduction.identity(self.element)
        *outer, last = (self.merged.extents[axis] for axis in self.reduced)
        parts = segments(last, builder.target.lanes(types.bit_width(self.element)))
        starts = [self._constant(identity, part.length) for part in parts]

        def row(where: list[Index], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def segment(part: Segment, start: SSAValue) -> SSAValue:
                def step(k: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
                    value = self._read(kept, [*where, k], part.length)
                    return [combine(builder, values[0], before(builder, value))]

                return builder.carry(part.start, part.stop, part.length, [start], step)[
                    0
                ]

            return [segment(*pair) for pair in zip(parts, carried, strict=True)]

        totals = nest(builder, outer, starts, row)
        kind = reduction.kind(self.element)
        scalars = [reduce_vector(builder, kind, total) for total in totals]
        result = scalars[0]
        for scalar in scalars[1:]:
            result = combine(builder, result, scalar)
        return result

    def _constant(self, value: float, length: int) -> SSAValue:
        return self.builder.constant(value, types.vector_type((length,), self.element))

    def _read(
        self, kept: Sequence[Index], where: Sequence[Index], length: int
    ) -> SSAValue:
        places = dict(zip(self.kept, kept, strict=True))
        places |= dict(zip(self.reduced, where, strict=True))
        indices = [places[axis] for axis in range(len(self.merged.extents))]
        return self.builder.vector_load(length, self.source, *indices)


def build_reduce(spec: ReduceSpec, target: Target, name: str = "reduce") -> Kernel:
    """The kernel f(out, in, lo, hi)."""
    if prod(spec.shape) == 0:
        raise ValueError(f"cannot reduce an empty tensor of shape {spec.shape}")
    merged = MergedAxes.of(spec.shape, spec.axes)
    kept = [merged.extents[axis] for axis in merged.select(reduced=False)]
    vectors = not merged.reduced[-1]
    lanes = target.lanes(types.bit_width(spec.element))
    parts = segments(kept[-1], lanes) if vectors else []
    counts = [(part.stop - part.start) // part.length for part in parts]
    space = [*kept[:-1], sum(counts)] if vectors else (kept or [1])
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = buffers
        reducer = _Reducer(builder, spec, source)

        def scalar(coordinates: list[Index]) -> None:
            where = coordinates if kept else []
            builder.store(reducer.results(where, 0), out, *coordinates)

        def vector(coordinates: list[Index]) -> None:
            *outer, unit = coordinates

            def store(position: Index, length: int) -> None:
                where = [*outer, position]
                builder.vector_store(reducer.results(where, length), out, *where)

            visit_segments(builder, parts, unit, store)

        builder.space(low, high, space, vector if vectors else scalar)

    buffers = [
        types.memref_type(tuple(kept) or (1,), spec.element),
        types.memref_type(merged.extents, spec.element),
    ]
    return Kernel(builder.function(name, buffers, body), prod(space))


def visit_segments(
    builder: LoopBuilder, parts: Sequence[Segment], unit: Index, body: VectorBody
) -> None:
    """Runs body(position, length) for vector number `unit` of the segments."""
    part, *rest = parts
    count = (part.stop - part.start) // part.length
    position = builder.add(builder.mul(unit, part.length), part.start)
    if not rest:
        body(position, part.length)
        return
    builder.if_(
        builder.compare("slt", unit, count),
        lambda: body(position, part.length),
        lambda: visit_segments(builder, rest, builder.sub(unit, count), body),
    )
