"""Convolution in the plain layout [N, C, H, W], for what channel blocks cannot express.

Groups with few channels, depthwise multipliers and tiny channel counts. Lanes are pixels of a
row; a register tile is a few output channels of one group times a run of pixels, and each step
multiplies one input row piece with one broadcast weight per output channel. Side columns go
pixel by pixel, each of which takes as long as a tile: where they matter the input is padded first
(`pads_columns`). Weights stay [OC, IC / groups, KH, KW].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import AnyFloat, MemRefType, f32
from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.config import PlainConvConfig
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue, apply_epilogue, operand_types
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import PlaneTraversal, Tile, Window, row_segments
from glow.lowering.loop_builder.work_items import WorkItems
from glow.lowering.target.core import Core
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class DirectConvSpec:
    """A convolution in the plain layout."""

    batch: int
    in_channels: int
    out_channels: int
    window: Window
    groups: int = 1
    has_bias: bool = False
    epilogue: Epilogue | None = None
    element: AnyFloat = f32
    config: PlainConvConfig | None = None
    """Chosen before; else the best one for the target."""

    @property
    def walked(self) -> Window:
        """The plane that tiles cover: one row where pixels are independent."""
        window = self.window
        return window.flattened() if window.is_pointwise else window

    @property
    def group_inputs(self) -> int:
        """The input channels of a group."""
        return self.in_channels // self.groups

    @property
    def group_outputs(self) -> int:
        """The output channels of a group."""
        return self.out_channels // self.groups

    @property
    def operations(self) -> int:
        """The additions and multiplications, those with padding included."""
        outputs = self.batch * self.out_channels * prod(self.window.output)
        return 2 * outputs * self.group_inputs * prod(self.window.kernel)

    @property
    def argument_types(self) -> list[MemRefType]:
        """The buffer types of output, input, weights, [bias], epilogue operands."""
        window, channels = (
            self.window,
            types.memref_type((self.out_channels,), self.element),
        )
        output = (self.batch, self.out_channels, *window.output)
        source = (self.batch, self.in_channels, *window.input)
        weights = (self.out_channels, self.group_inputs, *window.kernel)
        shapes = (output, source, weights)
        arguments = [types.memref_type(shape, self.element) for shape in shapes]
        if self.has_bias:
            arguments.append(channels)
        return arguments + operand_types(self.epilogue, arguments[0], channels)


@dataclass(frozen=True)
class PixelTile:
    """A register tile of output channels x vectors of pixels.

    Of a run shorter than a vector the tile has the whole, in registers of 8, 4, 2 and 1 lanes.
    """

    channels: int
    vectors: int
    lanes: int

    def pixels(self, run: int) -> int:
        """How many pixels of a run one tile computes."""
        whole = run // self.lanes
        return self.lanes * min(whole, self.vectors) if whole else run

    def registers(self, run: int) -> int:
        """The registers that the pixels of one channel take."""
        return self.vectors if run >= self.lanes else max(1, run).bit_count()

    def run_cycles(self, run: int, stride: int, core: Core) -> float:
        """The cycles per step and output channel of a run of pixels."""
        tiles = -(-run // max(1, self.pixels(run)))
        return tiles * self._step_cycles(run, stride, core) / self.channels

    def _step_cycles(self, run: int, stride: int, core: Core) -> float:
        """The cycles of one step of a tile."""
        registers = self.registers(run)
        # One of narrow registers takes one pipe, also where one of vectors takes several.
        at_once = core.fma_pipes if run < self.lanes else core.fma_per_cycle
        reads = registers if stride == 1 else registers * stride * STRIDED_READS
        return max(
            self.channels * registers / at_once,
            core.load_cycles(self.channels, reads),
            core.fma_latency,
        )


STRIDED_READS = 2
"""Reads and shuffles for a vector of every other, third, ... pixel, over those pixels' vectors."""

VECTORS = (1, 2, 3, 4, 6, 8)
"""The sizes of tiles, in vectors of pixels."""


def _registers(tile: PixelTile, window: Window) -> int:
    """The registers that the pixels of one channel take in the runs of a row."""
    return max((tile.registers(run.length) for run in window.row_runs), default=1)


