"""Direct convolution of unsigned bytes with signed ones, on channel blocks.

The kernel of `conv2d.py` with four input channels a step. Padding is a number, the zero point
of the input, which need not be zero: tiles at a border add what their taps outside of the image
would give, once for all pixels of the tile. A first layer reads blocks of four channels.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d import (
    Carried,
    Convolution,
    few_registers,
)
from glow.backends.cpu.kernels.convolution.conv2d_order import Position
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.tiling.accumulation import Product
from glow.backends.cpu.tiling.int8_tile import SIGN, int8_dot
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.border import BorderClasses
from glow.lowering.loop_builder.builder import Index
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Range, Tile, outside_taps
from glow.lowering.target.target import Target


def build_int8_conv2d(name: str, spec: Int8Conv2dSpec, target: Target) -> Kernel:
    """The kernel: output, input, weights, bias, epilogue operands."""
    return Int8Convolution(spec, target).kernel(name)


class Int8Convolution(Convolution):
    """Builds one kernel.

    Where weights come from the L3 or DRAM, each line of a plane fetches its share of those of the
    next channels, while it computes with these.
    """

    def __init__(self, spec: Int8Conv2dSpec, target: Target) -> None:
        self.bytes = spec
        super().__init__(spec, target)
        self.line: Index = 0

    @property
    def product(self) -> Product:
        """What a step does."""
        return int8_dot(self.bytes.signed_input, self.bytes.wide_input)

    def bias_row(self, block: Index, tile: Tile) -> Index:
        """That of the tile's place, where borders have a bias of their own."""
        if self.bytes.borders == 1:
            return block
        b, outputs = self.builder, self.spec.groups * self.spec.output_blocks
        place = BorderClasses(self.window).of(b, tile.row, tile.column)
        return b.add(b.mul(place, outputs), block)

    def body(self, arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
        """Computes the work items [low, high)."""
        self.packed = arguments[2]
        super().body(arguments, low, high)

    def _line(self, position: Position, line: Index) -> None:
        self.line = line
        super()._line(position, line)

    def _steps(
        self,
        pixels: SSAValue,
        weights: SSAValue,
        at: tuple[Index, ...],
        lanes: int,
        values: Carried,
        unrolled: bool = False,
    ) -> Carried:
        if self.tiles_ahead:
            self._fetch(at, types.shape_of(values[0])[1])
        return super()._steps(pixels, weights, at, lanes, values, unrolled)

    def _fetch(self, at: tuple[Index, ...], blocks: int) -> None:
        """Asks for this line's share, at one tap of an input block, of the next weights."""
        b, spec = self.builder, self.bytes
        group, channel_tile, *tap = at
        lines = self.tiling.lines
        register = spec.lanes * spec.step
        registers = spec.block_lanes // spec.step * blocks
        count = -(-registers // lines)
        panels = b.add(b.mul(group, self.tiling.parts[0].tiles), channel_tile)
        taps = (spec.input_blocks, *spec.window.kernel)
        place: Index = b.add(panels, self.tiles_ahead)
        for extent, position in zip(taps, tap, strict=True):
            place = b.add(b.mul(place, extent), position)
        share = b.mul(self.line, count * register)
        start = b.add(b.mul(place, registers * register), share)
        for number in range(count):
            b.prefetch(self.packed, b.add(start, number * register), locality=2)

    def finished_together(self, pixels: int, blocks: int) -> int:
        """Few of a tile's pixels: each sum is rescaled, rounded and narrowed."""
        return few_registers(pixels, blocks)

    def accumulate(
        self,
        part: ChannelPart,
        position: tuple[Index, Index, Index],
        tile: Tile,
        accumulator: SSAValue,
    ) -> SSAValue:
        """The accumulator after all taps, those in the padding included."""
        b = self.builder
        total = super().accumulate(part, position, tile, accumulator)
        spec = self.bytes
        if spec.borders > 1 or spec.zero_point == (SIGN if spec.signed_input else 0):
            return total
        for rows, columns in outside_taps(b, tile, self.window.kernel):
            shape = types.shape_of(total)
            nothing = b.constant(0, types.vector_type((1, *shape[1:]), i32))
            sums = self._padding(part, position, rows, columns, nothing)
            if sums is not nothing:
                padding = b.broadcast(b.extract(sums, 0), shape)
                total = b.binary_integer(arith.AddiOp, total, padding)
        return total

    def _padding(
        self,
        part: ChannelPart,
        position: tuple[Index, Index, Index],
        rows: Range,
        columns: Range,
        nothing: SSAValue,
    ) -> SSAValue:
        """What a rectangle of taps adds to each pixel [1, blocks, lanes]."""
        b, spec = self.builder, self.bytes
        group, _, channel_tile = position
        weights = self.buffers.weights[part]
        shape = (*types.shape_of(nothing)[1:], spec.step)
        type_ = types.vector_type((1, spec.step), i16 if spec.wide_input else i8)
        byte = spec.zero_point if spec.wide_input else _signed(spec.zero_point)
        pixel = b.constant(byte, type_)
        product = self.product

        def word(at: tuple[Index, ...], values: Carried) -> Carried:
            where = (group, channel_tile, *at, 0, 0, 0)
            weight = b.transfer_read(weights, where, shape, (6, 7, 8))
            return [product(b, pixel, weight, values[0])]

        def tap(row: Index, column: Index, values: Carried) -> Carried:
            count = spec.block_lanes // spec.step
            return b.carry(
                0,
                spec.input_blocks * count,
                1,
                values,
                lambda k, values: word(
                    (b.floordiv(k, count), row, column, b.remainder(k, count)), values
                ),
            )

        def over_columns(row: Index, values: Carried) -> Carried:
            return b.carry(
                *columns, 1, values, lambda column, values: tap(row, column, values)
            )

        return b.carry(*rows, 1, [nothing], over_columns)[0]


def _signed(byte: int) -> int:
    """The byte as the number that an i8 constant is written with."""
    return byte - 256 if byte > 127 else byte
