"""Sums, or largest elements, of bags of rows: each bag is as many consecutive rows as its
length says.

A work item is a bag; a thread adds up the lengths before its first one, and goes on from there.
Lengths come from the user's data: what is negative counts as zero, and no bag goes beyond the
last row, but both are noted in the byte of errors, as are rows that no bag has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i8, i64
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.movement.gather import INDEX_BITS, error_types
from glow.backends.cpu.kernels.reduction.reduce import REDUCTIONS
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import for_each_vector
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class BagsSpec:
    """out [bags, inner] f32 = reduced rows [rows, inner] by lengths [bags].

    Arguments of the kernel: out, rows, lengths, the byte of errors.
    """

    rows: int
    bags: int
    inner: int
    reduction: str
    """A key of `REDUCTIONS`."""
    length: Attribute = i64
    unsigned: bool = False
    """Whether lengths have no sign."""


class _Bags:
    """The bags of one kernel."""

    def __init__(
        self, builder: LoopBuilder, spec: BagsSpec, memrefs: Sequence[SSAValue]
    ) -> None:
        self.builder, self.spec = builder, spec
        self.out, self.rows, self.lengths, self.errors = memrefs

    def end_of(self, bag: Index, start: Index) -> SSAValue:
        """The first row behind a bag, at most the number of rows."""
        b, spec = self.builder, self.spec
        value = b.load(self.lengths, bag)
        if spec.unsigned and types.bit_width(spec.length) < INDEX_BITS:
            value = b.cast(arith.ExtUIOp, value, i64)
        length = b.value(arith.IndexCastOp, (value,), types.INDEX)
        # Compared with what is left, since the sum may not fit into 64 bits.
        left = b.sub(spec.rows, start)
        b.if_(b.compare("ugt", length, left), self._note)
        return b.index(b.add(start, b.minimum(b.maximum(length, 0), left)))

    def _note(self) -> None:
        self.builder.store(self.builder.constant(1, i8), self.errors, 0)

    def reduce(self, bag: Index, start: SSAValue) -> SSAValue:
        """Store the result of a bag; returns where the next one starts."""
        b, spec = self.builder, self.spec
        end = self.end_of(bag, start)
        is_last = b.compare("eq", bag, spec.bags - 1)
        b.if_(is_last, lambda: b.if_(b.compare("ne", end, spec.rows), self._note))

        reduction = REDUCTIONS[spec.reduction]
        combine = reduction.combine(f32)

        def columns(position: Index, count: int) -> None:
            first = b.constant(reduction.identity(f32), types.vector_type((count,)))
            (total,) = b.carry(
                start,
                end,
                1,
                [first],
                lambda row, found: [
                    combine(b, found[0], b.vector_load(count, self.rows, row, position))
                ],
            )
            b.vector_store(total, self.out, bag, position)

        for_each_vector(b, spec.inner, b.target.lanes(32), columns)
        return end


def build_bags(spec: BagsSpec, target: Target, name: str = "bags") -> Kernel:
    """The kernel f(out, rows, lengths, errors, lo, hi)."""
    builder = LoopBuilder(target)
    buffers = [
        types.memref_type((spec.bags, spec.inner), f32),
        types.memref_type((spec.rows, spec.inner), f32),
        types.memref_type((spec.bags,), spec.length),
        *error_types(True),
    ]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        bags = _Bags(builder, spec, memrefs)
        zero = builder.index(0)
        first = builder.carry(
            0, low, 1, [zero], lambda bag, start: [bags.end_of(bag, start[0])]
        )
        builder.carry(
            low, high, 1, first, lambda bag, start: [bags.reduce(bag, start[0])]
        )

    return Kernel(builder.function(name, buffers, body), spec.bags)
