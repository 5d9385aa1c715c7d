"""Where flags hold: their places in order, and how many there are.

One thread goes over all flags. Each place is written, and stays if its flag holds: no branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i8, i64
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class CompactSpec:
    """places [extent] (zeros behind the last), count of flags [extent].

    Arguments of the kernel: places, count, flags.
    """

    extent: int


def build_compact(spec: CompactSpec, target: Target, name: str = "compact") -> Kernel:
    """The kernel f(places, count, flags, lo, hi)."""
    builder = LoopBuilder(target)
    buffers = [
        types.memref_type((spec.extent,), i64),
        types.memref_type((1,), i64),
        types.memref_type((spec.extent,), i8),
    ]

    def as_number(index: Index) -> SSAValue:
        return builder.value(arith.IndexCastOp, (builder.index(index),), i64)

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        places, count, flags = memrefs
        zero = builder.constant(0, i64)

        def visit(place: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            builder.store(as_number(place), places, found[0])
            flag = builder.cast(arith.ExtUIOp, builder.load(flags, place), i64)
            step = builder.value(arith.IndexCastOp, (flag,), types.INDEX)
            return [builder.index(builder.add(found[0], step))]

        def compact(_: Index) -> None:
            start = [builder.index(0)]
            (found,) = builder.carry(0, spec.extent, 1, start, visit)
            builder.store(as_number(found), count, 0)
            builder.loop(
                found, spec.extent, 1, lambda place: builder.store(zero, places, place)
            )

        builder.loop(low, high, 1, compact)

    return Kernel(builder.function(name, buffers, body), 1)
