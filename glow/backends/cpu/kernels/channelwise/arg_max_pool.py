"""Where windows of a plane have their first largest element, pixel by pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class ArgMaxPoolSpec:
    """out [planes, OH, OW] i64 = row * width + column of the largest in in [planes, H, W].

    Arguments of the kernel: out, in. NaN is never found.
    """

    planes: int
    window: Window
    element: Attribute
    is_unsigned: bool = False

    def is_larger(self, builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether a is larger than b."""
        if types.is_integer(self.element):
            return builder.cmpi("ugt" if self.is_unsigned else "sgt", a, b)
        return builder.cmpf("ogt", a, b)

    @property
    def lowest(self) -> float:
        """The number that every element equals or beats."""
        if not types.is_integer(self.element):
            return -float("inf")
        if self.is_unsigned:
            return 0
        return -(2 ** (types.bit_width(self.element) - 1))


def build_arg_max_pool(
    spec: ArgMaxPoolSpec, target: Target, name: str = "arg_max_pool"
) -> Kernel:
    """The kernel f(out, in, lo, hi); a work item is a row of the result."""
    builder, window = LoopBuilder(target), spec.window
    (height, width), (rows, columns) = window.input, window.output
    buffers = [
        types.memref_type((spec.planes * rows, columns), i64),
        types.memref_type((spec.planes, height * width), spec.element),
    ]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = memrefs

        def line(coordinates: list[Index]) -> None:
            plane, row = coordinates
            target_row = builder.add(builder.mul(plane, rows), row)

            def pixel(column: Index) -> None:
                place = _place(builder, spec, source, (plane, row, column))
                builder.store(place, out, target_row, column)

            builder.loop(0, columns, 1, pixel)

        builder.space(low, high, (spec.planes, rows), line)

    return Kernel(builder.function(name, buffers, body), spec.planes * rows)


def _place(
    b: LoopBuilder, spec: ArgMaxPoolSpec, source: SSAValue, at: tuple[Index, ...]
) -> SSAValue:
    """The place of the first largest element of the window of an output pixel."""
    window, (plane, *pixel) = spec.window, at
    taps = [window.taps(b, axis, pixel[axis]) for axis in (0, 1)]

    def position(axis: int, tap: Index) -> Index:
        origin = window.origin(b, axis, pixel[axis])
        return b.add(origin, b.mul(tap, window.dilations[axis]))

    def flat(row: Index, column: Index) -> Index:
        first = b.mul(position(0, row), window.input[1])
        return b.add(first, position(1, column))

    def row_step(row: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
        def step(column: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place = flat(row, column)
            value = b.load(source, plane, place)
            wins = spec.is_larger(b, value, best[0])
            found = b.select(wins, b.index(place), best[1])
            return [b.select(wins, value, best[0]), found]

        return b.carry(*taps[1], 1, best, step)

    inside = prod(window.input) - 1
    first = b.clamp(flat(taps[0][0], taps[1][0]), 0, inside)
    start = [b.constant(spec.lowest, spec.element), b.index(first)]
    _, place = b.carry(*taps[0], 1, start, row_step)
    return b.value(arith.IndexCastOp, (place,), i64)
