"""Sums of the bytes of windows, on channel blocks: average pools of quantized values.

The mean is what the epilogue makes of the sums. Bytes are extended to 32 bits when they are
loaded. Taps in the padding give nothing, so that only those inside take off the zero point.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.channelwise.planes import (
    BlockedPlanes,
    PlaneTile,
    visit_planes,
)
from glow.backends.cpu.kernels.channelwise.pool import sum_rows
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue, operand_types, stored_type
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class Int8SumPoolSpec:
    """Sums of windows; the planes are those of the input, of i8."""

    planes: BlockedPlanes
    zero_point: int = 0
    unsigned: bool = True
    epilogue: Epilogue | None = None

    @property
    def is_global(self) -> bool:
        """Whether each window is a whole plane."""
        window = self.planes.window
        whole = window.kernel == window.input and window.output == (1, 1)
        return whole and not any(window.pads) and window.dilations == (1, 1)


def build_int8_sum_pool(name: str, spec: Int8SumPoolSpec, target: Target) -> Kernel:
    """The kernel: output, input, epilogue operands."""
    planes, b = spec.planes, LoopBuilder(target)
    sums = types.memref_type(planes.output_type.get_shape(), i32)
    channels = types.memref_type((planes.blocks, planes.lanes), i32)
    arguments = [
        stored_type(spec.epilogue, sums),
        planes.input_type,
        *operand_types(spec.epilogue, sums, channels),
    ]

    def widen(pixels: SSAValue) -> SSAValue:
        extension = arith.ExtUIOp if spec.unsigned else arith.ExtSIOp
        return b.cast(extension, pixels, i32)

    def windows(tile: PlaneTile, source: SSAValue) -> SSAValue:
        start = b.constant(0, types.vector_type(tile.shape, i32))
        (total,) = tile.taps(
            source,
            [start],
            lambda _r, _c, pixels, values: [b.add_values(values[0], widen(pixels))],
        )
        return total

    def whole_plane(tile: PlaneTile, source: SSAValue) -> SSAValue:
        pixels = prod(planes.window.input)
        shape = (planes.batch * planes.blocks, pixels, planes.lanes)
        plane = b.add(b.mul(tile.image, planes.blocks), tile.block)
        total = sum_rows(b, b.reinterpret(source, shape), plane, widen)
        return b.broadcast(total, tile.shape)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        output, source, *epilogue_operands = buffers
        sum_up = whole_plane if spec.is_global else windows

        def begin_chunk(_: Index) -> Callable[[PlaneTile], None]:
            def tile(tile: PlaneTile) -> None:
                total = _centred(spec, tile, sum_up(tile, source))
                tile.store(total, output, spec.epilogue, epilogue_operands)

            return tile

        visit_planes(b, planes, low, high, begin_chunk)

    return Kernel(
        b.function(name, arguments, body), planes.work_items(target.core).size
    )


def _centred(spec: Int8SumPoolSpec, tile: PlaneTile, total: SSAValue) -> SSAValue:
    """The sums less the zero points of the taps inside."""
    if not spec.zero_point:
        return total
    b, points = tile.builder, spec.zero_point
    for low, high in (tile.tile.row_taps, tile.tile.column_taps):
        # A window in the padding has no taps.
        points = b.mul(points, b.maximum(b.sub(high, low), 0))
    if isinstance(points, int):
        less = b.like(points, total)
    else:
        less = b.broadcast(b.value(arith.IndexCastOp, (points,), i32), tile.shape)
    return b.binary_integer(arith.SubiOp, total, less)
