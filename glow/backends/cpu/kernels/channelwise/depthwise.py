"""Depthwise convolution on channel blocks, one filter per channel; and groups within a block.

Weights are packed [C / lanes, KH, KW, lanes]. Interior rows of small kernels keep them in
registers for a whole line and unroll the taps; border rows, side columns and large kernels
load them at each tap.

Where a block holds several groups of g channels, weights are [C / lanes, KH, KW, g, lanes]. A tap
has g steps: each repeats one channel of every group in the lanes of its group, and multiplies
with the weights of that channel.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.channelwise.planes import (
    BlockedPlanes,
    PlaneTile,
    visit_planes,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue, operand_types
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class DepthwiseSpec:
    """As many output channels as input channels, of which each reads one, or its group."""

    planes: BlockedPlanes
    has_bias: bool = False
    epilogue: Epilogue | None = None

    @property
    def operations(self) -> int:
        """The additions and multiplications, those with padding included."""
        window = self.planes.window
        outputs = self.planes.batch * self.planes.channels * prod(window.output)
        return 2 * outputs * prod(window.kernel) * self.planes.group


def build_depthwise(name: str, spec: DepthwiseSpec, target: Target) -> Kernel:
    """The kernel of a depthwise convolution: output, input, weights, [bias], epilogue operands."""
    planes, b = spec.planes, LoopBuilder(target)
    inputs = () if planes.group == 1 else (planes.group,)
    weights_shape = (planes.blocks, *planes.window.kernel, *inputs, planes.lanes)
    arguments = [
        planes.output_type,
        planes.input_type,
        types.memref_type(weights_shape, planes.element),
    ]
    if spec.has_bias:
        arguments.append(planes.channel_type)
    arguments += operand_types(spec.epilogue, planes.output_type, planes.channel_type)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        output, source, weights, *rest = buffers
        bias = rest.pop(0) if spec.has_bias else None

        def begin_chunk(block: Index) -> Callable[[PlaneTile], None]:
            held = _held_weights(b, planes, weights, block)

            def tile(tile: PlaneTile) -> None:
                start = _start(tile, bias)
                if planes.group > 1:
                    value = _grouped(tile, source, weights, start)
                else:
                    tap = _multiply_add(tile, weights, held)
                    (value,) = tile.taps(source, [start], tap)
                tile.store(value, output, spec.epilogue, rest)

            return tile

        visit_planes(b, planes, low, high, begin_chunk)

    return Kernel(
        b.function(name, arguments, body), planes.work_items(target.core).size
    )


def _held_weights(
    b: LoopBuilder, planes: BlockedPlanes, weights: SSAValue, block: Index
) -> dict[tuple[Index, Index], SSAValue]:
    """The filter of a block in registers, by tap; nothing if it is too large for that."""
    if not planes.unrolled or planes.group > 1:
        return {}
    rows, columns = planes.window.kernel
    return {
        (row, column): b.vector_load(planes.lanes, weights, block, row, column, 0)
        for row in range(rows)
        for column in range(columns)
    }


def _start(tile: PlaneTile, bias: SSAValue | None) -> SSAValue:
    if bias is not None:
        return tile.channel(bias)
    type_ = types.vector_type(tile.shape, tile.planes.element)
    return tile.builder.constant(0.0, type_)


def _multiply_add(
    tile: PlaneTile, weights: SSAValue, held: dict[tuple[Index, Index], SSAValue]
) -> Callable[[Index, Index, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]:
    b = tile.builder

    def tap(
        row: Index, column: Index, pixels: SSAValue, values: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        weight = held.get((row, column)) or b.vector_load(
            tile.planes.lanes, weights, tile.block, row, column, 0
        )
        return [b.fma(pixels, b.broadcast(weight, tile.shape), values[0])]

    return tap


def _grouped(
    tile: PlaneTile, source: SSAValue, weights: SSAValue, start: SSAValue
) -> SSAValue:
    """The sums of a tile over all channels of the groups; a value a pixel is carried."""
    b, planes, pixels = tile.builder, tile.planes, range(tile.shape[0])
    firsts = [lane // planes.group * planes.group for lane in range(planes.lanes)]

    def tap(
        row: Index, column: Index, image: SSAValue, values: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        rows = [b.extract(image, pixel) for pixel in pixels]
        for channel in range(planes.group):
            where = (tile.block, row, column, channel, 0)
            weight = b.vector_load(planes.lanes, weights, *where)
            lanes = [first + channel for first in firsts]
            repeated = [b.shuffle(one, one, lanes) for one in rows]
            values = [
                b.fma(x, weight, total)
                for x, total in zip(repeated, values, strict=True)
            ]
        return values

    starts = [b.extract(start, pixel) for pixel in pixels]
    result = start
    for pixel, total in enumerate(tile.taps(source, starts, tap)):
        result = b.insert(total, result, pixel)
    return result
