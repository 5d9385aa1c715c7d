"""Quantizes blocks of rows to bytes with a sign: a scale for each, and the sum of its bytes.

A block's largest number becomes 127. A sum of zeros times its elements is NaN where it has an
infinity or NaN, which comparisons pass over; it makes the scale NaN. Divisions are divisions, so
that every target has the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.dynamic import LARGEST_INT8
from glow.backends.cpu.kernels.quantization.row_range import not_finite
from glow.backends.cpu.kernels.reduction.softmax import larger
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import Fold, fold_row_by
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class BlockQuantizeSpec:
    """bytes [rows, extent], scales and sums [rows, blocks] of f32 [rows, extent].

    Arguments of the kernel: bytes, scales, sums (f32), in. `size` elements of a row are a block,
    the last one may have fewer.
    """

    rows: int
    extent: int
    size: int

    @property
    def blocks(self) -> int:
        """The blocks of a row."""
        return -(-self.extent // self.size)


def build_block_quantize(
    spec: BlockQuantizeSpec, target: Target, name: str = "block_quantize"
) -> Kernel:
    """The kernel f(bytes, scales, sums, in, lo, hi)."""
    builder = LoopBuilder(target)
    whole, rest = divmod(spec.extent, spec.size)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        blocks = _Blocks(builder, spec, buffers)

        def row(r: Index) -> None:
            builder.loop(0, whole, 1, lambda k: blocks.quantize((r, k), spec.size))
            if rest:
                blocks.quantize((r, whole), rest)

        builder.loop(low, high, 1, row)

    numbers = types.memref_type((spec.rows, spec.blocks))
    rows = types.memref_type((spec.rows, spec.extent))
    buffers = [types.memref_type((spec.rows, spec.extent), i8), numbers, numbers, rows]
    return Kernel(builder.function(name, buffers, body), spec.rows)


class _Blocks:
    def __init__(
        self,
        builder: LoopBuilder,
        spec: BlockQuantizeSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        self.builder, self.spec = builder, spec
        self.stored, self.scales, self.sums, self.source = buffers

    def quantize(self, place: tuple[Index, Index], extent: int) -> None:
        """Quantizes so many elements of a row from a block's first on."""
        b, (row, block) = self.builder, place
        start, scale = b.mul(block, self.spec.size), self._scale(place, extent)
        b.store(scale, self.scales, row, block)

        def read(position: Index, length: int) -> SSAValue:
            """Rounded; the bytes are stored on the way."""
            where = (row, b.add(start, position))
            numbers = b.vector_load(length, self.source, *where)
            ratio = b.divf(numbers, b.broadcast(scale, (length,)))
            rounded = self._clamped(b.unary(math.RoundEvenOp, ratio))
            whole = b.cast(arith.FPToSIOp, rounded, i32)
            b.vector_store(b.cast(arith.TruncIOp, whole, i8), self.stored, *where)
            return rounded

        (total,) = fold_row_by(
            b, extent, f32, read, [Fold(LoopBuilder.addf, "add", 0.0)]
        )
        b.store(total, self.sums, row, block)

    def _scale(self, place: tuple[Index, Index], extent: int) -> SSAValue:
        b, (row, block) = self.builder, place
        start = b.mul(block, self.spec.size)

        def read(position: Index, length: int) -> SSAValue:
            return b.vector_load(length, self.source, row, b.add(start, position))

        def largest(b: LoopBuilder, a: SSAValue, x: SSAValue) -> SSAValue:
            return larger(b, a, b.unary(math.AbsFOp, x))

        folds = [Fold(largest, "maxnumf", 0.0), Fold(not_finite, "add", 0.0)]
        most, poison = fold_row_by(b, extent, f32, read, folds)
        step = b.divf(most, b.constant(float(LARGEST_INT8), f32))
        return b.addf(step, poison)

    def _clamped(self, value: SSAValue) -> SSAValue:
        """The value in [-127, 127]; NaN becomes 0."""
        b = self.builder
        low, high = (b.like(float(n), value) for n in (-LARGEST_INT8, LARGEST_INT8))
        value = b.select(b.cmpf("ord", value, value), value, b.like(0.0, value))
        value = b.select(b.cmpf("ogt", value, low), value, low)
        return b.select(b.cmpf("olt", value, high), value, high)
