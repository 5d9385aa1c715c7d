"""The sums of a tile of a direct convolution: over blocks of input channels, taps and channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d_config import conv_tiling
from glow.backends.cpu.kernels.convolution.conv2d_order import ConvOrder, Position
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.tiling.accumulation import PRODUCTS, Product
from glow.backends.cpu.tiling.tiles import ChannelPart, has_small_tiles
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import ColumnTaps, Tile
from glow.lowering.target.target import Target

FEW_TILES = 4
"""Of a row: in longer ones the first and the last are seldom."""

LEAST_PART = 1 / 4
"""Of the channels, for a part whose steps are worth the code."""

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


class ConvSums:
    """What sums of tiles are made of; positions are (group, image, channel tile)."""

    buffers: Buffers

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
        is_far = spec.touched_bytes > target.l2_bytes
        self.fetches_ahead = is_far and waits and single
        # Rows of a column of taps lie apart in memory: each tap asks for what the next tile reads
        # there.
        self.fetches_columns = is_far and spec.window.kernel[1] == 1 and not single
        self.turn: Index = 0

    def accumulate(
        self, part: ChannelPart, position: Position, tile: Tile, accumulator: SSAValue
    ) -> SSAValue:
        """The accumulator after all input channels and taps of a tile."""
        return self.accumulate_blocks(part, position, tile, accumulator)

    def accumulate_blocks(
        self,
        part: ChannelPart,
        position: Position,
        tile: Tile,
        accumulator: SSAValue,
        blocks: tuple[Index, Index] | None = None,
    ) -> SSAValue:
        """The accumulator after the taps of some blocks of input channels, or of all channels."""
        b, spec = self.builder, self.spec
        weights = self.buffers.weights[part]
        group, image, channel_tile = position
        full, rest = divmod(spec.group_inputs, spec.input_lanes)
        self.turn = self._turn(tile, part.blocks)
        unrolls = self._unrolls(part, tile)

        def block(index: Index, lanes: int, values: Carried) -> Carried:
            input_block = b.add(b.mul(group, spec.input_blocks), index)
            if self.fetches_ahead:
                self._fetch_pixels(image, b.add(input_block, 1), 0, tile.column, tile)

            def tap(row: Index, column: Index, some: Tile, values: Carried) -> Carried:
                if self.fetches_columns and tile_axis(tile) == 3:
                    following = b.add(tile.column, tile.pixels)
                    self._fetch_pixels(image, input_block, row, following, tile)
                pixels = self.pixels(image, input_block, row, column, some)
                at = (group, channel_tile, index, row, column)
                unrolled = unrolls and some.pixels == tile.pixels
                return self._steps(pixels, weights, at, lanes, values, unrolled)

            return b.carry(
                *tile.row_taps,
                1,
                values,
                lambda row, values: self._over_columns(tile, values, partial(tap, row)),
            )

        values: Carried = [accumulator]
        first, last = blocks or (0, full)
        whole = partial(block, lanes=spec.input_lanes)
        values = b.carry(first, last, 1, values, lambda i, v: whole(i, values=v))
        if rest and blocks is None:
            values = block(full, rest, values)
        return values[0]

    def _fetch_pixels(
        self, image: Index, block: Index, row: Index, first: Index, tile: Tile
    ) -> None:
        """Asks for what as many pixels as a tile has, from a column on, read at a row of taps."""
        b, window, (height, width) = self.builder, self.window, self.window.strides
        y = b.add(window.origin(b, 0, tile.row), b.mul(row, window.dilations[0]))
        x = window.origin(b, 1, first)
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
        unrolled: bool = False,
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

        steps = -(-lanes // group)
        return b.carry(0, steps, 1, values, step, together=steps if unrolled else 1)

    def _unrolls(self, part: ChannelPart, tile: Tile) -> bool:
        """Whether steps follow each other without a loop, in tiles that most of the time goes to.

        With sixteen registers a step has few multiply-adds, and the loop around it is a sixth of
        the instructions, for which a thread has half a core where another one shares it. Tiles of
        one block use a pixel once: LLVM adds to the pixel's register then, and runs out of them.
        """
        tiles = self.window.output[1] / tile.pixels
        share = part.tiles * part.blocks / self.spec.output_blocks
        seldom = (tile.border and tiles > FEW_TILES) or share < LEAST_PART
        small = has_small_tiles(self.spec.element, self.builder.target)
        return small and part.blocks > 1 and not seldom
