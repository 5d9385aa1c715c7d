"""Layer normalisation and root-mean-square normalisation of the trailing elements.

Mean and variance are taken in two passes over a row that stays in the first-level cache: the
one-pass formula cancels when the mean is large beside the deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.reduction.softmax import SUM
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import (
    Epilogue,
    operand_types,
    row_of_epilogue,
    stored_type,
)
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import (
    Read,
    VectorBody,
    fold_row,
    for_each_vector,
)
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class LayerNormSpec:
    """out[r, :] = (in[r, :] - mean) / sqrt(variance + epsilon) * scale + bias, f32.

    Arguments of the kernel: out, [the result before the epilogue if `keeps_plain`], [mean
    [rows], inverse deviation [rows] if `has_statistics`], in, [scale [extent]], [bias
    [extent]], the epilogue's inputs. `centred` False leaves the mean out (RMS norm). The
    output may be the input, but not with an epilogue.
    """

    rows: int
    extent: int
    epsilon: float = 1e-5
    has_scale: bool = True
    has_bias: bool = True
    centred: bool = True
    has_statistics: bool = False
    epilogue: Epilogue | None = None
    keeps_plain: bool = False


def build_layer_norm(
    spec: LayerNormSpec, target: Target, name: str = "layer_norm"
) -> Kernel:
    """The kernel f(outs..., in, [scale], [bias], lo, hi)."""
    builder = LoopBuilder(target)
    matrix = types.memref_type((spec.rows, spec.extent))
    statistic = types.memref_type((spec.rows,))
    parameter = types.memref_type((spec.extent,))
    statistics = 2 * spec.has_statistics
    parameters = spec.has_scale + spec.has_bias

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        outs, rest = buffers[: 1 + spec.keeps_plain], buffers[1 + spec.keeps_plain :]
        row = _Row(builder, spec, outs, rest[statistics:])
        if spec.epilogue is not None:
            row.normalise_in_turn(low, high)
            return

        def at(r: Index) -> None:
            found = row.normalise(r)
            for buffer, value in zip(rest[:statistics], found, strict=False):
                builder.store(value, buffer, r)

        builder.loop(low, high, 1, at)

    buffers = [
        stored_type(spec.epilogue, matrix),
        *[matrix] * spec.keeps_plain,
        *[statistic] * statistics,
        matrix,
        *[parameter] * parameters,
        *operand_types(spec.epilogue, matrix, parameter),
    ]
    runs = (1,) * (2 + spec.keeps_plain + statistics)
    return Kernel(builder.function(name, buffers, body), spec.rows, runs)


Statistics = tuple[SSAValue, SSAValue]
"""A row's mean and inverse deviation."""


class _Row:
    def __init__(
        self,
        builder: LoopBuilder,
        spec: LayerNormSpec,
        outs: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.out, *self.plain = outs
        self.source, *parameters = inputs
        self.scale = parameters.pop(0) if spec.has_scale else None
        self.bias = parameters.pop(0) if spec.has_bias else None
        self.epilogue_operands = parameters

    def normalise(self, r: Index) -> Statistics:
        """Normalises row r; its mean and inverse deviation."""
        found = self._statistics(r)
        self._for_each(lambda position, length: self._write(r, found, position, length))
        return found

    def normalise_in_turn(self, low: Index, high: Index) -> None:
        """Normalises rows [low, high): each is stored while the next one is summed up.

        What a cast takes, above all its division, then runs beside the sums, which wait
        for each other.
        """
        builder = self.builder

        def at(r: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            # Before the first row there is none: what this stores is overwritten.
            previous = builder.maximum(builder.sub(r, 1), low)
            mean, inverse = carried

            def store(position: Index, length: int) -> None:
                self._write(previous, (mean, inverse), position, length)

            return self._statistics(r, store)

        zero = builder.constant(0.0, f32)
        mean, inverse = builder.carry(low, high, 1, [zero, zero], at)

        def last() -> None:
            r = builder.sub(high, 1)
            self._for_each(
                lambda position, length: self._write(
                    r, (mean, inverse), position, length
                )
            )

        builder.if_(builder.compare("slt", low, high), last)

    def _for_each(self, body: VectorBody) -> None:
        lanes = self.builder.target.lanes(32)
        for_each_vector(self.builder, self.spec.extent, lanes, body)

    def _statistics(self, r: Index, beside: VectorBody | None = None) -> Statistics:
        """Mean and inverse deviation of row r; `beside` is done for each vector."""
        builder, spec = self.builder, self.spec

        def read(position: Index, length: int) -> SSAValue:
            value = builder.vector_load(length, self.source, r, position)
            if beside is not None:
                beside(position, length)
            return value

        mean = self._mean(read) if spec.centred else builder.constant(0.0, f32)

        def squared(position: Index, length: int) -> SSAValue:
            if not spec.centred and beside is not None:
                beside(position, length)
            value = self._centred(r, mean, position, length)
            return builder.mulf(value, value)

        variance = self._mean(squared)
        shifted = builder.addf(variance, builder.constant(spec.epsilon, f32))
        return mean, math_functions.rsqrt(builder, shifted)

    def _centred(
        self, r: Index, mean: SSAValue, position: Index, length: int
    ) -> SSAValue:
        builder = self.builder
        value = builder.vector_load(length, self.source, r, position)
        if not self.spec.centred:
            return value
        return builder.subf(value, builder.broadcast(mean, (length,)))

    def _write(
        self, r: Index, statistics: Statistics, position: Index, length: int
    ) -> None:
        """Stores a vector of row r."""
        builder, (mean, inverse) = self.builder, statistics
        scaled = builder.mulf(
            self._centred(r, mean, position, length),
            builder.broadcast(inverse, (length,)),
        )
        value = self._apply_parameters(scaled, position, length)
        for plain in self.plain:
            builder.vector_store(value, plain, r, position)
        epilogue, epilogue_operands = self.spec.epilogue, self.epilogue_operands
        stored = row_of_epilogue(
            builder, epilogue, value, epilogue_operands, r, position
        )
        builder.vector_store(stored, self.out, r, position)

    def _mean(self, read: Read) -> SSAValue:
        total = fold_row(self.builder, self.spec.extent, f32, read, SUM)
        return self.builder.divf(total, self.builder.constant(self.spec.extent, f32))

    def _apply_parameters(
        self, value: SSAValue, position: Index, length: int
    ) -> SSAValue:
        builder = self.builder
        scale = self.scale and builder.vector_load(length, self.scale, position)
        bias = self.bias and builder.vector_load(length, self.bias, position)
        if scale and bias:
            return builder.fma(value, scale, bias)
        if scale:
            return builder.mulf(value, scale)
        return builder.addf(value, bias) if bias else value