def choose_pixel_tile(spec: DirectConvSpec, target: Target) -> PixelTile:
    """The register tile that computes a row of the interior in the fewest cycles."""
    lanes = target.lanes(types.bit_width(spec.element))
    run, stride = spec.walked.row_run, spec.walked.strides[1]
    channels = [c for c in range(1, 25) if spec.group_outputs % c == 0]
    tiles = (
        PixelTile(count, vectors, lanes) for count in channels for vectors in VECTORS
    )
    fitting = [
        tile
        for tile in tiles
        if (tile.channels + 1) * _registers(tile, spec.walked)
        < target.num_vector_registers
    ]
    return min(fitting, key=lambda tile: tile.run_cycles(run, stride, target.core))


def padded_columns(spec: DirectConvSpec) -> DirectConvSpec:
    """The same convolution on rows with their padding."""
    (top, left, bottom, right), (height, width) = spec.window.pads, spec.window.input
    window = replace(
        spec.window, input=(height, width + left + right), pads=(top, 0, bottom, 0)
    )
    return replace(spec, window=window)


def pads_columns(spec: DirectConvSpec, target: Target) -> bool:
    """Whether rows with their padding in memory are faster by more than the copy takes."""
    if not spec.walked.side_columns():
        return False
    whole = padded_columns(spec)
    moved = spec.batch * spec.in_channels * prod(whole.window.input)
    lanes = target.lanes(types.bit_width(spec.element))
    copy = moved / lanes * target.core.pass_cycles
    return direct_cycles(whole, target) + copy < direct_cycles(spec, target)


def cycles_between_blocks(spec: DirectConvSpec, target: Target) -> float:
    """The estimated cycles of a convolution that unpacks its input and packs its results."""
    if pads_columns(spec, target):
        spec = padded_columns(spec)
    inputs, outputs = prod(spec.window.input), prod(spec.window.output)
    moved = spec.batch * (spec.in_channels * inputs + spec.out_channels * outputs)
    lanes = target.lanes(types.bit_width(spec.element))
    return direct_cycles(spec, target) + moved / lanes * target.core.pass_cycles


def direct_cycles(spec: DirectConvSpec, target: Target) -> float:
    """The estimated cycles of a convolution with its side columns."""
    tile, window, core = choose_pixel_tile(spec, target), spec.walked, target.core
    stride = window.strides[1]
    row = sum(tile.run_cycles(run.length, stride, core) for run in window.row_runs)
    row += window.line_columns() * tile.run_cycles(1, 1, core)
    rows = spec.batch * spec.out_channels * window.output[0]
    return rows * spec.group_inputs * prod(window.kernel) * row


def choose_plain_config(spec: DirectConvSpec, target: Target) -> PlainConvConfig:
    """The best configuration for a target; bias and epilogue make no difference to it."""
    tile = choose_pixel_tile(spec, target)
    planes = spec.out_channels // tile.channels * spec.batch
    segments = row_segments(spec.walked, tile.pixels, planes)
    return PlainConvConfig(tile.channels, tile.vectors, segments)


def wrong_plain_config(spec: DirectConvSpec, target: Target) -> str | None:
    """What the target or the shapes do not allow of the configuration, if so."""
    config, registers = spec.config, target.num_vector_registers
    if config is None:
        return None
    channels, run = config.channels, spec.walked.row_run
    if spec.group_outputs % channels:
        return f"tiles of {channels} channels: {spec.group_outputs} are no multiple"
    if (channels + 1) * config.vectors >= registers:
        return (
            f"a tile of {channels} channels and {config.vectors} vectors: the target's "
            f"{registers} registers allow 1 to {(registers - 1) // (channels + 1)} vectors"
        )
    if config.segments > max(1, run):
        return f"{config.segments} segments: a row has {run} pixels"
    return None


def build_direct_conv(name: str, spec: DirectConvSpec, target: Target) -> Kernel:
    """The kernel of a plain convolution: output, input, weights, [bias], epilogue operands."""
    return _DirectConvolution(spec, target).kernel(name)


