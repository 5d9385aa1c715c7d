"""Direct sums for the tiles of a Winograd convolution that could not keep their digits.

All outputs of a tile come from sums of its whole patch, so that an output loses the digits by
which its own window is smaller than the patch. Where the sizes of pixels (`pixel_sizes.py`) differ
too much, or hold an infinity or NaN, or are so large or small that the sums might be, the outputs
of the tile are computed anew: an infinity reaches the windows that hold it, and no other. The
transformed weights are enough for that: each tap is a combination of four of them, or a few more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.patches import StackPatch, load_patch
from glow.backends.cpu.kernels.winograd.phases import (
    EpilogueBuffers,
    largest_of_squares,
    part_weights,
    store_pixels,
)
from glow.backends.cpu.kernels.winograd.recovery import recovered_taps, used_positions
from glow.backends.cpu.kernels.winograd.spec import SMALLEST_SIZE, WinogradSpec
from glow.backends.cpu.kernels.winograd.tiles import Origin, Tile, visit_row
from glow.backends.cpu.kernels.winograd.tiling import choose_winograd_tiling
from glow.backends.cpu.kernels.winograd.weights import tap_transforms
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import operand_types, stored_type
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.magnitudes import EXPONENT_BITS, INFINITY, MAGNITUDE
from glow.lowering.loop_builder.work_items import WorkItems
from glow.lowering.target.target import Target

Values: TypeAlias = Sequence[SSAValue]

MOST_UNEVEN = {True: 6, False: 9}
"""The powers of two by which a patch may exceed each of its windows, for accurate patches and for
others. A window loses 8e-7, or 4e-6, of its size for each time that the patch is as large."""


def most_uneven(spec: WinogradSpec) -> int:
    """The power of two by which a patch may be larger than a window in it."""
    return MOST_UNEVEN[spec.is_accurate]


@dataclass(frozen=True)
class WinogradDirectSpec:
    """The tiles of a convolution that need direct sums, so that it has no operations of its own."""

    convolution: WinogradSpec


def build_winograd_direct(
    direct: WinogradDirectSpec, target: Target, name: str = "winograd_direct"
) -> Kernel:
    """The kernel f(output, sizes of pixels, image, weights, bias, epilogue operands..., lo, hi).

    Writes the tiles that need it, and leaves the others. Work items are tile rows.
    """
    builder, spec = LoopBuilder(target), direct.convolution
    space = WorkItems((), spec.tile_rows, 0)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        tiles = _DirectTiles(builder, spec, buffers)
        space.visit(builder, low, high, lambda _, row: tiles.row(row))

    output, channel = spec.output_type, spec.channel_type
    buffers = [
        stored_type(spec.epilogue, output),
        types.memref_type((spec.batch, *spec.plane), i32),
        spec.input_type,
        types.memref_type((spec.packed_weights,), spec.element),
        *[channel] * spec.has_bias,
        *operand_types(spec.epilogue, output, channel),
    ]
    return Kernel(builder.function(name, buffers, body), space.size)


class _DirectTiles:
    """Finds and computes the tiles."""

    def __init__(
        self, b: LoopBuilder, spec: WinogradSpec, buffers: Sequence[SSAValue]
    ) -> None:
        output, self.sizes, self.source, weights, *rest = buffers
        self.builder, self.spec = b, spec
        self.tiling = choose_winograd_tiling(spec, b.target)
        self.weights = [
            part_weights(b, self.tiling, weights, p) for p in self.tiling.parts
        ]
        bias = rest.pop(0) if spec.has_bias else None
        self.stores = EpilogueBuffers(output, bias, rest)
        self.patch = StackPatch(b, spec)
        taps = (*spec.kernel_plane, spec.lanes)
        self.taps = b.alloca(types.memref_type(taps, spec.element))
        self.sums = b.alloca(
            types.memref_type((*spec.tile_plane, spec.lanes), spec.element)
        )

    def row(self, row: Index) -> None:
        """The tiles of a row of all images: none, where all pixels of it are of a size."""
        config = replace(self.tiling.config, block_rows=1, segments=1)
        whole = replace(self.tiling, config=config)
        self.builder.if_(
            self._needs_direct_sums(self._sizes_of_row(row)),
            lambda: visit_row(self.builder, whole, Origin(row, 0), 0, self._tile),
        )

    def _tile(self, tile: Tile) -> None:
        sizes = self._sizes_of_windows(tile)
        self.builder.if_(self._needs_direct_sums(sizes), lambda: self._compute(tile))

    # ---- which tiles

    def _needs_direct_sums(self, sizes: tuple[SSAValue, SSAValue]) -> SSAValue:
        """Whether the largest size exceeds the smallest, or all bounds."""
        b = self.builder
        largest, smallest = sizes
        margin = most_uneven(self.spec) << EXPONENT_BITS
        difference = b.binary_integer(arith.SubiOp, largest, smallest)
        one = b.constant(1, i32)
        # A patch of zeros has no size: less one, it is the largest unsigned number.
        below = b.binary_integer(arith.SubiOp, largest, one)
        tests = (
            b.cmpi("sgt", difference, b.constant(margin, i32)),
            b.cmpi("sge", largest, b.constant(INFINITY, i32)),
            b.cmpi("ult", below, b.constant(SMALLEST_SIZE - 1, i32)),
        )
        return reduce(lambda x, y: b.binary_integer(arith.OrIOp, x, y), tests)

    def _sizes_of_row(self, row: Index) -> tuple[SSAValue, SSAValue]:
        """The largest pixel that a row of tiles reads, and a size that each window reaches."""
        b, spec = self.builder, self.spec
        height, width = spec.plane
        image, down = b.unflatten(row, (spec.batch, spec.tiles_down))
        rows = min(spec.patch_plane[0], height)
        first = b.sub(b.mul(down, spec.tile_plane[0]), spec.pads[0])
        start = b.clamp(first, 0, height - rows)
        pixels = b.reinterpret(self.sizes, (spec.batch, height * width))
        whole = self._range_of_sizes(pixels, image, b.mul(start, width), rows * width)
        if not self._has_inner_pixels():
            return whole
        low, high = b.maximum(start, 1), b.minimum(b.add(start, rows), height - 1)
        return whole[0], self._smallest_inner(image, low, high)

    def _range_of_sizes(
        self, pixels: SSAValue, image: Index, start: Index, count: int
    ) -> tuple[SSAValue, SSAValue]:
        """The largest and the smallest of neighbouring pixels."""
        b, length = self.builder, min(count, self.spec.lanes)
        kind = types.vector_type((length,), i32)

        def step(position: Index, carried: Values) -> Values:
            at = b.add(start, b.minimum(position, count - length))
            sizes = b.vector_load(length, pixels, image, at)
            return [_larger(b, carried[0], sizes), _smaller(b, carried[1], sizes)]

        none = [b.constant(size, kind) for size in (0, MAGNITUDE)]
        found = b.carry(0, count, length, none, step)
        return b.reduction("maxsi", found[0]), b.reduction("minsi", found[1])

    def _has_inner_pixels(self) -> bool:
        """Whether each window has a pixel that is not on the border of an image without padding.

        Then pixels on the border need not count for the smallest size: often they are zeros that
        take the place of padding, and would send each row of tiles to the slow test of windows.
        """
        spec = self.spec
        reach = min(spec.kernel_plane) - spec.has_zero_taps
        return not any(spec.pads) and reach >= 2 and min(spec.plane) >= 3

    def _smallest_inner(self, image: Index, low: Index, high: Index) -> SSAValue:
        """The smallest pixel of rows, less their first and last one."""
        b, count = self.builder, self.spec.plane[1] - 2
        length = min(count, self.spec.lanes)

        def row(y: Index, carried: Values) -> Values:
            def step(position: Index, found: Values) -> Values:
                x = b.add(b.minimum(position, count - length), 1)
                return [
                    _smaller(
                        b, found[0], b.vector_load(length, self.sizes, image, y, x)
                    )
                ]

            return b.carry(0, count, length, carried, step)

        every = b.constant(MAGNITUDE, types.vector_type((length,), i32))
        return b.reduction("minsi", b.carry(low, high, 1, [every], row)[0])

    def _sizes_of_windows(self, tile: Tile) -> tuple[SSAValue, SSAValue]:
        """The size of the patch, and that of its smallest window.

        A row or column of taps that are zeros for some channels is not counted as a window's.
        These are small loops rather than fast ones: most rows of tiles do not come here.
        """
        b, spec = self.builder, self.spec
        taps = spec.kernel_plane

        def output(down: Index, across: Index, carried: Values) -> Values:
            largest, smallest = carried

            def pixel(y: Index, x: Index, found: Values) -> Values:
                size = self._size(tile, b.add(down, y), b.add(across, x))
                whole, window = (_larger(b, value, size) for value in found)
                if spec.has_zero_taps:
                    last = b.index(spec.kernel - 1)
                    for k in (y, x):
                        inside = b.cmpi("slt", b.index(k), last)
                        window = b.select(inside, window, found[1])
                return [whole, window]

            zero = b.constant(0, i32)
            whole, window = self._square(taps, [zero, zero], pixel)
            return [_larger(b, largest, whole), _smaller(b, smallest, window)]

        start = [b.constant(0, i32), b.constant(MAGNITUDE, i32)]
        largest, smallest = self._square(spec.tile_plane, start, output)
        return largest, smallest

    def _square(
        self,
        extents: tuple[int, int],
        carried: Values,
        body: Callable[[Index, Index, Values], Values],
    ) -> Values:
        """What a body carries through the positions of a square, in loops."""
        b, (rows, columns) = self.builder, extents
        return b.carry(
            0,
            rows,
            1,
            carried,
            lambda y, outer: b.carry(
                0, columns, 1, outer, lambda x, inner: body(y, x, inner)
            ),
        )

    def _size(self, tile: Tile, row: Index, column: Index) -> SSAValue:
        """The size of a pixel of a patch; in the padding that of the nearest pixel, which is in
        all windows of which the padding is a part.
        """
        b, spec = self.builder, self.spec
        (height, width), (top, left, *_) = spec.plane, spec.pads
        y = b.clamp(b.sub(b.add(tile.row, row), top), 0, height - 1)
        x = b.clamp(b.sub(b.add(tile.column, column), left), 0, width - 1)
        return b.load(self.sizes, tile.image, y, x)

    # ---- their outputs

    def _compute(self, tile: Tile) -> None:
        """The outputs of a tile, one block of channels after the other."""
        b = self.builder
        for number, part in enumerate(self.tiling.parts):
            b.space(
                0,
                part.tiles * part.blocks,
                (part.tiles, part.blocks),
                lambda at, number=number, part=part: self._block(
                    tile, number, part, at[0], at[1]
                ),
            )

    def _block(
        self, tile: Tile, number: int, part: ChannelPart, within: Index, place: Index
    ) -> None:
        """The outputs of the block at a place in a channel tile of a part."""
        b, spec = self.builder, self.spec
        _, group = b.unflatten(tile.image, spec.images)
        self._clear()

        def channels(block: Index, count: int) -> None:
            load_patch(b, spec, self.source, block, tile, self.patch)

            def channel(lane: Index) -> None:
                number_of_channel = b.add(b.mul(block, spec.lanes), lane)
                self._recover_taps(
                    number,
                    lambda position: (
                        group,
                        *self.tiling.panel(position, within),
                        number_of_channel,
                        place,
                        0,
                    ),
                )
                b.loop(0, spec.tile_plane[0], 1, lambda row: self._add_row(row, lane))

            b.loop(0, count, 1, channel)

        full, rest = divmod(spec.in_channels, spec.lanes)
        b.loop(0, full, 1, lambda block: channels(block, spec.lanes))
        if rest:
            channels(full, rest)
        channel_tile = b.add(b.mul(within, part.blocks), part.first)
        self._store(tile, b.add(channel_tile, place))

    def _clear(self) -> None:
        b, spec = self.builder, self.spec
        zero = b.constant(0.0, types.vector_type((spec.lanes,), spec.element))

        def row(index: Index) -> None:
            for column in range(spec.tile_plane[1]):
                b.vector_store(zero, self.sums, index, column, 0)

        b.loop(0, spec.tile_plane[0], 1, row)

    def _recover_taps(
        self, number: int, where: Callable[[int], tuple[Index, ...]]
    ) -> None:
        """Puts the taps of an input channel on the stack, for a block of outputs."""
        b, spec, n = self.builder, self.spec, self.spec.patch_plane[1]
        of_column, of_row = tap_transforms(spec)

        def weight(row: int, column: int) -> SSAValue:
            at = where(row * n + column)
            return b.vector_load(spec.lanes, self.weights[number], *at)

        def down(column: int) -> list[SSAValue]:
            return recovered_taps(b, of_column, lambda row: weight(row, column))

        halves = {column: down(column) for column in used_positions(of_row)}

        def across(row: int) -> list[SSAValue]:
            return recovered_taps(b, of_row, lambda column: halves[column][row])

        for row in range(spec.kernel_plane[0]):
            for column, tap in enumerate(across(row)):
                b.vector_store(tap, self.taps, row, column, 0)

    def _add_row(self, row: Index, lane: Index) -> None:
        """Adds what a channel gives to a row of outputs."""
        b, spec = self.builder, self.spec
        size, lanes = spec.tile_plane[1], spec.lanes
        height, width = spec.kernel_plane
        sums = [
            b.vector_load(lanes, self.sums, row, column, 0) for column in range(size)
        ]

        def taps(down: Index, carried: Values) -> Values:
            for across in range(width):
                tap = b.vector_load(lanes, self.taps, down, across, 0)
                carried = [
                    self._add(total, tap, (b.add(row, down), column + across, lane))
                    for column, total in enumerate(carried)
                ]
            return carried

        for column, total in enumerate(b.carry(0, height, 1, sums, taps)):
            b.vector_store(total, self.sums, row, column, 0)

    def _add(
        self, total: SSAValue, tap: SSAValue, where: tuple[Index, ...]
    ) -> SSAValue:
        """Adds a tap's product with a number of the patch; taps of zero may count as none."""
        b, zero = self.builder, self.builder.like(0.0, tap)
        x = b.broadcast(b.load(self.patch.buffer, *where), (self.spec.lanes,))
        if self.spec.has_zero_taps:
            x = b.select(b.cmpf("oeq", tap, zero), zero, x)
        return b.fma(x, tap, total)

    def _store(self, tile: Tile, block: Index) -> None:
        """Stores the outputs that are this tile's own."""
        b, spec = self.builder, self.spec
        y, x, first = (
            b.floordiv(position, spec.pool)
            for position in (tile.row, tile.column, tile.shared_rows)
        )

        def row(index: Index) -> None:
            top = b.mul(index, spec.pool)
            rows = [
                [
                    b.vector_load(spec.lanes, self.sums, b.add(top, k), column, 0)
                    for column in range(spec.tile_plane[1])
                ]
                for k in range(spec.pool)
            ]
            pixels = largest_of_squares(b, spec, rows)
            where = (tile.image, block, b.add(y, index), x, 0)
            store_pixels(b, spec, self.stores, pixels, where)

        b.loop(first, spec.tile_plane[0] // spec.pool, 1, row)


def _larger(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.binary_integer(arith.MaxSIOp, x, y)


def _smaller(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.binary_integer(arith.MinSIOp, x, y)
