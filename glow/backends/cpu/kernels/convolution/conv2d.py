"""Direct convolution on channel blocks.

Activations are [N, C / lanes, H, W, lanes]; lanes past the last channel hold anything and are
never read as meaning anything. A register tile is a run of pixels times a few blocks of output
channels; each step broadcasts one input channel of every pixel against the weights of that
channel. The same kernel reads plain [N, C, H, W] input as blocks of one channel
(`plain_input`), which is how a network's first layer avoids a reordering.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d_config import conv_tiling
from glow.backends.cpu.kernels.convolution.conv2d_order import ConvOrder, Position
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec, pack_channels
from glow.backends.cpu.kernels.convolution.weights import pack_conv_weights
from glow.backends.cpu.tiling.accumulation import PRODUCTS, Product
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import (
    Reader,
    apply_epilogue,
    operand_types,
    stored_type,
)
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import ColumnTaps, Tile
from glow.lowering.target.target import Target

__all__ = [
    "Carried",
    "Conv2dSpec",
    "Convolution",
    "build_conv2d",
    "conv_tiling",
    "pack_channels",
    "pack_conv_weights",
]


def build_conv2d(name: str, spec: Conv2dSpec, target: Target) -> Kernel:
    """The kernel of a blocked convolution: output, input, weights, [bias], epilogue operands."""
    return Convolution(spec, target).kernel(name)


Carried: TypeAlias = Sequence[SSAValue]

ColumnTap: TypeAlias = Callable[[Index, Tile, Carried], Carried]
"""Takes a kernel column and the tile of the pixels that have it inside."""


def tile_axis(tile: Tile) -> int:
    """The axis of a blocked tensor along which the pixels of a tile lie."""
    if tile.image is not None:
        return 0
    return 2 if tile.vertical else 3


@dataclass(frozen=True)
class Buffers:
    output: SSAValue
    input: SSAValue
    weights: Mapping[ChannelPart, SSAValue]
    bias: SSAValue | None
    epilogue_operands: Sequence[SSAValue]


class Convolution:
    """Builds one kernel; positions are (group, image, channel tile) and a tile of pixels."""

    def __init__(self, spec: Conv2dSpec, target: Target) -> None:
        if not spec.supported():
            raise ValueError("blocked convolution: groups must be whole blocks")
        self.spec = spec
        self.builder = LoopBuilder(target)
        self.tiling = conv_tiling(spec, target)
        self.window = self.tiling.window
        self.order = ConvOrder(spec, self.tiling)
        self.work_items = self.order.work_items
        self.channels_outermost = self.order.channels_outermost
        self.tiles_ahead = self.order.tiles_ahead
        # What passes by between two uses of a line pushes it out of the L2. A single tap is little
        # arithmetic to wait for pixels of the next block behind, and these lie in another plane,
        # where no stream of the hardware leads; nor for the stores of results.
        waits = self.channels_outermost or not target.prefers_small_loops
        single = spec.window.kernel == (1, 1)
        self.fetches_ahead = spec.touched_bytes > target.l2_bytes and waits and single
        self.turn: Index = 0

    def kernel(self, name: str) -> Kernel:
        spec = self.spec
        channels = types.memref_type(
            (spec.groups * spec.output_blocks, spec.lanes), spec.sums
        )
        weights = types.memref_type((spec.packed_weights,), spec.element)
        output = stored_type(spec.epilogue, spec.output_type)
        arguments = [output, spec.input_type, weights]
        if spec.has_bias:
            bias = (spec.bias_rows, spec.lanes)
            arguments.append(types.memref_type(bias, spec.sums))
        arguments += operand_types(spec.epilogue, spec.output_type, channels)
        arguments += self.table_types()
        function = self.builder.function(name, arguments, self.body)
        return Kernel(function, self.work_items)

    def table_types(self) -> Sequence[MemRefType]:
        """The types of buffers that come after all others."""
        return ()

    def body(self, arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
        """Computes the work items [low, high)."""
        output, source, weights, *rest = arguments
        bias = rest.pop(0) if self.spec.has_bias else None
        epilogue_operands = [self._on_plane(operand) for operand in rest]
        views = {part: self.weights_of(weights, part) for part in self.tiling.parts}
        self.buffers = Buffers(
            self._on_plane(output), self._input(source), views, bias, epilogue_operands
        )
        self.visit(low, high)

    def visit(self, low: Index, high: Index) -> None:
        """Visits the tiles of the work items [low, high)."""
        self.order.visit(self.builder, low, high, self._line)

    def _on_plane(self, buffer: SSAValue) -> SSAValue:
        """A blocked output or full extra with the plane that the tiles cover."""
        shape = types.shape_of(buffer)
        if len(shape) != 5:
            return buffer
        return self.builder.reinterpret(
            buffer, (*shape[:2], *self.window.output, shape[4])
        )

    def _input(self, buffer: SSAValue) -> SSAValue:
        channels = types.shape_of(buffer)[:2]
        return self.builder.reinterpret(
            buffer, (*channels, *self.window.input, self.spec.input_lanes)
        )

    def weights_of(self, buffer: SSAValue, part: ChannelPart) -> SSAValue:
        """The packed weights of a part as an array."""
        spec = self.spec
        taps = (spec.input_blocks, *spec.window.kernel)
        steps = prod(taps) * spec.input_lanes * spec.lanes
        pairs = spec.input_lanes // spec.step_lanes
        inside = () if spec.step_lanes == 1 else (spec.step_lanes,)
        shape = (
            spec.groups,
            part.tiles,
            *taps,
            pairs,
            part.blocks,
            spec.lanes,
            *inside,
        )
        return self.builder.reinterpret(
            buffer, shape, offset=spec.groups * part.first * steps
        )

    def _line(self, position: Position, line: Index) -> None:
        b, (group, image, channel_tile) = self.builder, position
        first = self.tiling.parts[0]

        def part(number: int) -> None:
            chosen = self.tiling.parts[number]
            within = b.sub(channel_tile, 0 if number == 0 else first.tiles)
            self._part_line(chosen, (group, image, within), line)

        if len(self.tiling.parts) == 1:
            part(0)
        else:
            is_full = b.compare("slt", channel_tile, first.tiles)
            b.if_(is_full, lambda: part(0), lambda: part(1))

    def _part_line(self, part: ChannelPart, position: Position, line: Index) -> None:
        plane = self.tiling.traversal(part)
        plane.visit(self.builder, line, lambda tile: self.tile(part, position, tile))

    def tile(self, part: ChannelPart, position: Position, tile: Tile) -> None:
        """The outputs of a tile of pixels and channels."""
        b, spec = self.builder, self.spec
        group, image, channel_tile = position
        if tile.image is not None:
            image = tile.image
            position = (group, image, channel_tile)
        shape = (tile.pixels, part.blocks, spec.lanes)
        block = b.add(b.mul(channel_tile, part.blocks), part.first)
        block = b.add(block, b.mul(group, spec.output_blocks))

        def channel(buffer: SSAValue) -> SSAValue:
            return b.transfer_read(buffer, (block, 0), shape[1:], (0, 1))

        if self.buffers.bias is None:
            accumulator = b.constant(0.0, types.vector_type(shape, spec.sums))
        else:
            row = self.bias_row(block, tile)
            bias = b.transfer_read(self.buffers.bias, (row, 0), shape[1:], (0, 1))
            accumulator = b.broadcast(bias, shape)
        axis, where = tile_axis(tile), [image, block, tile.row, tile.column, 0]
        if self.fetches_ahead:
            self._fetch_results(where, axis, shape)
        total = self.accumulate(part, position, tile, accumulator)
        for first, pixels in self.finished_together(tile.pixels, part.blocks):
            some = range(first, first + pixels)
            self._finish(
                b.shuffle(total, total, some) if pixels < tile.pixels else total,
                self._moved(where, axis, first),
                (axis, 1, 4),
                channel,
            )

    def _moved(self, where: Sequence[Index], axis: int, by: int) -> list[Index]:
        """The place so many elements further along an axis."""
        moved = list(where)
        moved[axis] = self.builder.add(moved[axis], by)
        return moved

    def _fetch_results(
        self, where: Sequence[Index], axis: int, shape: tuple[int, ...]
    ) -> None:
        """Asks for what a tile will write, and for what its epilogue reads there."""
        b, (pixels, blocks, _) = self.builder, shape
        buffers = (self.buffers.output, *self.buffers.epilogue_operands)
        full = [buffer for buffer in buffers if len(types.shape_of(buffer)) == 5]
        for buffer, pixel, block in product(full, range(pixels), range(blocks)):
            at = self._moved(self._moved(where, axis, pixel), 1, block)
            b.prefetch(buffer, *at, locality=3)

    def bias_row(self, block: Index, tile: Tile) -> Index:
        """Where the bias of a tile begins, whose first block of channels is given."""
        return block

    def finished_together(self, pixels: int, blocks: int) -> Sequence[tuple[int, int]]:
        """The runs (first, count) of a tile's pixels that the epilogue takes at once."""
        return [(0, pixels)]

    def _finish(
        self,
        total: SSAValue,
        where: Sequence[Index],
        axes: tuple[int, ...],
        channel: Reader,
    ) -> None:
        """Stores sums after the epilogue."""
        b, shape = self.builder, types.shape_of(total)
        result = apply_epilogue(
            b,
            self.spec.epilogue,
            total,
            self.buffers.epilogue_operands,
            full=lambda buffer: b.transfer_read(buffer, where, shape, axes),
            channel=lambda buffer: b.broadcast(channel(buffer), shape),
        )
        b.transfer_write(result, self.buffers.output, where, axes)

    def accumulate(
        self, part: ChannelPart, position: Position, tile: Tile, accumulator: SSAValue
    ) -> SSAValue:
        """The accumulator after all input channels and taps of a tile."""
        b, spec = self.builder, self.spec
        weights = self.buffers.weights[part]
        group, image, channel_tile = position
        full, rest = divmod(spec.group_inputs, spec.input_lanes)
        self.turn = self._turn(tile, part.blocks)

        def block(index: Index, lanes: int, values: Carried) -> Carried:
            input_block = b.add(b.mul(group, spec.input_blocks), index)
            if self.fetches_ahead:
                self._fetch_pixels(image, b.add(input_block, 1), tile)

            def tap(row: Index, column: Index, some: Tile, values: Carried) -> Carried:
                pixels = self.pixels(image, input_block, row, column, some)
                at = (group, channel_tile, index, row, column)
                return self._steps(pixels, weights, at, lanes, values)

            return b.carry(
                *tile.row_taps,
                1,
                values,
                lambda row, values: self._over_columns(tile, values, partial(tap, row)),
            )

        values: Carried = [accumulator]
        values = b.carry(0, full, 1, values, lambda i, v: block(i, spec.input_lanes, v))
        if rest:
            values = block(full, rest, values)
        return values[0]

    def _fetch_pixels(self, image: Index, block: Index, tile: Tile) -> None:
        """Asks for the pixels of a tile in an input block."""
        b, (height, width) = self.builder, self.window.strides
        y = self.window.origin(b, 0, tile.row)
        x = self.window.origin(b, 1, tile.column)
        for k in range(tile.pixels):
            down, across = (k * height, 0) if tile.vertical else (0, k * width)
            at = (image, block, b.add(y, down), b.add(x, across), 0)
            b.prefetch(self.buffers.input, *at, locality=3)

    def _over_columns(self, tile: Tile, values: Carried, tap: ColumnTap) -> Carried:
        """The accumulator after a row of taps."""
        for group in tile.column_groups:
            values = self._of_pixels(tile, group, values, tap)
        return values

    def _of_pixels(
        self, tile: Tile, group: ColumnTaps, values: Carried, tap: ColumnTap
    ) -> Carried:
        """The accumulator after taps that only some pixels have inside the image."""
        b, (columns, pixels) = self.builder, group
        some = tile.of(b, pixels)
        (total,) = values
        is_all = len(pixels) == tile.pixels
        (result,) = b.carry(
            *columns,
            1,
            values if is_all else [b.shuffle(total, total, pixels)],
            lambda column, values: tap(column, some, values),
        )
        if is_all:
            return [result]
        order = list(range(tile.pixels))
        order[pixels.start : pixels.stop] = (
            tile.pixels + k for k in range(len(pixels))
        )
        return [b.shuffle(total, result, order)]

    def _turn(self, tile: Tile, blocks: int) -> Index:
        """The block of the next channel tile's weights that a tile of the plane asks for."""
        b = self.builder
        if tile.vertical or not self.channels_outermost:
            return 0
        pixel = b.add(b.mul(tile.row, self.window.output[1]), tile.column)
        return b.remainder(b.floordiv(pixel, tile.pixels), blocks)

    def pixels(
        self, image: Index, block: Index, row: Index, column: Index, tile: Tile
    ) -> SSAValue:
        """The input pixels [pixels, input lanes] that a tile reads at one tap."""
        b, window = self.builder, self.window
        y = b.add(window.origin(b, 0, tile.row), b.mul(row, window.dilations[0]))
        x = b.add(window.origin(b, 1, tile.column), b.mul(column, window.dilations[1]))
        lanes = self.spec.input_lanes
        sizes = [1, 1, 1, 1, lanes]
        axis = tile_axis(tile)
        sizes[axis] = tile.pixels
        drop = [other for other in range(4) if other != axis]
        strides = (1, 1, *window.strides, 1)
        if tile.image is not None:
            strides = (1, 1, 1, 1, 1)
        return b.subview(
            self.buffers.input, (image, block, y, x, 0), sizes, strides, drop
        )

    @property
    def product(self) -> Product:
        """What a step does."""
        return PRODUCTS[self.spec.step_lanes]

    def _steps(
        self,
        pixels: SSAValue,
        weights: SSAValue,
        at: tuple[Index, ...],
        lanes: int,
        values: Carried,
    ) -> Carried:
        """One multiply-add of the whole tile per input lane.

        Big weights come from the L3 or DRAM: each step asks for those of the next channel tile too,
        the tiles of the plane in turn for its blocks.
        """
        b, group = self.builder, self.spec.step_lanes
        ahead = self.tiles_ahead if self.spec.FETCHES_AT_STEPS else 0
        following = (at[0], b.add(at[1], ahead), *at[2:]) if ahead else at
        shape = types.shape_of(values[0])
        panel = shape[1:] if group == 1 else (*shape[1:], group)
        axes, inside = range(6, 6 + len(panel)), (0,) * len(panel)

        def pixel(k: Index) -> SSAValue:
            if group == 1:
                return b.transfer_read(pixels, (0, k), shape, (0, None, None))
            lane = b.mul(k, group)
            return b.transfer_read(pixels, (0, lane), (shape[0], group), (0, 1))

        def step(k: Index, values: Carried) -> Carried:
            if ahead:
                where = (*following, k, self.turn, *inside[1:])
                b.prefetch(weights, *where, locality=3)
            weight = b.transfer_read(weights, (*at, k, *inside), panel, tuple(axes))
            return [self.product(b, pixel(k), weight, values[0])]

        return b.carry(0, -(-lanes // group), 1, values, step)
