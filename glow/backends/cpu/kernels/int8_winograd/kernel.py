"""The kernel of a Winograd convolution of bytes; `spec.py` has the method.

Two pixels of a block of channels fill a register of 16-bit words, in which the transforms
compute: down two columns of a patch at a time, then along two of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

from xdsl.dialects.builtin import MemRefType, i16, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.int8_winograd.spec import (
    PAIR,
    Int8WinogradSpec,
    buffers_of,
    int8_winograd_tiling,
    regions_of,
)
from glow.backends.cpu.kernels.int8_winograd.transform import (
    OUTPUTS,
    PATCHES,
    Integers,
)
from glow.backends.cpu.kernels.winograd.phases import EpilogueBuffers, store_pixels
from glow.backends.cpu.kernels.winograd.tiles import (
    Origin,
    PatchAxis,
    Scratch,
    Tile,
    block_origin,
    chosen,
    group_of,
    visit_row,
)
from glow.backends.cpu.kernels.winograd.tiling import WinogradTiling
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import operand_types, stored_type
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

Values = Sequence[SSAValue]

WRITTEN = 3
"""The buffers that are written: the output and both of the scratch memory."""


def build_int8_winograd(name: str, spec: Int8WinogradSpec, target: Target) -> Kernel:
    """The kernel f(output, patches, products, input, weights, bias, epilogue operands, lo, hi).

    Raises ValueError for a spec that is not `supported()`.
    """
    if not spec.supported():
        raise ValueError("Winograd convolution of bytes: needs small pads and a tile")
    tiling = int8_winograd_tiling(spec, target)
    return _Int8Winograd(spec, tiling, LoopBuilder(target)).kernel(name)


class _Int8Winograd:
    """Builds one kernel."""

    def __init__(
        self, spec: Int8WinogradSpec, tiling: WinogradTiling, builder: LoopBuilder
    ) -> None:
        self.spec, self.tiling, self.builder = spec, tiling, builder
        self.integers = Integers(builder)

    def kernel(self, name: str) -> Kernel:
        """The kernel on its buffers."""
        items = regions_of(self.tiling)
        return Kernel(self.builder.function(name, self._types(), self._run), items)

    def _run(self, buffers: Values, low: Index, high: Index) -> None:
        """Computes the work items [low, high), in the scratch memory of the first."""
        b, tiling = self.builder, self.tiling
        self.output, patches, products, self.source = buffers[:4]
        self.weights, self.bias = buffers[4:6]
        self.epilogue_operands = buffers[6:]
        several = regions_of(tiling) > 1
        region = low if several else 0
        self.patches, self.products = (
            Scratch(patches, region),
            Scratch(products, region),
        )
        blocks = tiling.row_blocks * tiling.segments
        count = tiling.blocks_per_item * tiling.segments if several else blocks
        stop = b.mul(high, count)
        if blocks % count:
            stop = b.minimum(stop, blocks)
        b.loop(b.mul(low, count), stop, 1, self._block)

    def _types(self) -> list[MemRefType]:
        spec, scratch = self.spec, buffers_of(self.tiling)
        return [
            stored_type(spec.epilogue, spec.output_type),
            scratch.patches,
            scratch.products,
            spec.input_type,
            types.memref_type((spec.packed_weights,), i16),
            spec.channel_type,
            *operand_types(spec.epilogue, spec.output_type, spec.channel_type),
        ]

    def _block(self, number: Index) -> None:
        """All phases of one block of tiles."""
        b, tiling = self.builder, self.tiling
        origin = block_origin(b, tiling, number)

        def row(position: Index) -> None:
            visit_row(b, tiling, origin, position, self._tile_patches)

        b.loop(0, tiling.block_rows, 1, row)
        for part in tiling.parts:
            body = partial(self._part, part, origin)
            b.loop(0, part.tiles, 1, body)

    # ---- patches

    def _tile_patches(self, tile: Tile) -> None:
        """The patches of all channels of a tile."""
        blocks = self.spec.input_blocks
        self.builder.loop(0, blocks, 1, lambda block: self._patch(tile, block))

    def _patch(self, tile: Tile, block: Index) -> None:
        b, spec, transform = self.builder, self.spec, PATCHES[self.spec.tile]
        rows = PatchAxis(spec, 0, tile.row)
        lines = [rows.position(b, row) for row in range(spec.patch)]
        columns = PatchAxis(spec, 1, tile.column)
        pairs: list[list[SSAValue]] = []
        for first in range(0, spec.patch, PAIR):
            read = [self._pixels(tile, block, y, columns, first) for y in lines]
            pairs.append(
                transform(self.integers, rows.select(b, read, spec.zero_point))
            )
        channel = b.mul(block, spec.lanes)
        for row in range(0, spec.patch, PAIR):
            above, below = ([pair[row + k] for pair in pairs] for k in range(PAIR))
            joined = [self._columns(*two) for two in zip(above, below, strict=True)]
            values = transform(self.integers, list(chain.from_iterable(joined)))
            for column, value in enumerate(values):
                for k in range(PAIR):
                    position = (row + k) * spec.patch + column
                    at = (position, tile.number, channel)
                    place = self.patches.at(*at)
                    b.vector_store(self._half(value, k), self.patches.buffer, *place)

    def _pixels(
        self, tile: Tile, block: Index, y: Index, columns: PatchAxis, first: int
    ) -> SSAValue:
        """Two columns of a row as words, from column `first` of the patch on.

        Where one of them is padding, those next to it are read, and one moves over.
        """
        b, spec = self.builder, self.spec
        last = first + PAIR == spec.patch
        x = columns.position(b, first)
        if last and spec.pads[3]:
            x = b.minimum(x, spec.plane[1] - PAIR)
        where = (tile.image, block, y, x, 0)
        narrow = b.vector_load(PAIR * spec.lanes, self.source, *where)
        value = b.cast(arith.ExtUIOp, narrow, i16)
        fill = b.like(spec.zero_point, value)
        outside = columns.outside(b)
        if first == 0 and 0 in outside:
            moved = self._joined(fill, 0, value, 0)
            value = chosen(b, outside[0], moved, value)
        if last and -1 in outside:
            moved = self._joined(value, 1, fill, 1)
            value = chosen(b, outside[-1], moved, value)
        return value

    def _joined(self, a: SSAValue, of_a: int, c: SSAValue, of_c: int) -> SSAValue:
        """Half of one register, then half of another."""
        lanes = self.spec.lanes
        first = [of_a * lanes + lane for lane in range(lanes)]
        second = [(PAIR + of_c) * lanes + lane for lane in range(lanes)]
        return self.builder.shuffle(a, c, first + second)

    def _half(self, value: SSAValue, k: int) -> SSAValue:
        """Half of a register."""
        lanes = self.spec.lanes
        return self.builder.shuffle(value, value, range(k * lanes, (k + 1) * lanes))

    def _columns(self, above: SSAValue, below: SSAValue) -> list[SSAValue]:
        """Two columns of two rows, from two rows of two columns."""
        return [self._joined(above, k, below, k) for k in range(PAIR)]

    # ---- products

    def _part(self, part: ChannelPart, origin: Origin, channel_tile: Index) -> None:
        """Products and outputs of one tile of output channels."""
        b, spec, tiling = self.builder, self.spec, self.tiling
        offset = spec.positions * spec.channels * spec.lanes * part.first
        of_group = (
            *(part.tiles, spec.positions, spec.channels // PAIR),
            *(part.blocks, spec.lanes, PAIR),
        )
        strides = (spec.group_weights, *types.row_major_strides(of_group))
        shape = (spec.groups, *of_group)
        weights = b.reinterpret(self.weights, shape, strides, offset)
        size, group = tiling.register_tiles(part), group_of(b, spec, origin)

        def position(number: Index) -> None:
            at = (group, channel_tile, number)
            b.tiles(
                0,
                tiling.tiles,
                size,
                lambda tile: self._product(weights, part, at, (tile, size)),
            )

        b.loop(0, spec.positions, 1, position)
        block = b.add(b.mul(channel_tile, part.blocks), part.first)

        def row(number: Index) -> None:
            visit_row(
                b,
                tiling,
                origin,
                number,
                lambda tile: b.loop(
                    0, part.blocks, 1, lambda k: self._outputs(tile, block, k)
                ),
            )

        b.loop(0, tiling.block_rows, 1, row)

    def _product(
        self,
        weights: SSAValue,
        part: ChannelPart,
        at: tuple[Index, Index, Index],
        tiles: tuple[Index, int],
    ) -> None:
        """The products of a register tile: sums over all input channels."""
        b, spec = self.builder, self.spec
        (group, channel_tile, position), (tile, count) = at, tiles

        def step(pair: Index, sums: Values) -> Values:
            where = self.patches.at(position, tile, b.mul(pair, PAIR))
            left = b.transfer_read(self.patches.buffer, where, (count, PAIR), (2, 3))
            right = b.transfer_read(
                weights,
                (group, channel_tile, position, pair, 0, 0, 0),
                (part.blocks, spec.lanes, PAIR),
                (4, 5, 6),
            )
            left, right = (
                b.cast(arith.ExtSIOp, factor, i32) for factor in (left, right)
            )
            return [b.contract(left, right, sums[0])]

        shape = (count, part.blocks, spec.lanes)
        zero = b.constant(0, types.vector_type(shape, i32))
        (sums,) = b.carry(0, spec.channels // PAIR, 1, [zero], step)
        where = self.products.at(0, position, tile, 0)
        b.transfer_write(sums, self.products.buffer, where, (3, 1, 4))

    # ---- outputs

    def _outputs(self, tile: Tile, first: Index, block: Index) -> None:
        """The outputs of a tile in one of the blocks of a channel tile."""
        b, spec, transform = self.builder, self.spec, OUTPUTS[self.spec.tile]

        def product(row: int, column: int) -> SSAValue:
            position = row * spec.patch + column
            at = self.products.at(block, position, tile.number, 0)
            return b.vector_load(spec.lanes, self.products.buffer, *at)

        down = [
            transform(
                self.integers, [product(row, column) for row in range(spec.patch)]
            )
            for column in range(spec.patch)
        ]
        stores = EpilogueBuffers(self.output, self.bias, self.epilogue_operands)
        for row in range(spec.tile):
            scaled = transform(self.integers, [column[row] for column in down])
            sums = [self._unscaled(value) for value in scaled]
            where = (
                tile.image,
                b.add(first, block),
                b.add(tile.row, row),
                tile.column,
                0,
            )
            store_pixels(b, spec, stores, sums, where)

    def _unscaled(self, value: SSAValue) -> SSAValue:
        """A sum, of what is `scale`^2 times as large modulo 2^32."""
        b, form = self.builder, self.spec.form
        if form.inverse != 1:
            inverse = b.like(form.inverse, value)
            value = b.binary_integer(arith.MuliOp, value, inverse)
        return b.binary_integer(arith.ShRSIOp, value, b.like(form.shift, value))
