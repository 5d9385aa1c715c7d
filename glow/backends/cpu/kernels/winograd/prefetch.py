"""What the products of a Winograd convolution ask for ahead of time.

Products do arithmetic for long and need little memory; the phases around them move much and
calculate little. So while a panel of weights is multiplied, the next panel comes to the
L2, and so do the patches of the next position, where phases are kernels of their own. In a
fused kernel so do the output of this block and the input of the next, if planes are so large
that they may lie in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiles import Origin, Scratch
from glow.backends.cpu.kernels.winograd.tiling import WinogradTiling
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.target.target import Target

NEAR = 3
"""The locality of what is asked for: with less, planes in memory take longer."""

CHANNELS_AHEAD = 64
"""How far ahead a panel is asked for that is read once: longer than memory takes."""

Fetch: TypeAlias = Callable[[Index], None]
"""What a step of a register tile asks for."""


def nothing(step: Index) -> None:
    """Ask for nothing."""


@dataclass(frozen=True)
class WeightsAhead:
    """The weights of the next panel; those in the L2 need no help.

    A panel that a single tile reads comes just in time: half of the L1 would hold
    what is read later.
    """

    builder: LoopBuilder
    tiling: WinogradTiling
    packed: SSAValue

    def fetch(
        self, part: ChannelPart, offset: Index, panel: tuple[Index, Index], tile: Index
    ) -> Fetch:
        """What each input channel asks for; the register tiles together ask for all.

        `offset` is where the part starts in the packed weights.
        """
        b, spec = self.builder, self.tiling.spec
        pixels = self.tiling.register_tiles(part)
        distance = self.tiling.config.prefetch
        if self.tiling.has_resident_weights or not distance:
            return nothing
        size = spec.in_channels * part.blocks * spec.lanes
        lines = -(-part.blocks // -(-self.tiling.tiles // pixels))
        step = lines * spec.lanes
        _, inner = self.tiling.panel(spec.positions, part.tiles)
        number = b.add(b.mul(panel[0], inner), panel[1])
        if pixels == self.tiling.tiles:
            ahead: Index = distance * CHANNELS_AHEAD * step
        else:
            share = b.mul(tile, -(-step * spec.in_channels // pixels))
            ahead = b.add(share, distance * size)
        start = b.add(b.add(b.mul(number, size), offset), ahead)

        def fetch(channel: Index) -> None:
            first = b.add(start, b.mul(channel, step))
            for line in range(lines):
                b.prefetch(self.packed, b.add(first, line * spec.lanes), locality=NEAR)

        return fetch


@dataclass(frozen=True)
class PatchesAhead:
    """The patches of the next position, where products go from position to position."""

    builder: LoopBuilder
    tiling: WinogradTiling
    patches: Scratch

    def fetch(self, part: ChannelPart, at: tuple[Index, Index], tile: Index) -> Fetch:
        """What each block of input channels asks for; the channel tiles together ask for all."""
        b, tiling = self.builder, self.tiling
        if tiling.fused:
            return nothing
        position, within = at
        channel_tile = b.add(within, part.first // tiling.parts[0].blocks)
        pixels, shares = tiling.register_tiles(part), tiling.channel_tiles
        share = b.floordiv(b.mul(channel_tile, pixels), shares)
        first, following = b.add(tile, share), b.add(position, 1)

        def fetch(block: Index) -> None:
            for k in range(-(-pixels // shares)):
                where = self.patches.at(block, following, b.add(first, k), 0)
                b.prefetch(self.patches.buffer, *where, locality=NEAR)

        return fetch


def planes_are_far(spec: WinogradSpec, target: Target) -> bool:
    """Whether input and output are too large to stay in a core's share of the last cache.

    For smaller ones, fetching takes more than it saves.
    """
    elements = sum(prod(t.get_shape()) for t in (spec.input_type, spec.output_type))
    return elements * types.bit_width(spec.element) // 8 > target.core.l3_share


@dataclass(frozen=True)
class _Area:
    """Pixels of a blocked tensor: `extents` are (channel blocks, rows, columns)."""

    buffer: SSAValue
    image: Index
    block: Index
    row: Index
    column: Index
    extents: tuple[int, int, int]


@dataclass(frozen=True)
class BlockAhead:
    """What a fused kernel moves after the products of the block at `origin`.

    That is the output of each channel tile, and the input of the block at `following` which
    this one does not read. Each register tile of the products asks for a share.
    """

    builder: LoopBuilder
    tiling: WinogradTiling
    source: SSAValue
    output: SSAValue
    origin: Origin
    following: Origin
    pool: int

    def fetch(self, part: ChannelPart, at: tuple[Index, Index], tile: Index) -> None:
        """Ask for the share of a tile at (position, channel tile of the part)."""
        b, positions = self.builder, self.tiling.spec.positions
        position, within = at
        tile_blocks = self.tiling.parts[0].blocks
        first_tile = part.first // tile_blocks
        channel_tile = b.add(within, first_tile)
        panel = b.add(b.mul(channel_tile, positions), position)
        block = b.mul(channel_tile, tile_blocks)
        panels = positions * self.tiling.channel_tiles
        self._share(self._next_input(), part, (panel, panels), tile)
        self._share(self._output(block, part.blocks), part, (position, positions), tile)

    def _next_input(self) -> _Area:
        b, spec = self.builder, self.tiling.spec
        image, y, x = self._pixel(self.following)
        shared = spec.patch_plane[0] - spec.tile_plane[0] - spec.pads[0]
        extents = (spec.input_blocks, *self._plane(1))
        return _Area(self.source, image, 0, b.add(y, shared), x, extents)

    def _output(self, block: Index, blocks: int) -> _Area:
        b, pool = self.builder, self.pool
        image, *pixel = self._pixel(self.origin)
        y, x = (b.floordiv(position, pool) for position in pixel)
        return _Area(self.output, image, block, y, x, (blocks, *self._plane(pool)))

    def _plane(self, pool: int) -> tuple[int, int]:
        """The rows and columns of a block, or of its squares of a pool."""
        tiling = self.tiling
        rows, columns = (size // pool for size in tiling.spec.tile_plane)
        return rows * tiling.block_rows, columns * tiling.tiles_across

    def _pixel(self, origin: Origin) -> tuple[Index, Index, Index]:
        """The image, row and column where a block of tiles starts."""
        b, spec = self.builder, self.tiling.spec
        image, down = b.unflatten(origin.row, (spec.batch, spec.tiles_down))
        rows, columns = spec.tile_plane
        return image, b.mul(down, rows), b.mul(origin.across, columns)

    def _share(
        self, area: _Area, part: ChannelPart, panel: tuple[Index, int], tile: Index
    ) -> None:
        """Ask for the share that a tile of panel (number, of so many) has of an area."""
        b, tiles = self.builder, self.tiling.tiles
        number, panels = panel
        per_tile = prod(area.extents) // tiles
        done = b.mul(b.add(b.mul(number, tiles), tile), per_tile)
        start = b.unflatten(b.floordiv(done, panels), area.extents)
        block, row, column = map(b.add, start, (area.block, area.row, area.column))
        last = types.shape_of(area.buffer)[2] - 1
        row = b.minimum(row, last)
        for k in range(-(-self.tiling.register_tiles(part) * per_tile // panels)):
            where = (area.image, block, row, b.add(column, k), 0)
            b.prefetch(area.buffer, *where, locality=NEAR)
