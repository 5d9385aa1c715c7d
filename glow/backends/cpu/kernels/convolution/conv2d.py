"""Direct convolution on channel blocks.

Activations are [N, C / lanes, H, W, lanes]; lanes past the last channel hold anything and are
never read as meaning anything. A register tile is a run of pixels times a few blocks of output
channels; each step broadcasts one input channel of every pixel against the weights of that
channel. The same kernel reads plain [N, C, H, W] input as blocks of one channel
(`plain_input`), which is how a network's first layer avoids a reordering.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d_config import conv_tiling
from glow.backends.cpu.kernels.convolution.conv2d_order import Position
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec, pack_channels
from glow.backends.cpu.kernels.convolution.conv2d_sums import (
    Buffers,
    Carried,
    ConvSums,
    tile_axis,
)
from glow.backends.cpu.kernels.convolution.partial_sums import PartialSums
from glow.backends.cpu.kernels.convolution.weights import pack_conv_weights
from glow.backends.cpu.tiling.row_tiles import RowTraversal
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index
from glow.lowering.loop_builder.epilogue import (
    Reader,
    apply_epilogue,
    operand_types,
    stored_type,
)
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Tile
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


FINISHED_REGISTERS = 4
"""The registers of sums that a long epilogue takes at once: each takes two or three more."""


def few_registers(pixels: int, blocks: int) -> int:
    """The pixels of a tile that a long epilogue takes at once."""
    return min(pixels, max(1, FINISHED_REGISTERS // blocks))


def build_conv2d(name: str, spec: Conv2dSpec, target: Target) -> Kernel:
    """The kernel of a blocked convolution: output, input, weights, [bias], epilogue operands."""
    return Convolution(spec, target).kernel(name)


class Convolution(ConvSums):
    """Builds one kernel; positions are (group, image, channel tile) and a tile of pixels."""

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
        self.partial_sums = self._sums_of_lines()
        self.visit(low, high)

    def _sums_of_lines(self) -> Mapping[ChannelPart, PartialSums]:
        """Where the sums of a line wait for other chunks of input channels, if they do."""
        if not self.tiling.config.chunk:
            return {}
        lines = {part: self.tiling.traversal(part) for part in self.tiling.parts}
        return {
            part: PartialSums.of(self.builder, line, part, self.spec)
            for part, line in lines.items()
            if isinstance(line, RowTraversal)
        }

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
        plane, b = self.tiling.traversal(part), self.builder
        if part not in self.partial_sums:
            plane.visit(b, line, lambda tile: self.tile(part, position, tile))
            return
        chunk, blocks = self.tiling.config.chunk, self.spec.input_blocks
        sums, each_pixel = self.partial_sums[part].of_line(line)

        def start(pixel: Tile) -> None:
            sums.write(pixel, self._initial(part, position, pixel))

        def add(first: Index, tile: Tile) -> None:
            some = first, b.minimum(b.add(first, chunk), blocks)
            total = self.accumulate_blocks(part, position, tile, sums.read(tile), some)
            sums.write(tile, total)

        def finish(pixel: Tile) -> None:
            self._finish_sums(part, position, pixel, sums.read(pixel))

        each_pixel(start)
        b.loop(
            0, blocks, chunk, lambda first: plane.visit(b, line, partial(add, first))
        )
        each_pixel(finish)

    def tile(self, part: ChannelPart, position: Position, tile: Tile) -> None:
        """The outputs of a tile of pixels and channels."""
        if tile.image is not None:
            position = (position[0], tile.image, position[2])
        if self.fetches_ahead:
            self._fetch_results(part, position, tile)
        initial = self._initial(part, position, tile)
        total = self.accumulate(part, position, tile, initial)
        self._finish_sums(part, position, tile, total)

    def _block(self, part: ChannelPart, position: Position) -> Index:
        """The first block of output channels of a tile."""
        b, (group, _, channel_tile) = self.builder, position
        block = b.add(b.mul(channel_tile, part.blocks), part.first)
        return b.add(block, b.mul(group, self.spec.output_blocks))

    def _initial(self, part: ChannelPart, position: Position, tile: Tile) -> SSAValue:
        """The bias of a tile's channels, or zeros: what sums begin with."""
        b, spec = self.builder, self.spec
        shape = (tile.pixels, part.blocks, spec.lanes)
        if self.buffers.bias is None:
            return b.constant(0.0, types.vector_type(shape, spec.sums))
        row = self.bias_row(self._block(part, position), tile)
        bias = b.transfer_read(self.buffers.bias, (row, 0), shape[1:], (0, 1))
        return b.broadcast(bias, shape)

    def _finish_sums(
        self, part: ChannelPart, position: Position, tile: Tile, total: SSAValue
    ) -> None:
        """Stores the sums of a tile after the epilogue."""
        b, shape = self.builder, types.shape_of(total)
        block = self._block(part, position)
        axis, where = tile_axis(tile), [position[1], block, tile.row, tile.column, 0]

        def channel(buffer: SSAValue) -> SSAValue:
            return b.transfer_read(buffer, (block, 0), shape[1:], (0, 1))

        def finish(sums: SSAValue, first: Index) -> None:
            self._finish(sums, self._moved(where, axis, first), (axis, 1, 4), channel)

        together = self.finished_together(tile.pixels, part.blocks)
        if together == tile.pixels:
            finish(total, 0)
            return
        scratch = b.alloca(types.memref_type(shape, self.spec.sums))
        b.transfer_write(total, scratch, (0, 0, 0), (0, 1, 2))
        some = (together, *shape[1:])

        def pixels(first: Index) -> None:
            finish(b.transfer_read(scratch, (first, 0, 0), some, (0, 1, 2)), first)

        b.tiles(0, tile.pixels, together, pixels)

    def _moved(self, where: Sequence[Index], axis: int, by: Index) -> list[Index]:
        """The place so many elements further along an axis."""
        moved = list(where)
        moved[axis] = self.builder.add(moved[axis], by)
        return moved

    def _fetch_results(self, part: ChannelPart, position: Position, tile: Tile) -> None:
        """Asks for what a tile will write, and for what its epilogue reads there."""
        b, axis, at = self.builder, tile_axis(tile), self._block(part, position)
        where = [position[1], at, tile.row, tile.column, 0]
        pixels, blocks = tile.pixels, part.blocks
        buffers = (self.buffers.output, *self.buffers.epilogue_operands)
        full = [buffer for buffer in buffers if len(types.shape_of(buffer)) == 5]
        for buffer, pixel, block in product(full, range(pixels), range(blocks)):
            at = self._moved(self._moved(where, axis, pixel), 1, block)
            b.prefetch(buffer, *at, locality=3)

    def bias_row(self, block: Index, tile: Tile) -> Index:
        """Where the bias of a tile begins, whose first block of channels is given."""
        return block

    def finished_together(self, pixels: int, blocks: int) -> int:
        """How many of a tile's pixels the epilogue takes at once: few where it is long.

        Its values for all of them would not fit into the registers, and make a lot of code.
        """
        epilogue = self.spec.epilogue
        if epilogue is None or not epilogue.is_long:
            return pixels
        return few_registers(pixels, blocks)

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
