"""Kernels that map each channel block of [N, C / lanes, H, W, lanes] to its own output plane.

Depthwise convolution and pooling differ only in what they do at a tap; this module reads the
taps, walks the planes and stores the tiles.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.dialect.config import DepthwiseConfig
from glow.backends.cpu.tiling.row_tiles import PixelTraversal
from glow.backends.cpu.tiling.tiles import covering_size
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import CarryBody, Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import Epilogue, apply_epilogue
from glow.lowering.loop_builder.window import (
    PlaneTraversal,
    Range,
    Tile,
    Window,
    row_segments,
    tiles_of_runs,
)
from glow.lowering.loop_builder.work_items import WorkItems
from glow.lowering.target.core import Core

MAX_PIXELS = 12
MAX_UNROLLED_PIXELS = 4
"""Unrolled bodies overlap in the core, so more pixels would only cost compile time: LLVM's loop
strength reduction is superlinear in the loads of a loop. Short runs need no loop."""

OTHER_REGISTERS = 2
"""A weight and an input that is repeated."""

MAX_UNROLLED_TAPS = 9
MAX_UNROLLED_SIDES = 2
LOOP_EXITS = 2 / 3
"""Mispredicted ends of the loops around the taps of a tile, of which some are unrolled."""

STORES = 2
"""A pixel's sums are stored and, before that, go through an epilogue that takes about as long."""


