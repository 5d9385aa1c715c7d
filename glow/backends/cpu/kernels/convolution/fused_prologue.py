"""A 1 x 1 convolution together with the element-wise work on its input.

A work item is a run of pixels. The prologue computes a few runs at a time, all channels of them,
on the stack of the thread, and then they are multiplied:

    for a few runs:  made = region(input[runs]);  output[runs] = weights * made

So its results never leave the L2, and no other core touches the memory that they are
in: a line that another core has read or written last takes long to write.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d import Convolution
from glow.backends.cpu.kernels.convolution.conv2d_config import (
    choose_conv_config,
    conv_tiling,
)
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.elementwise.kernel import ElementwiseSpec
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Tile
from glow.lowering.target.target import Target

MOST_RUNS = 8
"""The runs at a time: weights of a channel tile pass by once for all of them."""

STACK_BYTES = 128 * 1024
"""The most memory for the results of a prologue; threads have megabytes of stack."""

MOST_SLOWER = 1.1
"""What tiles that do not overlap may cost more than the best ones."""


@dataclass(frozen=True)
class PrologueConv2dSpec:
    """The convolution and what is done to each element of its input.

    Inputs of the prologue are full, or have one number a channel: [1, C / lanes, 1, 1, lanes].
    """

    spec: Conv2dSpec
    prologue: ElementwiseSpec

    @property
    def operations(self) -> int:
        """Those of the convolution."""
        return self.spec.operations

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of a full input."""
        return self.spec.input_type.get_shape()

    @property
    def channel_shape(self) -> tuple[int, ...]:
        """The shape of an input with one number a channel."""
        return (1, self.spec.input_blocks, 1, 1, self.spec.lanes)

    @property
    def first_full(self) -> int:
        """The number of the first full input, which takes the place of the convolution's."""
        return self.prologue.input_shapes.index(self.full_shape)

    def is_edited(self, target: Target) -> bool:
        """Whether the convolution is configured otherwise than the target's best."""
        best = choose_conv_config(replace(self.spec, config=None), target)
        return self.spec.config not in (None, best)

    def run_pixels(self, target: Target) -> int:
        """The pixels of a run: those of the best register tile that covers a plane exactly.

        An edited configuration says itself how many.
        """
        model = self.spec.model(target)
        config = conv_tiling(self.spec, target).config
        if self.is_edited(target):
            return config.pixels[0]
        blocks, pixels = config.blocks, prod(self.spec.window.output)
        exact = [n for n in range(1, model.max_pixels(blocks) + 1) if pixels % n == 0]
        return min(exact, key=lambda n: model.cover_cycles(pixels, n, blocks))

    def runs_at_once(self, target: Target) -> int:
        """The runs that the prologue computes before they are multiplied; 0 if one is too large."""
        most = min(STACK_BYTES, target.l2_bytes // 4)
        channels = self.spec.input_blocks * self.spec.lanes
        return min(MOST_RUNS, most // (4 * channels * self.run_pixels(target)))

    def supported(self, target: Target) -> bool:
        """Whether runs cover the plane well, and weights are small enough to pass by often."""
        spec, work = self.spec, self.prologue
        elements = {spec.element, *work.region.input_types, *work.region.result_types}
        is_plain = (
            spec.window.is_pointwise and spec.groups == 1 and not spec.plain_input
        )
        return (
            is_plain
            and elements == {f32}
            and len(work.region.result_types) == 1
            and work.shape == self.full_shape
            and self.full_shape in work.input_shapes
            and {self.full_shape, self.channel_shape}.issuperset(work.input_shapes)
            and 4 * spec.packed_weights <= target.l2_bytes // 2
            and self._covers_well(target)
            and self.runs_at_once(target) > 0
        )

    def _covers_well(self, target: Target) -> bool:
        """Whether runs take no longer than tiles that may overlap; edited ones need to fit."""
        model = self.spec.model(target)
        if self.is_edited(target):
            return prod(self.spec.window.output) % self.run_pixels(target) == 0
        blocks = conv_tiling(self.spec, target).config.blocks
        pixels, run = prod(self.spec.window.output), self.run_pixels(target)
        best = model.run_cycles(pixels, blocks)
        return model.cover_cycles(pixels, run, blocks) <= MOST_SLOWER * best


def build_prologue_conv2d(
    name: str, spec: PrologueConv2dSpec, target: Target
) -> Kernel:
    """Output, first full input, weights, [bias], epilogue operands, the other inputs."""
    return _PrologueConvolution(spec, target).kernel(name)


class _PrologueConvolution(Convolution):
    """Builds one kernel."""

    def __init__(self, fused: PrologueConv2dSpec, target: Target) -> None:
        super().__init__(fused.spec, target)
        self.fused = fused
        self.run = fused.run_pixels(target)
        self.at_once = fused.runs_at_once(target)
        self.runs = prod(self.window.output) // self.run
        self.work_items = self.spec.batch * self.runs
        self.channels_outermost = self.fetches_ahead = False
        self.tiles_ahead = 0
        self.slot: Index = 0

    def table_types(self) -> Sequence[MemRefType]:
        """The inputs of the prologue but the first full one."""
        shapes = list(self.fused.prologue.input_shapes)
        shapes.pop(self.fused.first_full)
        return [types.memref_type(shape, self.spec.element) for shape in shapes]

    def body(self, arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
        """Computes the work items [low, high)."""
        own = len(arguments) - len(self.table_types())
        sources = list(arguments[own:])
        sources.insert(self.fused.first_full, arguments[1])
        self.sources = [self._source(buffer) for buffer in sources]
        slots = (self.at_once, self.spec.input_blocks, self.run, self.spec.lanes)
        self.values = self.builder.alloca(types.memref_type(slots, self.spec.element))
        super().body(arguments[:own], low, high)

    def _source(self, buffer: SSAValue) -> SSAValue:
        """[N, blocks, pixels, lanes], or [blocks, lanes] of one number a channel."""
        batch, blocks, height, width, lanes = types.shape_of(buffer)
        shape = (batch, blocks, height * width, lanes)
        if types.shape_of(buffer) == self.fused.full_shape:
            return self.builder.reinterpret(buffer, shape)
        return self.builder.reinterpret(buffer, (blocks, lanes))

    def visit(self, low: Index, high: Index) -> None:
        """Prepares and multiplies a few runs at a time."""
        b = self.builder

        def some(first: Index) -> None:
            self._some_runs(first, b.minimum(b.add(first, self.at_once), high))

        b.loop(low, high, self.at_once, some)

    def _some_runs(self, first: Index, last: Index) -> None:
        b = self.builder

        def compute_prologue(block: Index) -> None:
            self._prologue_of(block, first, last)

        b.loop(0, self.spec.input_blocks, 1, compute_prologue)
        for part in self.tiling.parts:

            def channels(number: Index, part: ChannelPart = part) -> None:
                b.loop(
                    first, last, 1, lambda run: self._multiply(part, number, run, first)
                )

            b.loop(0, part.tiles, 1, channels)

    def _prologue_of(self, block: Index, first: Index, last: Index) -> None:
        """the prologue's results of a channel block in some runs."""
        b, lanes, region = (self.builder, self.spec.lanes, self.fused.prologue.region)
        shape = (self.run, lanes)
        channels = {
            source: b.broadcast(b.vector_load(lanes, source, block, 0), shape)
            for source in self.sources
            if len(types.shape_of(source)) == 2
        }

        def run(number: Index) -> None:
            image, pixel = self._where(number)
            where = (image, block, pixel, 0)
            values = [
                channels.get(source) or b.transfer_read(source, where, shape, (2, 3))
                for source in self.sources
            ]
            (value,) = region.instantiate(b, values)
            slot = b.sub(number, first)
            b.transfer_write(value, self.values, (slot, block, 0, 0), (2, 3))

        b.loop(first, last, 1, run)

    def _multiply(
        self, part: ChannelPart, number: Index, run: Index, first: Index
    ) -> None:
        """The outputs of a channel tile in one run."""
        image, pixel = self._where(run)
        self.slot = self.builder.sub(run, first)
        tap = (0, 1)
        tile = Tile(0, pixel, self.run, False, tap, tap)
        self.tile(part, (0, image, number), tile)

    def pixels(
        self, image: Index, block: Index, row: Index, column: Index, tile: Tile
    ) -> SSAValue:
        """The prologue's pixels [pixels, lanes] of the run that is multiplied."""
        sizes = (1, 1, self.run, self.spec.lanes)
        where = (self.slot, block, 0, 0)
        return self.builder.subview(self.values, where, sizes, drop=(0, 1))

    def _where(self, number: Index) -> tuple[Index, Index]:
        """The image of a run and its first pixel."""
        image, run = self.builder.unflatten(number, (self.spec.batch, self.runs))
        return image, self.builder.mul(run, self.run)