class _DirectConvolution:
    """Builds one kernel; positions are (channel tile, image) and a tile of pixels."""

    def __init__(self, spec: DirectConvSpec, target: Target) -> None:
        self.spec = spec
        self.builder = LoopBuilder(target)
        self.config = spec.config or choose_plain_config(spec, target)
        lanes = target.lanes(types.bit_width(spec.element))
        self.tile = PixelTile(self.config.channels, self.config.vectors, lanes)
        self.window = spec.walked

    @property
    def channel_tiles(self) -> int:
        return self.spec.out_channels // self.tile.channels

    @cached_property
    def plane(self) -> PlaneTraversal:
        return PlaneTraversal(
            self.window,
            self.tile.pixels,
            segments=self.config.segments,
            side_size=lambda _: 1,
        )

    @cached_property
    def work_items(self) -> WorkItems:
        outer = (self.channel_tiles, self.spec.batch)
        return WorkItems(outer, self.plane.lines, 2)

    def kernel(self, name: str) -> Kernel:
        function = self.builder.function(name, self.spec.argument_types, self._body)
        return Kernel(function, self.work_items.size)

    def _body(self, arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
        b, spec = self.builder, self.spec
        output, source, weights, *rest = arguments
        self.weights = weights
        self.bias = rest.pop(0) if spec.has_bias else None
        self.epilogue_operands = [self._on_plane(operand) for operand in rest]
        self.output = self._on_plane(output)
        planes = (spec.batch, spec.in_channels, *self.window.input)
        self.source = b.reinterpret(source, planes)

        def line(outer: Sequence[Index], index: Index) -> None:
            channel_tile, image = outer
            channel = b.mul(channel_tile, self.tile.channels)
            self.plane.visit(b, index, lambda tile: self._tile(image, channel, tile))

        self.work_items.visit(b, low, high, line)

    def _on_plane(self, buffer: SSAValue) -> SSAValue:
        """The output or a full extra with the plane that the tiles cover."""
        shape = types.shape_of(buffer)
        if len(shape) != 4:
            return buffer
        return self.builder.reinterpret(buffer, (*shape[:2], *self.window.output))

    def _tile(self, image: Index, channel: Index, tile: Tile) -> None:
        b, spec = self.builder, self.spec
        shape = (self.tile.channels, tile.pixels)
        where = (image, channel, tile.row, tile.column)

        def per_channel(buffer: SSAValue) -> SSAValue:
            return b.transfer_read(buffer, (channel,), shape, (0, None))

        if self.bias is None:
            start = b.constant(0.0, types.vector_type(shape, spec.element))
        else:
            start = per_channel(self.bias)
        result = apply_epilogue(
            b,
            spec.epilogue,
            self._accumulate(image, channel, tile, start),
            self.epilogue_operands,
            full=lambda buffer: b.transfer_read(buffer, where, shape, (1, 3)),
            channel=per_channel,
        )
        b.transfer_write(result, self.output, where, (1, 3))

    def _accumulate(
        self, image: Index, channel: Index, tile: Tile, start: SSAValue
    ) -> SSAValue:
        """The accumulator after all input channels and taps of a tile."""
        b, spec = self.builder, self.spec
        group = b.floordiv(channel, spec.group_outputs)
        first = b.mul(group, spec.group_inputs) if spec.groups > 1 else 0
        shape = types.shape_of(start)

        def tap(
            index: Index, row: Index, column: Index, values: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            pixels = self._pixels(image, b.add(first, index), row, column, tile)
            where = (channel, index, row, column)
            weight = b.transfer_read(self.weights, where, shape, (0, None))
            return [b.fma(b.broadcast(pixels, shape), weight, values[0])]

        (result,) = b.carry(
            0,
            spec.group_inputs,
            1,
            [start],
            lambda index, values: b.carry(
                *tile.row_taps,
                1,
                values,
                lambda row, values: b.carry(
                    *tile.column_taps,
                    1,
                    values,
                    lambda column, values: tap(index, row, column, values),
                ),
            ),
        )
        return result

    def _pixels(
        self, image: Index, channel: Index, row: Index, column: Index, tile: Tile
    ) -> SSAValue:
        """The input pixels that a tile reads at one tap."""
        b, window = self.builder, self.window
        y = b.add(window.origin(b, 0, tile.row), b.mul(row, window.dilations[0]))
        x = b.add(window.origin(b, 1, tile.column), b.mul(column, window.dilations[1]))
        stride, count = window.strides[1], tile.pixels
        if stride == 1 or count == 1:
            return b.vector_load(count, self.source, image, channel, y, x)
        if stride == 2:
            return self._every_second(count, (image, channel, y, x))
        view = b.subview(
            self.source,
            (image, channel, y, x),
            (1, 1, 1, count),
            (1, 1, 1, stride),
            drop=(0, 1, 2),
        )
        return b.transfer_read(view, (0,), (count,), (0,))

    def _every_second(self, count: int, where: tuple[Index, ...]) -> SSAValue:
        """Every second of 2 * count - 1 pixels, from two loads that stay within those."""
        b, (*outer, x) = self.builder, where
        low = b.vector_load(count, self.source, *outer, x)
        high = b.vector_load(count, self.source, *outer, b.add(x, count - 1))
        lanes = range(0, 2 * count, 2)
        return b.shuffle(low, high, [k if k < count else k + 1 for k in lanes])
