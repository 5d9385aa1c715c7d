"""A 1 x 1 convolution together with the element-wise work on its input.

A work item is a run of pixels. The prologue computes a few runs at a time, all channels of them,
on the stack of the thread, and then they are multiplied:

    for a few runs:  made = region(input[runs]);  output[runs] = weights * made

So its results never leave the L2, and no other core touches the memory that they are
in: a line that another core has read or written last takes long to write.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d import Convolution
from glow.backends.cpu.kernels.convolution.prologue_spec import PrologueConv2dSpec
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Tile
from glow.lowering.target.target import Target


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
        at_once = replace(self.tiling.config, rows=1, chunk=0)
        self.tiling = replace(self.tiling, config=at_once)
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
