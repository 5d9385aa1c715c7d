"""Local response normalisation across channels, plain and blocked.

Plain [N, C, HW]: vectors lie along the plane and the window is a short loop over channels,
clipped at the ends. Blocked [N, C / lanes, HW, lanes]: a register holds neighbouring channels, so
the window is a sum of shuffles of a block and its two neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.elementwise.kernel import RowChunks
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import for_each_vector
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class LocalResponseNormSpec:
    """out = in / (bias + alpha / size * (sum of squares of `size` channels)) ^ beta, f32.

    The window of channel c is [c - (size - 1) // 2, c + size // 2], as in ONNX. `blocked`:
    buffers are [batch, ceil(channels / lanes), plane, lanes]. Arguments of the kernel: out, in;
    different buffers.
    """

    batch: int
    channels: int
    plane: int
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0
    blocked: bool = False

    @property
    def before(self) -> int:
        """Channels of the window before its own."""
        return (self.size - 1) // 2

    @property
    def after(self) -> int:
        """Channels of the window after its own."""
        return self.size // 2


def build_local_response_norm(
    spec: LocalResponseNormSpec, target: Target, name: str = "local_response_norm"
) -> Kernel:
    """The kernel f(out, in, lo, hi)."""
    lanes = target.lanes(32)
    if not spec.blocked:
        return _build_plain(spec, target, name)
    if max(spec.before, spec.after) > lanes:
        raise ValueError(
            f"a window of {spec.size} channels spans more than three blocks"
        )
    return _build_blocked(spec, target, name)


def normalised(
    builder: LoopBuilder,
    spec: LocalResponseNormSpec,
    value: SSAValue,
    squares: SSAValue,
) -> SSAValue:
    """A value over the power of what its window's squares make."""
    factor = builder.like(spec.alpha / spec.size, value)
    base = builder.fma(squares, factor, builder.like(spec.bias, value))
    return builder.divf(
        value, math_functions.power_of_positive(builder, base, spec.beta)
    )


def _build_plain(spec: LocalResponseNormSpec, target: Target, name: str) -> Kernel:
    builder = LoopBuilder(target)
    space = [spec.batch, spec.channels]

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = buffers

        def channel(coordinates: list[Index]) -> None:
            n, c = coordinates
            first = builder.maximum(builder.sub(c, spec.before), 0)
            last = builder.minimum(builder.add(c, spec.after + 1), spec.channels)

            def vector(position: Index, length: int) -> None:
                def square(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                    value = builder.vector_load(length, source, n, k, position)
                    return [builder.fma(value, value, carried[0])]

                zero = builder.constant(0.0, types.vector_type((length,)))
                squares = builder.carry(first, last, 1, [zero], square)[0]
                value = builder.vector_load(length, source, n, c, position)
                result = normalised(builder, spec, value, squares)
                builder.vector_store(result, out, n, c, position)

            for_each_vector(builder, spec.plane, target.lanes(32), vector)

        builder.space(low, high, space, channel)

    buffer = types.memref_type((spec.batch, spec.channels, spec.plane))
    function = builder.function(name, [buffer, buffer], body)
    return Kernel(function, spec.batch * spec.channels)


def _build_blocked(spec: LocalResponseNormSpec, target: Target, name: str) -> Kernel:
    builder = LoopBuilder(target)
    lanes = target.lanes(32)
    blocks = -(-spec.channels // lanes)
    chunks = RowChunks(spec.plane, spec.batch * blocks, 1)
    space = [spec.batch, blocks, chunks.units]

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, source = buffers

        def block(coordinates: list[Index]) -> None:
            n, cb, unit = coordinates

            def pixel(p: Index, _: int) -> None:
                value = builder.vector_load(lanes, source, n, cb, p, 0)
                around = [
                    _squares(builder, spec, source, (n, builder.add(cb, k), p))
                    for k in (-1, 0, 1)
                ]
                total = _window_sum(builder, spec, around)
                result = normalised(builder, spec, value, total)
                builder.vector_store(result, out, n, cb, p, 0)

            chunks.walk(builder, unit, 1, 1, pixel)

        builder.space(low, high, space, block)

    buffer = types.memref_type((spec.batch, blocks, spec.plane, lanes))
    function = builder.function(name, [buffer, buffer], body)
    return Kernel(function, prod(space))


def _squares(
    builder: LoopBuilder,
    spec: LocalResponseNormSpec,
    source: SSAValue,
    place: tuple[Index, Index, Index],
) -> SSAValue:
    """The squares of a block, zeros where there are no such channels."""
    n, cb, p = place
    lanes = builder.target.lanes(32)
    blocks = -(-spec.channels // lanes)
    clamped = builder.clamp(cb, 0, blocks - 1)
    value = builder.vector_load(lanes, source, n, clamped, p, 0)
    zero = builder.like(0.0, value)
    used = spec.channels - (blocks - 1) * lanes
    if used < lanes:
        # Lanes past the last channel hold anything, NaN included.
        kept = [*range(used), *[lanes] * (lanes - used)]
        last = builder.compare("eq", clamped, blocks - 1)
        cut = builder.shuffle(value, zero, kept)
        value = _choose(builder, last, cut, value)
    exists = builder.compare("ult", cb, blocks)
    value = _choose(builder, exists, value, zero)
    return builder.mulf(value, value)


def _choose(
    builder: LoopBuilder, condition: bool | SSAValue, a: SSAValue, b: SSAValue
) -> SSAValue:
    if isinstance(condition, bool):
        return a if condition else b
    return builder.select(condition, a, b)


def _window_sum(
    builder: LoopBuilder, spec: LocalResponseNormSpec, around: Sequence[SSAValue]
) -> SSAValue:
    """The sum over the window, from the squares of the block before, this one, and the next."""
    lanes = builder.target.lanes(32)
    previous, total, following = around
    centre = total
    for distance in range(1, spec.before + 1):
        mask = range(lanes - distance, 2 * lanes - distance)
        total = builder.addf(total, builder.shuffle(previous, centre, list(mask)))
    for distance in range(1, spec.after + 1):
        mask = range(distance, lanes + distance)
        total = builder.addf(total, builder.shuffle(centre, following, list(mask)))
    return total
