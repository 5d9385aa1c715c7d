"""Layer normalisation and root-mean-square normalisation of the trailing elements.

Mean and variance are taken in two passes over a row that stays in the first-level cache: the
one-pass formula cancels when the mean is large beside the deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops import math_functions
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.epilogue import (
    Epilogue,
    extra_types,
    row_of_epilogue,
    stored_type,
)
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.softmax import add
from glow.lowering.instr_to_loops.vector_row import Read, fold_row, for_each_vector
from glow.lowering.target import Target


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
        *extra_types(spec.epilogue, matrix, parameter),
    ]
    return Kernel(builder.function(name, buffers, body), spec.rows)


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
        self.extras = parameters

    def normalise(self, r: Index) -> tuple[SSAValue, SSAValue]:
        """Normalises row r; its mean and inverse deviation."""
        builder, spec = self.builder, self.spec

        def read(position: Index, length: int) -> SSAValue:
            return builder.vector_load(length, self.source, r, position)

        mean = self._mean(read) if spec.centred else builder.constant(0.0, f32)

        def centred(position: Index, length: int) -> SSAValue:
            value = read(position, length)
            if not spec.centred:
                return value
            return builder.subf(value, builder.broadcast(mean, (length,)))

        def squared(position: Index, length: int) -> SSAValue:
            value = centred(position, length)
            return builder.mulf(value, value)

        variance = self._mean(squared)
        shifted = builder.addf(variance, builder.constant(spec.epsilon, f32))
        inverse = math_functions.rsqrt(builder, shifted)

        def write(position: Index, length: int) -> None:
            scaled = builder.mulf(
                centred(position, length), builder.broadcast(inverse, (length,))
            )
            value = self._apply_parameters(scaled, position, length)
            for plain in self.plain:
                builder.vector_store(value, plain, r, position)
            stored = row_of_epilogue(
                builder, spec.epilogue, value, self.extras, r, position
            )
            builder.vector_store(stored, self.out, r, position)

        for_each_vector(builder, spec.extent, builder.target.lanes(32), write)
        return mean, inverse

    def _mean(self, read: Read) -> SSAValue:
        total = fold_row(self.builder, self.spec.extent, f32, read, add, "add", 0.0)
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
