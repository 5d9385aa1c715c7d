"""An int8 convolution by matrix tiles (AMX), as `matrix_conv_plan.py` cuts it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d import Convolution
from glow.backends.cpu.kernels.convolution.int8_conv2d import build_int8_conv2d
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.convolution.matrix_conv_plan import (
    matrix_conv_plan,
    uses_matrix_tiles,
)
from glow.backends.cpu.tiling.int8_tile import WORD
from glow.backends.cpu.tiling.matrix_product import LANES, MatrixProduct
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

FINISHED_PIXELS = 2
COPIED_PIXELS, COPIED_BLOCKS = 4, 4
FILLED_BYTES = 64

Origin = tuple[Index, Index, Index]
"""An image, and the row and the column where a band begins."""


def build_int8_convolution(name: str, spec: Int8Conv2dSpec, target: Target) -> Kernel:
    """The kernel as it is configured: output, input, weights, bias, epilogue operands."""
    if uses_matrix_tiles(spec):
        return MatrixConvolution(spec, target).kernel(name)
    return build_int8_conv2d(name, spec, target)


class MatrixConvolution(Convolution):
    """Builds one kernel; work items are bands, each with its shares of the channels."""

    def __init__(self, spec: Int8Conv2dSpec, target: Target) -> None:
        super().__init__(spec, target)
        self.bytes = spec
        self.plan = plan = matrix_conv_plan(spec)
        self.work_items = spec.batch * plan.bands * plan.shares

    def weights_of(self, buffer: SSAValue, part: ChannelPart) -> SSAValue:
        """[tiles of channels, words of the depth, bytes of a word of each channel]."""
        width = part.blocks * self.spec.lanes * WORD
        offset = part.first * self.plan.steps * self.spec.lanes * WORD
        shape = (part.tiles, self.plan.steps, width)
        return self.builder.reinterpret(buffer, shape, offset=offset)

    def visit(self, low: Index, high: Index) -> None:
        """Computes the work items; what is copied of a band serves all of its shares."""
        b, plan = self.builder, self.plan
        rows, columns = (self.plan.reach(axis, plan.band[axis]) for axis in (0, 1))
        shape = (rows, columns, self.spec.input_blocks, self.bytes.block_lanes)
        self.copy = b.alloca(types.memref_type(shape, i8))

        def item(number: Index) -> None:
            band, share = b.unflatten(
                number, (self.spec.batch * plan.bands, plan.shares)
            )
            image, within = b.unflatten(band, (self.spec.batch, plan.bands))
            origin = self._origin(image, within)
            if plan.shares == 1:
                self._copy_band(origin)
            else:
                is_new = b.compare("eq", share, 0)
                is_first = b.compare("eq", number, low)
                b.if_(is_new, lambda: self._copy_band(origin))
                again = b.compare("sgt", share, 0)
                b.if_(
                    is_first,
                    lambda: b.if_(again, lambda: self._copy_band(origin)),
                )
            b.loop(
                *b.share(plan.panels, share, plan.shares),
                1,
                lambda panel: self._panel(panel, origin),
            )

        b.loop(low, high, 1, item)

    def _origin(self, image: Index, band: Index) -> Origin:
        b, (rows, columns) = self.builder, self.plan.band
        height, width = self.window.output
        if self.plan.is_flat:
            return image, 0, b.minimum(b.mul(band, columns), width - columns)
        return image, b.minimum(b.mul(band, rows), height - rows), 0

    # What is copied ------------------------------------------------------------

    def _copy_band(self, origin: Origin) -> None:
        b, (_, first_row, _) = self.builder, origin
        rows = types.shape_of(self.copy)[0]
        (top, _, bottom, _), step = self.window.pads, self.window.strides[0]
        start = b.sub(b.mul(first_row, step), top)

        def row(number: Index) -> None:
            y = b.add(start, b.mul(number, self.plan.picks[0]))
            if not (top or bottom):
                self._copy_row(number, y, origin)
                return
            # Below zero it is a huge unsigned number.
            inside = b.compare("ult", y, self.window.input[0])
            width = types.shape_of(self.copy)[1]
            b.if_(
                inside,
                lambda: self._copy_row(number, y, origin),
                lambda: self._fill(number, 0, width),
            )

        b.loop(0, rows, 1, row)

    def _copy_row(self, row: Index, y: Index, origin: Origin) -> None:
        """A row of the image with its padding on both sides."""
        _, width, _, _ = types.shape_of(self.copy)
        left = self.window.pads[1]
        count = min(-(-self.window.input[1] // self.plan.picks[1]), width - left)
        left, count = min(left, width), max(0, count)
        self._fill(row, 0, left)
        self._copy_pixels(row, y, origin, count)
        self._fill(row, left + count, width - left - count)

    def _copy_pixels(self, row: Index, y: Index, origin: Origin, count: int) -> None:
        b, (image, _, first) = self.builder, origin
        blocks, lanes = types.shape_of(self.copy)[2:]
        source, left, pick = self.buffers.input, self.window.pads[1], self.plan.picks[1]
        if pick > 1:
            shape = list(types.shape_of(source))
            strides = list(types.row_major_strides(tuple(shape)))
            shape[3], strides[3] = -(-shape[3] // pick), strides[3] * pick
            source = b.reinterpret(source, tuple(shape), tuple(strides))
        together = next(n for n in range(COPIED_BLOCKS, 0, -1) if blocks % n == 0)
        size = min(count, COPIED_PIXELS)

        def some(block: Index) -> None:
            def pixels(column: Index) -> None:
                where = (image, block, y, b.add(first, column), 0)
                value = b.transfer_read(
                    source, where, (together, size, lanes), (1, 3, 4)
                )
                place = (row, b.add(column, left), block, 0)
                b.transfer_write(value, self.copy, place, (2, 1, 3))

            b.tiles(0, count, size, pixels)

        b.loop(0, blocks, together, some)

    def _fill(self, row: Index, column: int, count: int) -> None:
        """Columns of a row with the number that pads."""
        if count <= 0:
            return
        b, (rows, width, blocks, lanes) = self.builder, types.shape_of(self.copy)
        size = blocks * lanes
        flat = b.reinterpret(self.copy, (rows, width * size))
        step = min(FILLED_BYTES, lanes if count * size < FILLED_BYTES else FILLED_BYTES)
        byte = self.bytes.zero_point
        number = byte - 256 if byte > 127 else byte
        value = b.constant(number, types.vector_type((step,), i8))
        first = column * size
        b.tiles(
            first,
            first + count * size,
            step,
            lambda place: b.vector_store(value, flat, row, place),
        )

    # What is multiplied --------------------------------------------------------

    def _panel(self, panel: Index, origin: Origin) -> None:
        b, parts = self.builder, self.plan.parts

        def part(number: int) -> None:
            within = b.sub(panel, 0 if number == 0 else parts[0].tiles)
            b.loop(
                0,
                self.plan.pairs,
                1,
                lambda pair: self._pair(parts[number], within, pair, origin),
            )

        if len(parts) == 1:
            part(0)
        else:
            is_whole = b.compare("slt", panel, parts[0].tiles)
            b.if_(is_whole, lambda: part(0), lambda: part(1))

    def _pair(
        self, part: ChannelPart, panel: Index, pair: Index, origin: Origin
    ) -> None:
        """Two tiles of pixels; the last one is twice there if their number is odd."""
        b, plan = self.builder, self.plan
        last = plan.band[0] * plan.across - 1
        numbers = [b.add(b.mul(pair, 2), k) for k in (0, 1)]
        if last % 2 == 0:
            numbers[1] = b.minimum(numbers[1], last)
        tiles = [self._tile_place(number) for number in numbers]
        product = MatrixProduct(b, plan.tile(part.blocks), i8)
        sums = product.store(self._products(product, part, panel, tiles))
        view = b.reinterpret(sums, (2 * plan.pixels, part.blocks, LANES))
        for number, place in enumerate(tiles):
            self._finish_tile(view, number * plan.pixels, part, panel, place, origin)

    def _tile_place(self, number: Index) -> tuple[Index, Index]:
        """The row and the column of a tile in its band."""
        b, plan = self.builder, self.plan
        row, place = b.unflatten(number, (plan.band[0], plan.across))
        column = b.mul(place, plan.pixels)
        if plan.band[1] % plan.pixels:
            column = b.minimum(column, plan.band[1] - plan.pixels)
        return row, column

    def _products(
        self,
        product: MatrixProduct,
        part: ChannelPart,
        panel: Index,
        tiles: Sequence[tuple[Index, Index]],
    ) -> Sequence[SSAValue]:
        """The sums over all channels and taps."""
        b, plan, window = self.builder, self.plan, self.window
        rows, width = types.shape_of(self.copy)[:2]
        down, across = plan.strides
        (height, taps), (step_down, step_across) = window.kernel, window.dilations
        shape = (rows, plan.band[1], ((taps - 1) * step_across + 1) * plan.channels)
        strides = (width * plan.channels, across * plan.channels, 1)
        left = b.reinterpret(self.copy, shape, strides)
        tap_words = plan.depth // WORD

        def of_channels(
            block: Index, carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            def of_row(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                for j in range(0, taps, plan.taps):
                    tap = b.add(b.mul(b.add(b.mul(block, height), i), taps), j)
                    byte = b.add(
                        b.mul(block, plan.depth), j * step_across * plan.channels
                    )
                    places = [
                        (
                            b.add(b.mul(row, down), b.mul(i, step_down)),
                            column,
                            byte,
                        )
                        for row, column in tiles
                    ]
                    weights = (panel, b.mul(tap, tap_words), 0)
                    right = (self.buffers.weights[part], weights)
                    carried = product.step((left, places), right, carried)
                return carried

            return b.carry(0, height, 1, carried, of_row)

        blocks = plan.channels // plan.depth
        return b.carry(0, blocks, 1, product.zeros(), of_channels)

    def _finish_tile(
        self,
        sums: SSAValue,
        first: int,
        part: ChannelPart,
        panel: Index,
        place: tuple[Index, Index],
        origin: Origin,
    ) -> None:
        """Stores the pixels of a tile after bias and epilogue, a few at a time."""
        b, (image, top, left) = self.builder, origin
        count = min(FINISHED_PIXELS, self.plan.pixels)
        shape = (count, part.blocks, LANES)
        block = b.add(b.mul(panel, part.blocks), part.first)

        def channel(buffer: SSAValue) -> SSAValue:
            return b.transfer_read(buffer, (block, 0), shape[1:], (0, 1))

        def pixels(pixel: Index) -> None:
            where = (b.add(pixel, first), 0, 0)
            total = b.transfer_read(sums, where, shape, (0, 1, 2))
            if self.buffers.bias is not None:
                bias = b.broadcast(channel(self.buffers.bias), shape)
                total = b.binary_integer(arith.AddiOp, total, bias)
            row, column = b.add(top, place[0]), b.add(left, place[1])
            at = [image, block, row, b.add(column, pixel), 0]
            self._finish(total, at, (3, 1, 4), channel)

        b.tiles(0, self.plan.pixels, count, pixels)
