"""Quantizes rows: finds the range of each, its scale and zero point, and the stored bytes.

Two passes over a row that stays in the first-level cache. A sum of zeros times the elements
is NaN where the row has an infinity or NaN, which comparisons pass over; it makes the scale
NaN. Divisions are divisions, so that every target has the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.quantization.row_range import not_finite, row_range
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import for_each_vector
from glow.lowering.target.target import Target

LEVELS = 255.0


@dataclass(frozen=True)
class PerRowQuantizeSpec:
    """bytes [rows, columns], scales [rows], zero points [rows] of f32 [rows, extent].

    Arguments of the kernel: bytes, scales, zero points, in. Bytes beyond the extent are 0.
    """

    rows: int
    extent: int
    columns: int


def build_per_row_quantize(
    spec: PerRowQuantizeSpec, target: Target, name: str = "per_row_quantize"
) -> Kernel:
    """The kernel f(bytes, scales, zero points, in, lo, hi)."""
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        builder.loop(low, high, 1, _Row(builder, spec, buffers).quantize)

    parameters = [types.memref_type((spec.rows,), kind) for kind in (f32, i32)]
    buffers = [
        types.memref_type((spec.rows, spec.columns), i8),
        *parameters,
        types.memref_type((spec.rows, spec.extent)),
    ]
    return Kernel(builder.function(name, buffers, body), spec.rows)


class _Row:
    def __init__(
        self,
        builder: LoopBuilder,
        spec: PerRowQuantizeSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.stored, self.scales, self.zero_points, self.source = buffers

    def quantize(self, r: Index) -> None:
        """Quantizes row r."""
        builder, spec = self.builder, self.spec
        scale, point = self._parameters(r)
        builder.store(scale, self.scales, r)
        builder.store(builder.cast(arith.FPToSIOp, point, i32), self.zero_points, r)

        def write(position: Index, length: int) -> None:
            ratio = builder.divf(
                builder.vector_load(length, self.source, r, position),
                builder.broadcast(scale, (length,)),
            )
            rounded = builder.unary(math.RoundEvenOp, ratio)
            shifted = builder.addf(rounded, builder.broadcast(point, (length,)))
            whole = builder.cast(arith.FPToSIOp, self._clamped(shifted), i32)
            stored = builder.cast(arith.TruncIOp, whole, i8)
            builder.vector_store(stored, self.stored, r, position)

        for_each_vector(builder, spec.extent, builder.target.lanes(32), write)
        for column in range(spec.extent, spec.columns):
            builder.store(builder.constant(0, i8), self.stored, r, column)

    def _parameters(self, r: Index) -> tuple[SSAValue, SSAValue]:
        """Scale and zero point of a row, both f32."""
        builder = self.builder
        zero = builder.constant(0.0, f32)

        def read(position: Index, length: int) -> SSAValue:
            return builder.vector_load(length, self.source, r, position)

        low, high, poison = row_range(builder, self.spec.extent, read, not_finite)
        span = builder.subf(high, low)
        step = builder.divf(span, builder.constant(LEVELS, f32))
        is_flat = builder.cmpf("oeq", span, zero)
        scale = builder.select(is_flat, builder.constant(1.0, f32), step)
        scale = builder.addf(scale, poison)
        ratio = builder.divf(builder.subf(zero, low), scale)
        return scale, self._clamped(builder.unary(math.RoundEvenOp, ratio))

    def _clamped(self, value: SSAValue) -> SSAValue:
        """The value in [0, 255]; NaN becomes 0."""
        builder = self.builder
        low, high = builder.like(0.0, value), builder.like(LEVELS, value)
        value = builder.select(builder.cmpf("ogt", value, low), value, low)
        return builder.select(builder.cmpf("olt", value, high), value, high)