@dataclass(frozen=True)
class BlockedPlanes:
    """Planes of channel blocks and the window that slides over each of them."""

    batch: int
    channels: int
    window: Window
    lanes: int = 16
    element: Attribute = f32
    config: DepthwiseConfig | None = None
    """Chosen before; else the best one for the target."""
    group: int = 1
    """How many channels of its block a channel reads at a tap."""

    @property
    def blocks(self) -> int:
        """The number of channel blocks."""
        return -(-self.channels // self.lanes)

    @property
    def input_type(self) -> MemRefType:
        """The memref type of the input."""
        return self._type(self.window.input)

    @property
    def output_type(self) -> MemRefType:
        """The memref type of the output."""
        return self._type(self.window.output)

    @property
    def channel_type(self) -> MemRefType:
        """The memref type of one value per channel."""
        return types.memref_type((self.blocks, self.lanes), self.element)

    def _type(self, plane: tuple[int, int]) -> MemRefType:
        shape = (self.batch, self.blocks, *plane, self.lanes)
        return types.memref_type(shape, self.element)

    @property
    def by_pixel(self) -> bool:
        """Whether one loop body takes every pixel."""
        return self.config is not None and self.config.by_pixel

    @property
    def unrolled(self) -> bool:
        """Whether interior tiles have one copy of the body per tap."""
        rows, columns = self.window.kernel
        return not self.by_pixel and self.group * rows * columns <= MAX_UNROLLED_TAPS

    def tile_size(self, run: int, core: Core) -> int:
        """How many pixels a tile should have to cover a run of that many."""
        most = self._most_pixels(core)
        if self.unrolled and run > 2 * MAX_UNROLLED_PIXELS:
            most = MAX_UNROLLED_PIXELS
        return covering_size(run, most, lambda pixels: self._tile_cycles(pixels, core))

    def run_cycles(self, run: int, pixels: int, core: Core) -> float:
        """The cycles of a run of pixels covered by tiles of that size."""
        return -(-run // pixels) * self._tile_cycles(pixels, core)

    def _tile_cycles(self, pixels: int, core: Core) -> float:
        rows, columns = self.window.kernel
        taps = self.group * rows * columns
        per_pixel = taps / core.loads_per_cycle + STORES / core.stores_per_cycle
        return pixels * per_pixel + LOOP_EXITS * core.mispredict_cycles

    def _most_pixels(self, core: Core) -> int:
        """A tile's: sums and inputs of groups are in registers while their channels are read."""
        free = (core.vector_registers - OTHER_REGISTERS) // 2
        return MAX_PIXELS if self.group == 1 else max(1, min(MAX_PIXELS, free))

    def choose_config(
        self, core: Core, *, small_loops: bool = False
    ) -> DepthwiseConfig:
        """The tiles that cover a plane in the fewest cycles, or take the least code."""
        if small_loops:
            return DepthwiseConfig(1, by_pixel=True)
        top, bottom = self.window.interior(0)
        runs = (self.window.row_run, bottom - top)
        pixels, sides = (self.tile_size(run, core) for run in runs)
        segments = row_segments(self.window, lambda _: pixels, self.batch * self.blocks)
        sides = sides if self.has_sides(segments) else 1
        return DepthwiseConfig(pixels, sides, segments)

    def has_sides(self, segments: int) -> bool:
        """Whether pixels at borders of rows have tiles of their own."""
        return bool(self.window.line_columns()) and not self._takes_sides(segments)

    def _takes_sides(self, segments: int) -> bool:
        """Whether a row's pixels at borders are visited with it."""
        low, high = self.window.interior(1)
        few_sides = self.window.side_columns() <= MAX_UNROLLED_SIDES
        return self.unrolled and few_sides and low < high and segments == 1

    def traversal(self, core: Core) -> PlaneTraversal | PixelTraversal:
        """The walk over one output plane."""
        if self.by_pixel:
            return PixelTraversal(self.window)
        config = self.config or self.choose_config(core)
        return PlaneTraversal(
            self.window,
            tiles_of_runs(self.window, config.pixels),
            static_rows=self.unrolled,
            segments=config.segments,
            side_size=lambda _: config.sides,
            whole_rows=self._takes_sides(config.segments),
        )

    def wrong_config(self) -> str | None:
        """What the window does not allow of the configuration, if so."""
        config = self.config or DepthwiseConfig(1)
        if config.by_pixel and config != DepthwiseConfig(1, by_pixel=True):
            return "tiles of several pixels where it takes them one by one"
        row, (top, bottom) = self.window.row_run, self.window.interior(0)
        for what, size, run in (
            ("pixels of a row", config.pixels, row),
            ("pixels of a column", config.sides, bottom - top),
        ):
            most = max(1, min(run, MAX_PIXELS))
            if size > most:
                return f"tiles of {size} {what}: the plane and the kernel allow 1 to {most}"
        if config.segments > max(1, row):
            return f"{config.segments} segments: a row has {row} pixels"
        return None

    def work_items(self, core: Core) -> WorkItems:
        """The parallel space: the lines of a plane, then its channel blocks.

        Lines come first as in convolutions, so that a thread reads what it wrote.
        """
        return WorkItems((self.batch, self.blocks), self.traversal(core).lines, 1)


TapBody = Callable[[Index, Index, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""Takes (kernel row, kernel column, pixels, carried values), returns the new values."""


@dataclass(frozen=True)
class PlaneTile:
    """One tile of one plane, with the operations that kernels need on it."""

    builder: LoopBuilder
    planes: BlockedPlanes
    image: Index
    block: Index
    tile: Tile

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the tile as a vector: pixels x lanes."""
        return (self.tile.pixels, self.planes.lanes)

    @property
    def is_interior(self) -> bool:
        """Whether every tap of every pixel is known to lie inside."""
        rows, columns = self.planes.window.kernel
        return (self.tile.row_taps, self.tile.column_taps) == ((0, rows), (0, columns))

    def taps(
        self, source: SSAValue, values: Sequence[SSAValue], body: TapBody
    ) -> Sequence[SSAValue]:
        """The values after all taps that lie inside the image."""

        def over_columns(row: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self._over(
                self.tile.column_taps,
                values,
                lambda column, values: body(
                    row, column, self.pixels(source, row, column), values
                ),
            )

        return self._over(self.tile.row_taps, values, over_columns)

    def _over(
        self, taps: Range, values: Sequence[SSAValue], body: CarryBody
    ) -> Sequence[SSAValue]:
        """The values after a range of taps, one copy of the body each where known."""
        low, high = taps
        if not (
            self.planes.unrolled and isinstance(low, int) and isinstance(high, int)
        ):
            return self.builder.carry(low, high, 1, values, body)
        for position in range(low, high):
            values = body(position, values)
        return values

    def pixels(self, source: SSAValue, row: Index, column: Index) -> SSAValue:
        """The input pixels [pixels, lanes] of the tile at one tap."""
        b, window, tile = self.builder, self.planes.window, self.tile
        y = b.add(window.origin(b, 0, tile.row), b.mul(row, window.dilations[0]))
        x = b.add(window.origin(b, 1, tile.column), b.mul(column, window.dilations[1]))
        lanes = self.planes.lanes
        along = (tile.pixels, 1) if tile.vertical else (1, tile.pixels)
        view = b.subview(
            source,
            (self.image, self.block, y, x, 0),
            (1, 1, *along, lanes),
            (1, 1, *window.strides, 1),
            drop=(0, 1, 3 if tile.vertical else 2),
        )
        return b.transfer_read(view, (0, 0), self.shape, (0, 1))

    def channel(self, buffer: SSAValue) -> SSAValue:
        """One value per channel, repeated for every pixel."""
        row = self.builder.vector_load(self.planes.lanes, buffer, self.block, 0)
        return self.builder.broadcast(row, self.shape)

    def store(
        self,
        value: SSAValue,
        output: SSAValue,
        epilogue: Epilogue | None,
        epilogue_operands: Sequence[SSAValue],
    ) -> None:
        """Stores the tile after its epilogue."""
        b, tile = self.builder, self.tile
        where = (self.image, self.block, tile.row, tile.column, 0)
        axes = (2 if tile.vertical else 3, 4)
        result = apply_epilogue(
            b,
            epilogue,
            value,
            epilogue_operands,
            full=lambda buffer: b.transfer_read(buffer, where, self.shape, axes),
            channel=self.channel,
        )
        b.transfer_write(result, output, where, axes)


def visit_planes(
    b: LoopBuilder,
    planes: BlockedPlanes,
    low: Index,
    high: Index,
    begin_chunk: Callable[[Index], Callable[[PlaneTile], None]],
) -> None:
    """Runs the body on every tile of the work items [low, high).

    `begin_chunk` gets the channel block of some lines and returns the body for their tiles, so
    that what they need once is loaded once.
    """
    traversal = planes.traversal(b.target.core)
    work_items = planes.work_items(b.target.core)

    def chunk(outer: Sequence[Index], first: Index, last: Index) -> None:
        image, block = outer
        body = begin_chunk(block)

        def line(index: Index) -> None:
            traversal.visit(
                b, index, lambda tile: body(PlaneTile(b, planes, image, block, tile))
            )

        work_items.visit_lines(b, first, last, line)

    work_items.visit_chunks(b, low, high, chunk)
