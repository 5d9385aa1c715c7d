"""Max and average pooling on channel blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from xdsl.dialects.builtin import f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.channelwise.planes import (
    BlockedPlanes,
    PlaneTile,
    visit_planes,
)
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue, operand_types
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_integer


@dataclass(frozen=True)
class PoolSpec:
    """A pooling; the window's `output_size` says what ceil_mode made of the output.

    Max pooling lets NaN through and takes padding as minus infinity, of integers as the smallest
    one; `unsigned` says how their bits count. Average pooling divides by
    the taps inside the image, or with `count_include_pad` by those inside image and padding.
    """

    planes: BlockedPlanes
    kind: Literal["max", "average"]
    count_include_pad: bool = False
    epilogue: Epilogue | None = None
    unsigned: bool = False

    @property
    def is_global_average(self) -> bool:
        """Whether this is the mean of whole planes and nothing else."""
        window = self.planes.window
        whole = window.kernel == window.input and window.output == (1, 1)
        plain = not any(window.pads) and window.dilations == (1, 1)
        return self.kind == "average" and whole and plain and self.epilogue is None


def build_pool(name: str, spec: PoolSpec, target: Target) -> Kernel:
    """The kernel of a pooling: output, input, epilogue operands."""
    if spec.is_global_average:
        return build_global_average_pool(name, spec.planes, target)
    planes, b = spec.planes, LoopBuilder(target)
    arguments = [planes.output_type, planes.input_type]
    arguments += operand_types(spec.epilogue, planes.output_type, planes.channel_type)
    pool = _max if spec.kind == "max" else _average

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        output, source, *epilogue_operands = buffers

        def begin_chunk(_: Index) -> Callable[[PlaneTile], None]:
            return lambda tile: tile.store(
                pool(spec, tile, source), output, spec.epilogue, epilogue_operands
            )

        visit_planes(b, planes, low, high, begin_chunk)

    return Kernel(
        b.function(name, arguments, body), planes.work_items(target.core).size
    )


def _max(spec: PoolSpec, tile: PlaneTile, source: SSAValue) -> SSAValue:
    b, element = tile.builder, tile.planes.element
    lowest = float("-inf")
    if is_integer(element):
        lowest = 0 if spec.unsigned else -(2 ** (types.bit_width(element) - 1))
    start = b.constant(lowest, types.vector_type(tile.shape, element))

    def tap(
        _row: Index, _column: Index, pixels: SSAValue, values: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        if is_integer(element):
            larger = arith.MaxUIOp if spec.unsigned else arith.MaxSIOp
            return [b.binary_integer(larger, values[0], pixels)]
        return [b.larger(values[0], pixels)]

    (value,) = tile.taps(source, [start], tap)
    return value


def _average(spec: PoolSpec, tile: PlaneTile, source: SSAValue) -> SSAValue:
    b = tile.builder
    start = b.constant(0.0, types.vector_type(tile.shape, tile.planes.element))
    (total,) = tile.taps(
        source, [start], lambda _r, _c, pixels, values: [b.addf(values[0], pixels)]
    )
    taps = prod(tile.planes.window.kernel)
    if tile.is_interior:
        return _quotient(b, total, taps)
    return b.divf(total, b.broadcast(_count(spec, tile), tile.shape))


def _quotient(b: LoopBuilder, total: SSAValue, count: int) -> SSAValue:
    """The mean; f64 holds integers too, whose quotients must not end just below one."""
    if types.element_of(total) == f64:
        return b.divf(total, b.like(count, total))
    return b.mulf(total, b.like(1 / count, total))


def _count(spec: PoolSpec, tile: PlaneTile) -> SSAValue:
    """The number of taps that a border pixel's average counts, as a float."""
    b, window = tile.builder, tile.planes.window
    ranges = (tile.tile.row_taps, tile.tile.column_taps)
    if spec.count_include_pad:
        # Pixels of one tile differ along the tile only where all their taps are inside.
        ranges = (
            window.padded_taps(b, 0, tile.tile.row),
            window.padded_taps(b, 1, tile.tile.column),
        )
    count: Index = 1
    for low, high in ranges:
        count = b.mul(count, b.sub(high, low))
    count = b.maximum(count, 1)
    integer = b.value(arith.IndexCastOp, (b.index(count),), i64)
    return b.cast(arith.SIToFPOp, integer, tile.planes.element)


PIXELS_AT_ONCE = 8
"""Independent sums that hide the latency of an addition."""


def build_global_average_pool(
    name: str, planes: BlockedPlanes, target: Target
) -> Kernel:
    """The kernel [N, CB, 1, 1, lanes] <- mean of [N, CB, H, W, lanes] over its planes."""
    b = LoopBuilder(target)
    pixels = prod(planes.window.input)
    lanes, blocks = planes.lanes, planes.batch * planes.blocks
    output = types.memref_type(
        (planes.batch, planes.blocks, 1, 1, lanes), planes.element
    )

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        target_rows = b.reinterpret(buffers[0], (blocks, lanes))
        source = b.reinterpret(buffers[1], (blocks, pixels, lanes))

        def plane(block: Index) -> None:
            mean = _quotient(b, sum_rows(b, source, block), pixels)
            b.vector_store(mean, target_rows, block, 0)

        b.loop(low, high, 1, plane)

    function = b.function(name, [output, planes.input_type], body)
    return Kernel(function, blocks)


def sum_rows(
    b: LoopBuilder,
    source: SSAValue,
    block: Index,
    widen: Callable[[SSAValue], SSAValue] | None = None,
) -> SSAValue:
    """The sum [lanes] over the pixels of source[block]; of bytes, which `widen` makes i32."""
    _, pixels, lanes = types.shape_of(source)
    element = types.element_of(source) if widen is None else i32
    width = min(_rows_at_once(b.target, element), pixels)
    whole = pixels - pixels % width
    shape = (width, lanes)

    def wide(pixels: SSAValue) -> SSAValue:
        return pixels if widen is None else widen(pixels)

    def step(pixel: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        rows = b.transfer_read(source, (block, pixel, 0), shape, (1, 2))
        return [b.add_values(values[0], wide(rows))]

    zero = b.constant(0, types.vector_type(shape, element))
    (sums,) = b.carry(0, whole, width, [zero], step)
    parts = [b.extract(sums, k) for k in range(width)]
    parts += [
        wide(b.vector_load(lanes, source, block, k, 0)) for k in range(whole, pixels)
    ]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        added = [b.add_values(x, y) for x, y in pairs]
        parts = added + parts[2 * len(added) :]
    return parts[0]


def _rows_at_once(target: Target, element: Attribute) -> int:
    """How many pixels are added at once; integers need no more sums than one."""
    if element == i32 and target.prefers_small_loops:
        return 1
    registers = target.num_vector_registers
    # Where sums would fill all registers, half of them are for what is added.
    return PIXELS_AT_ONCE if registers > PIXELS_AT_ONCE else registers // 2
