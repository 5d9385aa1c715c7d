"""The three phases of a Winograd convolution, as code for one row of tiles or one product.

Scratch buffers are [region][channel block][position][tile][lanes], with positions row by row.
The transforms of squares run as loops over columns, then rows, through a small buffer on the stack:
unrolled, six by six registers would spill. Those of lines stay in registers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.patches import (
    Carried,
    StackPatch,
    load_line,
    patch_columns,
)
from glow.backends.cpu.kernels.winograd.prefetch import (
    BlockAhead,
    PatchesAhead,
    WeightsAhead,
)
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiles import (
    Origin,
    PatchAxis,
    Scratch,
    Tile,
    visit_row,
)
from glow.backends.cpu.kernels.winograd.tiling import WinogradTiling
from glow.backends.cpu.kernels.winograd.transform import (
    transform_patch,
    transform_products,
)
from glow.backends.cpu.tiling.tiles import ChannelPart, has_small_tiles
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import apply_epilogue


class PatchPhase:
    """Transforms the patches of the input."""

    def __init__(
        self, b: LoopBuilder, tiling: WinogradTiling, patches: Scratch, source: SSAValue
    ) -> None:
        self.builder, self.tiling, self.spec = b, tiling, tiling.spec
        self.patches, self.source = patches, source

    def row(self, block: Index, origin: Origin, row: Index) -> None:
        """The patches of a channel block in one tile row."""
        body = self._line if self.spec.is_line else self._square
        visit_row(
            self.builder, self.tiling, origin, row, lambda tile: body(block, tile)
        )

    def _line(self, block: Index, tile: Tile) -> None:
        b = self.builder
        values = load_line(b, self.spec, self.source, block, tile)
        for position, value in enumerate(transform_patch(b, values)):
            at = self.patches.at(block, position, tile.number, 0)
            b.vector_store(value, self.patches.buffer, *at)

    def _square(self, block: Index, tile: Tile) -> None:
        b, spec, stack = self.builder, self.spec, StackPatch(self.builder, self.spec)
        load = patch_columns(b, spec, self.source, block, tile)
        columns = PatchAxis(spec, 1, tile.column)

        def down(column: Index) -> None:
            stack.store_column(column, transform_patch(b, load(column)))

        def across(row: Index) -> None:
            values = columns.select(b, stack.load_row(row))
            first = b.mul(row, spec.patch)
            for j, value in enumerate(transform_patch(b, values)):
                at = self.patches.at(block, b.add(first, j), tile.number, 0)
                b.vector_store(value, self.patches.buffer, *at)

        b.loop(0, spec.patch, 1, down)
        b.loop(0, spec.patch, 1, across)


def part_weights(
    b: LoopBuilder, tiling: WinogradTiling, weights: SSAValue, part: ChannelPart
) -> SSAValue:
    """A part of the packed weights as [group, *panel, input channel, blocks, lanes]."""
    spec = tiling.spec
    panels = tiling.panel(spec.positions, part.tiles)
    of_group = (*panels, spec.in_channels, part.blocks, spec.lanes)
    strides = (spec.group_weights, *types.row_major_strides(of_group))
    shape, offset = (spec.groups, *of_group), part_offset(spec, part)
    return b.reinterpret(weights, shape, strides, offset)


def part_offset(spec: WinogradSpec, part: ChannelPart) -> int:
    """Where a part starts in the packed weights of a group."""
    return spec.positions * spec.in_channels * part.first * spec.lanes


class ProductPhase:
    """Multiplies patches and weights, one matrix product over the channels per position."""

    def __init__(
        self,
        b: LoopBuilder,
        tiling: WinogradTiling,
        products: Scratch,
        patches: Scratch,
        weights: SSAValue,
    ) -> None:
        self.builder, self.tiling, self.spec = b, tiling, tiling.spec
        self.products, self.patches = products, patches
        self.weights_ahead = WeightsAhead(b, tiling, weights)
        self.patches_ahead = PatchesAhead(b, tiling, patches)
        self.weights = [part_weights(b, tiling, weights, p) for p in tiling.parts]

    def product(
        self,
        position: Index,
        channel_tile: Index,
        group: Index = 0,
        block_ahead: BlockAhead | None = None,
    ) -> None:
        """The products of all tiles at a position, for one tile of output channels of a group."""
        b, parts = self.builder, self.tiling.parts

        def part(number: int) -> None:
            within = b.sub(channel_tile, 0 if number == 0 else parts[0].tiles)
            chosen = parts[number]
            b.tiles(
                0,
                self.tiling.tiles,
                self.tiling.register_tiles(chosen),
                lambda tile: self._register_tile(
                    number, (position, within, group), tile, block_ahead
                ),
            )

        if len(parts) == 1:
            part(0)
        else:
            is_first = b.compare("slt", channel_tile, parts[0].tiles)
            b.if_(is_first, lambda: part(0), lambda: part(1))

    def _register_tile(
        self,
        number: int,
        at: tuple[Index, Index, Index],
        tile: Index,
        block_ahead: BlockAhead | None,
    ) -> None:
        b, spec, part = self.builder, self.spec, self.tiling.parts[number]
        position, channel_tile, group = at
        panel = self.tiling.panel(position, channel_tile)
        pixels = self.tiling.register_tiles(part)
        shape = (pixels, part.blocks, spec.lanes)
        unrolls = part.blocks > 1 and has_small_tiles(spec.element, b.target)
        offset = b.add(b.mul(group, spec.group_weights), part_offset(spec, part))
        fetch_weights = self.weights_ahead.fetch(part, offset, panel, tile)
        fetch_patches = self.patches_ahead.fetch(part, at[:2], tile)
        if block_ahead is not None:
            block_ahead.fetch(part, at[:2], tile)

        def step(block: Index, lane: Index, values: Carried) -> Carried:
            channel = b.add(b.mul(block, spec.lanes), lane)
            fetch_weights(channel)
            weight = b.transfer_read(
                self.weights[number], (group, *panel, channel, 0, 0), shape[1:], (4, 5)
            )
            where = self.patches.at(block, position, tile, lane)
            x = b.transfer_read(self.patches.buffer, where, shape, (3, None, None))
            return [b.fma(x, b.broadcast(weight, shape), values[0])]

        def steps(block: Index, lanes: int, values: Carried) -> Carried:
            fetch_patches(block)
            together = lanes if unrolls else 1
            return b.carry(
                0, lanes, 1, values, lambda i, v: step(block, i, v), together
            )

        full, rest = divmod(spec.in_channels, spec.lanes)
        zero = b.constant(0.0, types.vector_type(shape, spec.element))
        values = b.carry(0, full, 1, [zero], lambda k, v: steps(k, spec.lanes, v))
        values = steps(full, rest, values)
        block: Index = 0
        if self.tiling.keeps_products:
            block = b.add(b.mul(channel_tile, part.blocks), part.first)
        where = self.products.at(block, position, tile, 0)
        b.transfer_write(values[0], self.products.buffer, where, (3, 1, 4))


@dataclass(frozen=True)
class EpilogueBuffers:
    """The output, and what its epilogue reads."""

    output: SSAValue
    bias: SSAValue | None
    epilogue_operands: Sequence[SSAValue]


class OutputPhase:
    """Transforms the products, takes maxima, adds the bias, applies the epilogue and stores.

    The last tile of a row or column overlaps its neighbour, and the two may round differently.
    Rows are stored by the upper tile only, whichever thread has it; within a row the right
    tile comes last.
    """

    def __init__(
        self,
        b: LoopBuilder,
        tiling: WinogradTiling,
        spec: WinogradSpec,
        products: Scratch,
        stores: EpilogueBuffers,
    ) -> None:
        self.builder, self.tiling, self.spec = b, tiling, spec
        self.products, self.stores = products, stores
        self.stack = StackPatch(b, spec)

    def row(
        self, block: Index, origin: Origin, row: Index, products: Index | None = None
    ) -> None:
        """The outputs of a channel block in one tile row.

        `products` is the block of the scratch that has its products, if it is another.
        """
        scratch = block if products is None else products
        body = self._line if self.spec.is_line else self._square
        visit_row(
            self.builder,
            self.tiling,
            origin,
            row,
            lambda tile: body(block, scratch, tile),
        )

    def _product(self, scratch: Index, position: Index, tile: Tile) -> SSAValue:
        at = self.products.at(scratch, position, tile.number, 0)
        return self.builder.vector_load(self.spec.lanes, self.products.buffer, *at)

    def _line(self, block: Index, scratch: Index, tile: Tile) -> None:
        """A row or column of outputs: at once, if the tile above has none of them."""
        b, spec = self.builder, self.spec
        products = [self._product(scratch, k, tile) for k in range(spec.patch)]
        values = transform_products(b, spec.tile, products)
        where = (tile.image, block, tile.row, tile.column, 0)

        def store() -> None:
            (along,) = spec.axes
            store_pixels(b, spec, self.stores, values, where, 2 + along)

        def store_own() -> None:
            self.stack.store_column(0, values)
            b.loop(tile.shared_rows, spec.tile, 1, store_pixel)

        def store_pixel(row: Index) -> None:
            image, block, first, *rest = where
            place = (image, block, b.add(first, row), *rest)
            store_pixels(b, spec, self.stores, self.stack.load_row(row), place)

        if spec.output_plane[0] % spec.tile_plane[0]:
            b.if_(b.compare("eq", tile.shared_rows, 0), store, store_own)
        else:
            store()

    def _square(self, block: Index, scratch: Index, tile: Tile) -> None:
        b, spec = self.builder, self.spec

        def down(column: Index) -> None:
            values = [
                self._product(scratch, b.add(column, row * spec.patch), tile)
                for row in range(spec.patch)
            ]
            self.stack.store_column(column, transform_products(b, spec.tile, values))

        y, x, first = (
            b.floordiv(position, spec.pool)
            for position in (tile.row, tile.column, tile.shared_rows)
        )

        def across(row: Index) -> None:
            values = self._pooled_row(b.mul(row, spec.pool))
            where = (tile.image, block, b.add(y, row), x, 0)
            store_pixels(b, spec, self.stores, values, where)

        b.loop(0, spec.patch, 1, down)
        b.loop(first, spec.tile // spec.pool, 1, across)

    def _pooled_row(self, first: Index) -> Carried:
        """The largest sums of the squares whose upper row is the `first`."""
        b, spec = self.builder, self.spec
        rows = [
            transform_products(b, spec.tile, self.stack.load_row(b.add(first, row)))
            for row in range(spec.pool)
        ]
        return largest_of_squares(b, spec, rows)


def largest_of_squares(
    b: LoopBuilder, spec: WinogradSpec, rows: Sequence[Carried]
) -> Carried:
    """The largest sums of the squares in so many rows as a square has."""
    columns = [reduce(b.larger, column) for column in zip(*rows, strict=True)]
    return [
        reduce(b.larger, columns[at : at + spec.pool])
        for at in range(0, len(columns), spec.pool)
    ]


def store_pixels(
    b: LoopBuilder,
    spec: WinogradSpec,
    stores: EpilogueBuffers,
    pixels: Carried,
    where: tuple[Index, ...],
    axis: int = 3,
) -> None:
    """Stores some outputs of a tile after bias and epilogue; they lie along a tensor's axis."""
    shape, axes = (len(pixels), spec.lanes), (axis, 4)
    value = b.constant(0.0, types.vector_type(shape, types.element_of(pixels[0])))
    for j, pixel in enumerate(pixels):
        value = b.insert(pixel, value, j)

    _, group = b.unflatten(where[0], spec.images)
    block = b.add(b.mul(group, spec.output_blocks), where[1])

    def channel(buffer: SSAValue) -> SSAValue:
        return b.broadcast(b.vector_load(spec.lanes, buffer, block, 0), shape)

    if stores.bias is not None:
        value = b.add_values(value, channel(stores.bias))
    value = apply_epilogue(
        b,
        spec.epilogue,
        value,
        stores.epilogue_operands,
        full=lambda buffer: b.transfer_read(buffer, where, shape, axes),
        channel=channel,
    )
    b.transfer_write(value, stores.output, where, axes)
