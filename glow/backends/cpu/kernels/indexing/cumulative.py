"""Sums and products of all elements up to each one along an axis, [outer, extent, inner].

One element after the other, in the type of the elements; vectors lie along the inner axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.reduction.reduce import visit_segments
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.loop_builder.vector_row import segments
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class CumulativeSpec:
    """out[.., k, ..] = combine of in[.., 0 to k, ..], which starts at `initial`.

    Arguments of the kernel: out, in.
    """

    outer: int
    extent: int
    inner: int
    combine: ScalarRegion
    initial: float
    exclusive: bool = False
    """Whether an element's result is that of those before it."""
    reverse: bool = False
    """Whether it begins at the end."""


def build_cumulative(
    spec: CumulativeSpec, target: Target, name: str = "cumulative"
) -> Kernel:
    """The kernel f(out, in, lo, hi)."""
    builder, element = LoopBuilder(target), spec.combine.input_types[0]
    buffer = types.memref_type((spec.outer, spec.extent, spec.inner), element)
    parts = segments(spec.inner, target.lanes(types.bit_width(element)))
    space = [spec.outer, sum((p.stop - p.start) // p.length for p in parts)]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = memrefs

        def unit(coordinates: list[Index]) -> None:
            outer, number = coordinates

            def column(position: Index, length: int) -> None:
                start = builder.constant(
                    spec.initial, types.vector_type((length,), element)
                )

                def step(k: Index, total: Sequence[SSAValue]) -> Sequence[SSAValue]:
                    if spec.reverse:
                        k = builder.sub(spec.extent - 1, k)
                    value = builder.vector_load(length, source, outer, k, position)
                    (new,) = spec.combine.instantiate(builder, [*total, value])
                    kept = total[0] if spec.exclusive else new
                    builder.vector_store(kept, out, outer, k, position)
                    return [new]

                builder.carry(0, spec.extent, 1, [start], step)

            visit_segments(builder, parts, number, column)

        builder.space(low, high, space, unit)

    return Kernel(builder.function(name, [buffer, buffer], body), prod(space))
