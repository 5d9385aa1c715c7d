"""The gradient of a convolution's weights, on channel blocks.

A weight's gradient is a sum over all images and pixels of the output's gradient times the input
that the weight met there. A register tile has `rows` weights, of neighbouring input channels and
one tap, times a few blocks of output channels; each step multiplies the gradient of one pixel
with one broadcast number of the input for each row. Of a plain image ([N, C, H, W], padded
already), where a block is one channel, the rows are taps: those of a row of the kernel, or all.
Of a depthwise convolution a tile is one tap of a few blocks, each read of both tensors.

A work item is a tile with all columns of the kernel. It goes through the batch a few images at a
time, as many as stay in the nearest cache, and keeps its sums in the result between them; no
other work item adds to these, so the order of the sums depends on nothing but the shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import SSAValue

from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Range, Window
from glow.lowering.target.target import Target

ITEM_BYTES = 4
MAX_BLOCKS = 4
FEW_WORK_ITEMS = 8
"""Where there are fewer, each column of the kernel is a work item of its own."""


@dataclass(frozen=True)
class Conv2dGradientSpec:
    """The convolution; `window` is that of its forward direction.

    Arguments of the kernel: weights' gradient, input, output's gradient. The first one is packed
    [groups * output blocks][input block][kernel row][kernel column][input lane][lanes].
    """

    batch: int
    in_channels: int
    out_channels: int
    window: Window
    groups: int = 1
    lanes: int = 16
    plain_input: bool = False

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel has its own filter; groups are then no parts of the tensors."""
        return 1 < self.groups == self.in_channels == self.out_channels

    @property
    def parts(self) -> int:
        """The groups that blocks are divided among."""
        return 1 if self.is_depthwise else self.groups

    @property
    def input_lanes(self) -> int:
        """The channels per input block."""
        return 1 if self.plain_input else self.lanes

    @property
    def input_blocks(self) -> int:
        """The input blocks of a group."""
        return -(-(self.in_channels // self.parts) // self.input_lanes)

    @property
    def output_blocks(self) -> int:
        """The output blocks of a group."""
        return -(-(self.out_channels // self.parts) // self.lanes)

    @property
    def packed_size(self) -> int:
        """The elements of the result."""
        taps = self.parts * self.output_blocks * prod(self.window.kernel)
        if self.is_depthwise:
            return taps * self.lanes
        return taps * self.input_blocks * self.input_lanes * self.lanes

    @property
    def operations(self) -> int:
        """The additions and multiplications, those with padding included."""
        pixels = self.batch * prod(self.window.output)
        weights = self.out_channels * (self.in_channels // self.groups)
        return 2 * pixels * weights * prod(self.window.kernel)

    @property
    def walked(self) -> Window:
        """The plane that is summed over: one row where pixels are independent."""
        window = self.window
        return window.flattened() if window.is_pointwise else window

    @property
    def input_type(self) -> MemRefType:
        """The memref type of the input."""
        blocks = self.parts * self.input_blocks
        inside = () if self.plain_input else (self.lanes,)
        shape = (self.batch, blocks, *self.window.input, *inside)
        return types.memref_type(shape, f32)

    @property
    def gradient_type(self) -> MemRefType:
        """The memref type of the output's gradient."""
        blocks = self.parts * self.output_blocks
        shape = (self.batch, blocks, *self.window.output, self.lanes)
        return types.memref_type(shape, f32)


@dataclass(frozen=True)
class GradientTile:
    """A register tile: rows of weights, as taps or as input channels, times output blocks."""

    rows: tuple[int, ...]
    blocks: int

    @property
    def accumulators(self) -> int:
        """The registers of sums."""
        return prod(self.rows) * self.blocks


def choose_gradient_tile(spec: Conv2dGradientSpec, target: Target) -> GradientTile:
    """The tile that needs the fewest cycles for each multiply-add."""
    registers, core = target.num_vector_registers, target.core
    height, width = spec.window.kernel
    rows: list[tuple[int, ...]] = [(height, width), (1, width)]
    if spec.is_depthwise:
        rows = [()]
    elif not spec.plain_input:
        rows = [(n,) for n in range(1, spec.lanes + 1) if spec.lanes % n == 0]
    tiles = [
        GradientTile(some, blocks)
        for some in rows
        for blocks in range(1, (1 if some else 2) * MAX_BLOCKS + 1)
        if spec.output_blocks % blocks == 0
    ]
    # The broadcast number is an operand in memory where each is used once.
    fits = [
        tile
        for tile in tiles
        if tile.accumulators + tile.blocks + (tile.blocks > 1) <= registers
    ]

    def cycles(tile: GradientTile) -> float:
        loads = core.load_cycles(prod(tile.rows), tile.blocks)
        work = tile.accumulators / core.fma_per_cycle
        return max(loads, work, core.fma_latency) / tile.accumulators

    return min(fits or tiles[:1], key=lambda tile: (cycles(tile), -tile.accumulators))


def build_conv2d_gradient(
    name: str, spec: Conv2dGradientSpec, target: Target
) -> Kernel:
    """The kernel f(weights' gradient, input, output's gradient, lo, hi)."""
    return _WeightGradient(spec, target).kernel(name)


class _WeightGradient:
    """Builds one kernel."""

    def __init__(self, spec: Conv2dGradientSpec, target: Target) -> None:
        self.spec = spec
        self.builder = LoopBuilder(target)
        self.tile = choose_gradient_tile(spec, target)
        self.window = spec.walked
        rows = self.tile.rows
        height, width = self.window.kernel
        self.taps, self.row_tiles = (height, width), 1
        if spec.plain_input:
            self.taps = (height // rows[0], 1)
        elif rows:
            self.row_tiles = spec.lanes // rows[0]
        self.inputs = 1 if spec.is_depthwise else spec.input_blocks
        pixels = prod(self.window.output) * spec.lanes * self.tile.blocks
        inputs = prod(self.window.input) * spec.input_lanes
        if spec.is_depthwise:
            inputs *= self.tile.blocks
        image = ITEM_BYTES * (pixels + inputs)
        self.images = min(spec.batch, max(1, 3 * target.core.l1_bytes // (4 * image)))

    @cached_property
    def space(self) -> tuple[int, ...]:
        """Group, output tile, input block, kernel row, tile of rows, kernel column."""
        spec, (height, width) = self.spec, self.taps
        tiles = spec.output_blocks // self.tile.blocks
        space = (spec.parts, tiles, self.inputs, height, self.row_tiles)
        return (*space, width if prod(space) < FEW_WORK_ITEMS else 1)

    def kernel(self, name: str) -> Kernel:
        spec = self.spec
        result = types.memref_type((spec.packed_size,), f32)
        arguments = [result, spec.input_type, spec.gradient_type]
        function = self.builder.function(name, arguments, self._body)
        return Kernel(function, prod(self.space))

    def _body(self, buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        b, spec, window = self.builder, self.spec, self.window
        result, source, gradient = buffers
        lanes, rows = spec.lanes, self.tile.rows
        outer = (spec.parts * spec.output_blocks, self.inputs, *self.taps)
        whole = rows if spec.plain_input else (lanes,) * len(rows)
        self.result = b.reinterpret(result, (*outer, *whole, lanes))
        inside = () if spec.plain_input else (lanes,)
        blocks = spec.parts * spec.input_blocks
        shape = (spec.batch, blocks, *window.input, *inside)
        self.source = b.reinterpret(source, shape)
        blocks = spec.parts * spec.output_blocks
        shape = (spec.batch, blocks, *window.output, lanes)
        self.gradient = b.reinterpret(gradient, shape)
        b.space(low, high, self.space, self._work_item)

    def _work_item(self, at: Sequence[Index]) -> None:
        b, spec = self.builder, self.spec
        group, tile, block, row, part, column = at
        output = b.add(b.mul(group, spec.output_blocks), b.mul(tile, self.tile.blocks))
        columns = (0, self.taps[1])
        if self.space[-1] > 1:
            columns = (column, b.add(column, 1))
        first = 0 if self.row_tiles == 1 else b.mul(part, self.tile.rows[0])
        weights = (output, block, row)
        source = b.add(b.mul(group, spec.input_blocks), block)
        if spec.is_depthwise:
            source = output

        def images(start: Index, *, fresh: bool) -> None:
            end: Index = spec.batch
            if spec.batch % self.images:
                end = b.minimum(end, b.add(start, self.images))
            else:
                end = b.add(start, self.images)
            b.loop(
                *columns,
                1,
                lambda tap: self._sums(
                    (*weights, tap), first, source, (start, end), fresh=fresh
                ),
            )

        if self.images >= spec.batch:
            images(0, fresh=True)
            return
        zero = self._zero()
        b.loop(*columns, 1, lambda tap: self._store(zero, (*weights, tap), first))
        b.loop(0, spec.batch, self.images, lambda start: images(start, fresh=False))

    @property
    def _shape(self) -> tuple[int, ...]:
        return (*self.tile.rows, self.tile.blocks, self.spec.lanes)

    def _zero(self) -> SSAValue:
        return self.builder.constant(0.0, types.vector_type(self._shape, f32))

    def _place(
        self, weights: tuple[Index, ...], first: Index
    ) -> tuple[tuple[Index, ...], tuple[int, ...]]:
        """Where a tile stands in the result: indices, and the axis of each of its dimensions."""
        rows = len(self.tile.rows)
        axes = (*range(4, 4 + rows), 0, 4 + rows)
        inside = (first, *[0] * (rows - 1)) if rows else ()
        return (*weights, *inside, 0), axes

    def _store(self, value: SSAValue, weights: tuple[Index, ...], first: Index) -> None:
        self.builder.transfer_write(value, self.result, *self._place(weights, first))

    def _inside(self, axis: int, tap: Index) -> Range:
        """The output positions [low, high) that read inside of the image at a tap."""
        b, window = self.builder, self.window
        stride, size = window.strides[axis], window.output[axis]
        pad, extent = window.pads[axis], window.input[axis]
        if pad == 0 == window.pads[axis + 2]:
            return 0, size
        origin = b.sub(b.mul(tap, window.dilations[axis]), pad)
        low = b.maximum(0, b.sub(0, origin))
        high = b.maximum(0, b.sub(extent, origin))
        if stride > 1:
            low = b.floordiv(b.add(low, stride - 1), stride)
            high = b.floordiv(b.add(high, stride - 1), stride)
        return low, b.minimum(size, high)

    def _sums(
        self,
        weights: tuple[Index, ...],
        first: Index,
        source: Index,
        images: Range,
        *,
        fresh: bool,
    ) -> None:
        """Adds what some images give to a tile of one tap."""
        b = self.builder
        output, _, row, column = weights
        if fresh:
            start = self._zero()
        else:
            place, axes = self._place(weights, first)
            start = b.transfer_read(self.result, place, self._shape, axes)
        rows, columns = self._inside(0, row), self._inside(1, column)

        def pixel(
            image: Index, y: Index, x: Index, values: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            gradient = b.transfer_read(
                self.gradient, (image, output, y, x, 0), self._shape[-2:], (1, 4)
            )
            numbers = self._inputs((image, source), (row, column), (y, x), first)
            repeated = b.broadcast(gradient, self._shape)
            return [b.fma(numbers, repeated, values[0])]

        (total,) = b.carry(
            *images,
            1,
            [start],
            lambda image, values: b.carry(
                *rows,
                1,
                values,
                lambda y, values: b.carry(
                    *columns, 1, values, lambda x, values: pixel(image, y, x, values)
                ),
            ),
        )
        self._store(total, weights, first)

    def _inputs(
        self,
        plane: tuple[Index, Index],
        tap: tuple[Index, Index],
        pixel: tuple[Index, Index],
        first: Index,
    ) -> SSAValue:
        """One number of the input for each row of the tile, in all lanes."""
        b, window, rows = self.builder, self.window, self.tile.rows
        at = [
            b.add(window.origin(b, axis, place), b.mul(number, window.dilations[axis]))
            for axis, (place, number) in enumerate(zip(pixel, tap, strict=True))
        ]
        if self.spec.plain_input:
            steps = (1, 1, *window.dilations)
            view = b.subview(self.source, (*plane, *at), (1, 1, *rows), steps, (0, 1))
            return b.transfer_read(view, (0, 0), self._shape, (0, 1, None, None))
        if self.spec.is_depthwise:
            return b.transfer_read(self.source, (*plane, *at, 0), self._shape, (1, 4))
        where = (*plane, *at, first)
        return b.transfer_read(self.source, where, self._shape, (4, None, None))
