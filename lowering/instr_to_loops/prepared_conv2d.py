"""A 1 x 1 convolution together with the element-wise work on its input.

A slice is a run of pixels. A few runs at a time are prepared, all channels of them, and then
multiplied while they are in a near cache:

    for a few runs:  prepared[run] = region(input[run]);  output[run] = weights * prepared[run]

A thread so reads what it has just written. The prepared values go to their buffer in place, so
that nothing but the order of the work differs from the two kernels. On two cores that are far
from each other DenseNet-121 takes 11.2 instead of 13.1 ms; on one core, or near ones, it makes
no difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import SSAValue

from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Index
from glow.lowering.instr_to_loops.conv2d import Convolution
from glow.lowering.instr_to_loops.conv2d_spec import Conv2dSpec, choose_conv_tile
from glow.lowering.instr_to_loops.elementwise import ElementwiseSpec
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.slices import SliceSpace
from glow.lowering.instr_to_loops.tiles import ChannelPart
from glow.lowering.instr_to_loops.window import Tile
from glow.lowering.target import Target

MOST_RUNS = 8
"""The runs at a time: weights of a channel tile pass by once for all of them."""

MOST_SLOWER = 1.1
"""What tiles that do not overlap may cost more than the best ones."""


@dataclass(frozen=True)
class PreparedConv2dSpec:
    """The convolution and what is done to each element of its input.

    Inputs of the preparation are full, or have one number a channel: [1, C / lanes, 1, 1, lanes].
    """

    spec: Conv2dSpec
    preparation: ElementwiseSpec

    @property
    def operations(self) -> int:
        """Those of the convolution."""
        return self.spec.operations

    @property
    def channel_shape(self) -> tuple[int, ...]:
        """The shape of an input with one number a channel."""
        return (1, self.spec.input_blocks, 1, 1, self.spec.lanes)

    def run_pixels(self, target: Target) -> int:
        """The pixels of a run: those of the best register tile that covers a plane exactly."""
        tiling = choose_conv_tile(self.spec, target)
        model, blocks = tiling.model, tiling.parts[0].blocks
        pixels = prod(tiling.window.output)
        exact = [n for n in range(1, model.max_pixels(blocks) + 1) if pixels % n == 0]
        return min(exact, key=lambda n: model.cover_cycles(pixels, n, blocks))

    def _covers_well(self, target: Target) -> bool:
        """Whether runs take no longer than tiles that may overlap."""
        tiling = choose_conv_tile(self.spec, target)
        model, blocks = tiling.model, tiling.parts[0].blocks
        pixels, run = prod(tiling.window.output), self.run_pixels(target)
        best = model.run_cycles(pixels, blocks)
        return model.cover_cycles(pixels, run, blocks) <= MOST_SLOWER * best

    def supported(self, target: Target) -> bool:
        """Whether runs cover the plane well, and weights are small enough to pass by often."""
        spec, preparation = self.spec, self.preparation
        known = {spec.input_type.get_shape(), self.channel_shape}
        elements = (*preparation.region.input_types, *preparation.region.result_types)
        is_plain = (
            spec.window.is_pointwise and spec.groups == 1 and not spec.plain_input
        )
        return (
            is_plain
            and preparation.shape == spec.input_type.get_shape()
            and known.issuperset(preparation.input_shapes)
            and len(preparation.region.result_types) == 1
            and {spec.element, *elements} == {f32}
            and 4 * spec.packed_weights <= target.l2_bytes // 2
            and self._covers_well(target)
        )


def build_prepared_conv2d(
    name: str, spec: PreparedConv2dSpec, target: Target
) -> Kernel:
    """Output, prepared input, weights, [bias], extras, inputs of the preparation."""
    return _PreparedConvolution(spec, target).kernel(name)


class _PreparedConvolution(Convolution):
    """Builds one kernel; both buffers that come first are written."""

    def __init__(self, prepared: PreparedConv2dSpec, target: Target) -> None:
        super().__init__(prepared.spec, target)
        self.preparation = prepared.preparation
        self.pixels_of_run = prepared.run_pixels(target)
        self.runs = prod(self.window.output) // self.pixels_of_run
        self.slices = SliceSpace((self.spec.batch * self.runs,), 1, 1)
        self.channels_outermost = False

    def table_types(self) -> Sequence[MemRefType]:
        """The inputs of the preparation."""
        shapes = self.preparation.input_shapes
        return [types.memref_type(shape, self.spec.element) for shape in shapes]

    def body(self, arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
        """Computes the slices [low, high)."""
        own = len(arguments) - len(self.preparation.input_shapes)
        self.sources = [self._source(buffer) for buffer in arguments[own:]]
        super().body(arguments[:own], low, high)

    def _source(self, buffer: SSAValue) -> SSAValue:
        """[N, blocks, 1, pixels, lanes], or [blocks, lanes] of one number a channel."""
        shape = types.shape_of(buffer)
        if shape != self.spec.input_type.get_shape():
            return self.builder.reinterpret(buffer, (shape[1], shape[4]))
        return self.on_input(buffer)

    def visit(self, low: Index, high: Index) -> None:
        """Prepares and multiplies a few runs at a time."""
        b = self.builder

        def some(first: Index) -> None:
            self._some_runs(first, b.minimum(b.add(first, MOST_RUNS), high))

        b.loop(low, high, MOST_RUNS, some)

    def _some_runs(self, first: Index, last: Index) -> None:
        b = self.builder
        b.loop(
            0,
            self.spec.input_blocks,
            1,
            lambda block: self._prepare(block, first, last),
        )
        for part in self.tiling.parts:

            def tiles(number: Index, part: ChannelPart = part) -> None:
                b.loop(first, last, 1, lambda run: self._multiply(part, number, run))

            b.loop(0, part.tiles, 1, tiles)

    def _prepare(self, block: Index, first: Index, last: Index) -> None:
        """The prepared values of a channel block in some runs."""
        b, lanes = self.builder, self.spec.lanes
        shape = (self.pixels_of_run, lanes)
        channels = {
            source: b.broadcast(b.vector_load(lanes, source, block, 0), shape)
            for source in self.sources
            if len(types.shape_of(source)) == 2
        }

        def run(number: Index) -> None:
            image, column = self._where(number)
            where = (image, block, 0, column, 0)
            values = [
                channels.get(source) or b.transfer_read(source, where, shape, (3, 4))
                for source in self.sources
            ]
            (value,) = self.preparation.region.instantiate(b, values)
            b.transfer_write(value, self.buffers.input, where, (3, 4))

        b.loop(first, last, 1, run)

    def _multiply(self, part: ChannelPart, number: Index, run: Index) -> None:
        """The outputs of a channel tile in one run."""
        image, column = self._where(run)
        tap = (0, 1)
        tile = Tile(0, column, self.pixels_of_run, False, tap, tap)
        self.tile(part, (0, image, number), tile)

    def _where(self, number: Index) -> tuple[Index, Index]:
        """The image of a run and its first pixel."""
        image, run = self.builder.unflatten(number, (self.spec.batch, self.runs))
        return image, self.builder.mul(run, self.pixels_of_run)
