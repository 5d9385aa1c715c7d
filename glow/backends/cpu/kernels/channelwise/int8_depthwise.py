"""Depthwise convolution of unsigned bytes with signed ones, on channel blocks.

Weights are [C / lanes, KH, KW, lanes]. With dot products of four bytes the taps of a kernel row
are one a lane inside of a plane: four neighbouring pixels are read at once, the last of which may
count nothing. Elsewhere, in the last row inside, where that might read past the end, and at the
borders bytes are extended to 32 bits when they are loaded, and a border tile adds what its taps in
the padding give. Words of two taps, which cores without those dot products multiply, would have to
be brought together: nine instructions for a pixel and three taps, where tap by tap takes eight.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.channelwise.planes import (
    BlockedPlanes,
    PlaneTile,
    visit_planes,
)
from glow.backends.cpu.tiling.int8_tile import WORD
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue, operand_types, stored_type
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import outside_taps
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class Int8DepthwiseSpec:
    """A depthwise convolution; the planes are those of the input, of i8."""

    planes: BlockedPlanes
    zero_point: int = 0
    epilogue: Epilogue | None = None

    @property
    def takes_rows(self) -> bool:
        """Whether the taps of a kernel row are neighbours, and few enough for a word."""
        window = self.planes.window
        are_neighbours = window.kernel[1] <= WORD and window.dilations[1] == 1
        return are_neighbours and not self.planes.by_pixel

    @property
    def operations(self) -> int:
        """The additions and multiplications, those with padding included."""
        window = self.planes.window
        outputs = self.planes.batch * self.planes.channels * prod(window.output)
        return 2 * outputs * prod(window.kernel)


def build_int8_depthwise(name: str, spec: Int8DepthwiseSpec, target: Target) -> Kernel:
    """The kernel: output, input, weights, bias, epilogue operands."""
    planes, b = spec.planes, LoopBuilder(target)
    weights_shape = (planes.blocks, *planes.window.kernel, planes.lanes)
    sums = types.memref_type(planes.output_type.get_shape(), i32)
    channels = types.memref_type((planes.blocks, planes.lanes), i32)
    arguments = [
        stored_type(spec.epilogue, sums),
        planes.input_type,
        types.memref_type(weights_shape, i8),
        channels,
        *operand_types(spec.epilogue, sums, channels),
    ]

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        output, source, weights, bias, *epilogue_operands = buffers

        shape = (planes.window.kernel[0], planes.lanes, WORD)
        takes_rows = spec.takes_rows and target.byte_dot == "vnni"
        rows = b.alloca(types.memref_type(shape, i8)) if takes_rows else None

        def begin_chunk(block: Index) -> Callable[[PlaneTile], None]:
            filters = _Filters(b, planes, weights, block)
            if rows is not None:
                filters.store_rows(rows)

            def finish(tile: PlaneTile, total: SSAValue) -> None:
                tile.store(total, output, spec.epilogue, epilogue_operands)

            def by_taps(tile: PlaneTile) -> None:
                held = tile.is_interior and planes.unrolled
                (total,) = tile.taps(
                    source, [tile.channel(bias)], filters.multiply_add(tile, held)
                )
                if spec.zero_point:
                    total = filters.add_padding(tile, spec.zero_point, total)
                finish(tile, total)

            def tile(tile: PlaneTile) -> None:
                if rows is None or not tile.is_interior:
                    by_taps(tile)
                    return
                last, kept = planes.window.interior(0)[1] - 1, rows
                b.if_(
                    b.compare("slt", tile.tile.row, last),
                    lambda: finish(tile, filters.by_rows(tile, source, kept, bias)),
                    lambda: by_taps(tile),
                )

            return tile

        visit_planes(b, planes, low, high, begin_chunk)

    return Kernel(
        b.function(name, arguments, body), planes.work_items(target.core).size
    )


def _alternating(count: int) -> list[int]:
    """Takes the elements of two vectors in turns."""
    return [k // 2 + k % 2 * count for k in range(2 * count)]


TapBody = Callable[[Index, Index, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]


class _Filters:
    """The filter of a block, in registers where it is small."""

    def __init__(
        self, b: LoopBuilder, planes: BlockedPlanes, weights: SSAValue, block: Index
    ) -> None:
        self.b, self.planes, self.weights, self.block = b, planes, weights, block
        rows, columns = planes.window.kernel
        self.held = {
            (row, column): self.load(row, column)
            for row in range(rows if planes.unrolled else 0)
            for column in range(columns)
        }

    def store_rows(self, rows: SSAValue) -> None:
        """The filter as rows [lanes, 4] of each kernel row, zeros behind its columns."""
        b, planes = self.b, self.planes
        height, width = planes.window.kernel
        lanes = planes.lanes
        flat = b.reinterpret(rows, (height, lanes * WORD))
        nothing = b.constant(0, types.vector_type((lanes,), i8))
        for row in range(height):
            columns = [
                b.vector_load(lanes, self.weights, self.block, row, column, 0)
                for column in range(width)
            ]
            columns += [nothing] * (WORD - width)
            even, odd = (
                b.shuffle(columns[k], columns[k + 2], _alternating(lanes))
                for k in (0, 1)
            )
            b.vector_store(b.shuffle(even, odd, _alternating(2 * lanes)), flat, row, 0)

    def by_rows(
        self, tile: PlaneTile, source: SSAValue, rows: SSAValue, bias: SSAValue
    ) -> SSAValue:
        """The sums of an interior tile, one dot product for each kernel row."""
        b, planes, window = self.b, self.planes, self.planes.window
        lanes, (height, width) = planes.lanes, window.input
        # Four neighbours of each pixel: a view whose pixels overlap.
        shape = (planes.batch, planes.blocks, height, width, WORD, lanes)
        plane = height * width * lanes
        strides = (planes.blocks * plane, plane, width * lanes, lanes, lanes, 1)
        neighbours = b.reinterpret(source, shape, strides)
        total = tile.channel(bias)
        x = window.origin(b, 1, tile.tile.column)
        for row in range(window.kernel[0]):
            y = b.add(window.origin(b, 0, tile.tile.row), row * window.dilations[0])
            view = b.subview(
                neighbours,
                (tile.image, self.block, y, x, 0, 0),
                (1, 1, 1, tile.tile.pixels, WORD, lanes),
                (1, 1, 1, window.strides[1], 1, 1),
                drop=(0, 1, 2),
            )
            shape = (tile.tile.pixels, WORD, lanes)
            pixels = b.transfer_read(view, (0, 0, 0), shape, (0, 1, 2))
            weights = b.transfer_read(rows, (row, 0, 0), (lanes, WORD), (1, 2))
            total = b.contract_lanes(
                b.cast(arith.ExtUIOp, pixels, i32),
                b.cast(arith.ExtSIOp, weights, i32),
                total,
            )
        return total

    def load(self, row: Index, column: Index) -> SSAValue:
        """The weights [lanes] of a tap in 32 bits."""
        weight = self.b.vector_load(
            self.planes.lanes, self.weights, self.block, row, column, 0
        )
        return self.b.cast(arith.ExtSIOp, weight, i32)

    def multiply_add(self, tile: PlaneTile, held: bool) -> TapBody:
        """What a tap does to the sums."""
        b = self.b

        def tap(
            row: Index, column: Index, pixels: SSAValue, values: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            weight = self.load(row, column)
            if held and isinstance(row, int) and isinstance(column, int):
                weight = self.held[row, column]
            wide = b.cast(arith.ExtUIOp, pixels, i32)
            factor = b.broadcast(weight, tile.shape)
            product = b.binary_integer(arith.MuliOp, wide, factor)
            return [b.binary_integer(arith.AddiOp, values[0], product)]

        return tap

    def add_padding(
        self, tile: PlaneTile, zero_point: int, total: SSAValue
    ) -> SSAValue:
        """The sums and what the taps in the padding give, which is one for all pixels."""
        b = self.b
        nothing = b.constant(0, types.vector_type((self.planes.lanes,), i32))
        value = nothing
        kernel = self.planes.window.kernel
        for rows, columns in outside_taps(b, tile.tile, kernel):
            value = self._sum(rows, columns, value)
        if value is nothing:
            return total
        scaled = b.binary_integer(arith.MuliOp, value, b.like(zero_point, value))
        return b.binary_integer(arith.AddiOp, total, b.broadcast(scaled, tile.shape))

    def _sum(
        self, rows: tuple[Index, Index], columns: tuple[Index, Index], value: SSAValue
    ) -> SSAValue:
        """The value plus the weights of a rectangle of taps."""
        b = self.b

        def over_columns(row: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.carry(
                *columns,
                1,
                values,
                lambda column, values: [
                    b.binary_integer(arith.AddiOp, values[0], self.load(row, column))
                ],
            )

        return b.carry(*rows, 1, [value], over_columns)[0]
