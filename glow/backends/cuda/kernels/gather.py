"""Lookups for many threads: rows of a table by indices of an axis.

Thread i has results 4 i to 4 i + 3 where rows are multiples of that, else result i: the threads of
a row read its index at once, and the row side by side. An index outside of its axis is noted in a
byte, as the CPU's kernel does, and row 0 is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i8, i32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.movement.gather import GatherSpec, error_types
from glow.backends.cuda.kernels.elementwise import THREADS, VECTOR
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.target.target import Target

WORD_BITS = 32


def position(
    b: GpuBuilder, spec: GatherSpec, index: SSAValue, errors: Sequence[SSAValue]
) -> Index:
    """The position on the axis that an index names; negative ones count from its end.

    It is compared in its own type: positions have 32 bits.
    """
    if types.bit_width(index.type) < WORD_BITS:
        index = b.cast(arith.ExtUIOp if spec.unsigned else arith.ExtSIOp, index, i32)
    extent = b.like(spec.extent, index)
    if not spec.unsigned:
        wrapped = b.binary_integer(arith.AddiOp, index, extent)
        index = b.select(b.cmpi("slt", index, b.like(0, index)), wrapped, index)
    is_outside = b.cmpi("uge", index, extent)
    b.if_(is_outside, lambda: b.store(b.constant(1, i8), errors[0], 0))
    index = b.select(is_outside, b.like(0, index), index)
    return b.value(arith.IndexCastOp, (index,), types.INDEX)


def build_gather(spec: GatherSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a lookup; arguments: result, table, indices, the byte of an error."""
    b = GpuBuilder(target)
    width = VECTOR if spec.inner % VECTOR == 0 else 1
    extents = (spec.outer, spec.count, spec.inner // width)
    total = prod(extents)
    buffers = [
        types.memref_type((spec.outer, spec.count, spec.inner), spec.element),
        types.memref_type((spec.outer, spec.extent, spec.inner), spec.element),
        types.memref_type((spec.count,), spec.index),
        *error_types(reports=True),
    ]

    def body(arguments: Sequence[SSAValue]) -> None:
        result, table, indices, *errors = arguments
        number = b.add(b.mul(b.block(DimensionEnum.X), THREADS), b.thread())
        outer, row, piece = b.unflatten(number, extents)
        column = b.mul(piece, width)

        def move() -> None:
            place = position(b, spec, b.load(indices, row), errors)
            value = b.vector_load(width, table, outer, place, column)
            b.vector_store(value, result, outer, row, column)

        b.if_(total % THREADS == 0 or b.compare("slt", number, total), move)

    return b.kernel(name, buffers, THREADS, (-(-total // THREADS), 1, 1), body)
