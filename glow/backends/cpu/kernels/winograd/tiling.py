"""How a Winograd convolution is cut into blocks, and how its weights are packed.

Tiles start at multiples of m, except that the last one of a row or column is moved up to end
with the plane. Consecutive tile rows of all images form blocks. One block of everything is
computed in three phases, which suits big weights: they stream by once. Small weights stay in
the L2, and then what should stay there too is the block, so blocks are small and each goes
through all phases in one kernel: all patches first, then products and outputs of one channel
tile after the other, so that few products exist at a time; or all products, if they have so few
input channels that they are done sooner than they are put away. Planes of few tiles are cut so,
too, where the cycles say it: threads share few blocks less evenly, but what three phases leave for
each other may not stay in the L2. Where the tiles of a block would make positions meet in few sets
of the L1, as those of planes of 32 or 128 do, scratch memory has one tile more.

Packed weights are [position][channel tile][input channel][blocks][lanes], or with channel tiles
outermost for a fused kernel, one such array per `ChannelPart`: the product reads them front to
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod, sqrt
from typing import TypeVar

from xdsl.dialects.builtin import MemRefType

from glow.backends.cpu.dialect.config import USUAL_PREFETCH, WinogradConfig
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.tiling.tiles import (
    MAX_BLOCKS,
    SECOND_PART_PENALTY,
    ChannelPart,
    TileModel,
    channel_parts,
    choose_blocks,
    has_small_tiles,
)
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target

MAX_FUSED_WORK_ITEMS = 16
"""The work items of a fused kernel, each with scratch memory of its own."""

THREADS = 8
"""What shares the blocks of a fused kernel: so many share them evenly, or all but one of them."""

FEWEST_BLOCKS = 7
"""Fewer blocks are not worth fusing: threads could not share them evenly."""

EXPOSED_WEIGHTS = 0.1
"""The share of the time that weights take from the last cache which multiplying does not hide,
fitted to 84 convolutions on a Zen 4 and a Xeon of the class of Sapphire Rapids."""

SMALL_BLOCK_CYCLES = 1.05
"""How many more cycles of products a smaller block is worth: the transforms around them like it."""

TILE_BLOCKS = 2
"""Smaller blocks than a register tile of so many blocks of channels read weights too often."""


_Index = TypeVar("_Index")


@dataclass(frozen=True)
class WinogradTiling:
    """How a convolution is cut: blocks of tiles, and register tiles of the products.

    A block is `block_rows` tile rows, or one of the `segments` of a single row.
    """

    spec: WinogradSpec
    config: WinogradConfig
    model: TileModel
    parts: tuple[ChannelPart, ...]

    @property
    def block_rows(self) -> int:
        """The tile rows of a block."""
        return self.config.block_rows

    @property
    def segments(self) -> int:
        """The blocks of a tile row."""
        return self.config.segments

    @property
    def fused(self) -> bool:
        """Whether each block goes through all phases."""
        return self.config.fused

    @property
    def tiles_across(self) -> int:
        """The tiles of a row segment; the last one is moved left to end with the row."""
        return -(-self.spec.tiles_across // self.segments)

    @property
    def has_empty_segments(self) -> bool:
        """Whether fewer segments of that length cover a row: the others would begin behind it."""
        return (self.segments - 1) * self.tiles_across >= self.spec.tiles_across

    @property
    def tiles(self) -> int:
        """The tiles of a block."""
        return self.block_rows * self.tiles_across

    @property
    def tile_places(self) -> int:
        """The tiles that scratch memory has room for at each position."""
        return places(self.tiles, self.model.vector_bytes, self.model.target)

    @property
    def row_blocks(self) -> int:
        """The number of blocks of rows; the last one is moved up to end with the rows."""
        return -(-self.spec.tile_rows // self.block_rows)

    @property
    def shared_segments(self) -> int:
        """The parts of a row that work items share.

        Of columns no tile overlaps its neighbour, so that it makes no difference who comes last.
        """
        return self.segments if self.spec.axes == (0,) else 1

    @property
    def blocks_per_item(self) -> int:
        """The blocks of rows, or of their shared segments, in a work item of the fused kernel."""
        return -(-self.shared_blocks // MAX_FUSED_WORK_ITEMS)

    @property
    def shared_blocks(self) -> int:
        """What work items of the fused kernel share."""
        return self.row_blocks * self.shared_segments

    @property
    def regions(self) -> int:
        """The parts of the scratch memory, one per work item of the fused kernel."""
        return -(-self.shared_blocks // self.blocks_per_item) if self.fused else 1

    @property
    def channel_tiles(self) -> int:
        """The channel tiles of all parts."""
        return sum(part.tiles for part in self.parts)

    def register_tiles(self, part: ChannelPart) -> int:
        """The Winograd tiles in a register tile of the products."""
        return self.config.pixels[self.parts.index(part)]

    @property
    def patches_type(self) -> MemRefType:
        """The memref type of the transformed patches."""
        return self._scratch(self.spec.input_blocks)

    @property
    def products_type(self) -> MemRefType:
        """The memref type of the products."""
        return self._scratch(self.product_blocks)

    def product_cycles(self) -> float:
        """The cycles of a tile's products at one position."""
        run = self.model.run_cycles
        return sum(p.tiles * run(self.tiles, p.blocks) for p in self.parts) / self.tiles

    def cycles(self) -> float:
        """The cycles of all phases on one core, with patches and products in the second cache."""
        spec, core = self.spec, self.model.target.core
        products = self.tiles * self.product_cycles()
        per_position = products + core.pass_cycles * self._vectors
        return self._blocks * spec.positions * per_position

    @property
    def call_cycles(self) -> float:
        """The cycles of what three phases call more than one kernel."""
        return 0 if self.fused else 2 * self.model.target.core.barrier_cycles

    def cycles_with_misses(self) -> float:
        """The cycles of all calls, with patches and products that may leave the second cache.

        What a phase of its own leaves comes back from the second cache, or from the last one where
        patches and products together exceed half of the second. Weights that exceed it come from
        the last one again for each block.
        """
        spec, core = self.spec, self.model.target.core
        last = core.sustained_l3_bytes_per_cycle or core.far_bytes_per_cycle
        weights = spec.group_weights * types.byte_width(spec.element)
        if self.fused:
            again = self._blocks * weights / last
            far = weights + self._block_bytes > core.l2_bytes * 3 // 4
            return (
                max(self.cycles() + EXPOSED_WEIGHTS * again, again)
                if far
                else self.cycles()
            )
        leaving = spec.positions * self._vectors * core.vector_bytes
        cycles = self.cycles() + leaving / core.sustained_l2_bytes_per_cycle
        cycles += self.call_cycles
        is_large = self._block_bytes > core.l2_bytes // 2
        return cycles + 2 * self._block_bytes / last if is_large else cycles

    def cycles_with_code(self) -> float:
        """Those with misses, where a second part of code is worth its gain only."""
        return self.cycles_with_misses() * SECOND_PART_PENALTY ** (len(self.parts) - 1)

    @property
    def _blocks(self) -> int:
        return self.row_blocks * self.segments

    @property
    def _vectors(self) -> int:
        """The registers of a block's inputs and outputs at one position."""
        registers = max(1, self.model.vector_bytes // self.model.target.vector_bytes)
        return (
            self.tiles * (self.spec.input_blocks + self.spec.output_blocks) * registers
        )

    @property
    def has_resident_weights(self) -> bool:
        """Whether all weights stay in the L2; no group leaves its own there for the next."""
        weight_bytes = self.spec.group_weights * types.byte_width(self.spec.element)
        fits = weight_bytes <= self.model.target.l2_bytes // 2
        return fits and self.spec.groups == 1

    def is_roomy(self) -> bool:
        """Whether a block and the weights of a channel tile leave room in the L2."""
        spec, blocks = self.spec, self.parts[0].blocks
        weights = spec.positions * spec.in_channels * blocks * self.model.vector_bytes
        most = max(2 * self._block_bytes, self._block_bytes + weights)
        return most <= self.model.target.l2_bytes

    def fits(self) -> bool:
        """Whether a block stays in the L2 while weights pass by."""
        return self._block_bytes <= self.model.target.l2_bytes * 3 // 4

    @property
    def _block_bytes(self) -> int:
        blocks = self.spec.input_blocks + self.product_blocks
        tiles = self.spec.positions * self.tile_places
        return tiles * blocks * self.model.vector_bytes

    @property
    def keeps_products(self) -> bool:
        """Whether the products of all output channels exist at a time.

        Products of fewer channels than they store are sooner done than their results are put
        away: taking these up again at once is slower.
        """
        return not self.fused or self.spec.input_blocks < self.parts[0].blocks

    @property
    def product_blocks(self) -> int:
        """The blocks of output channels whose products exist at a time."""
        return self.spec.output_blocks if self.keeps_products else self.parts[0].blocks

    def panel(self, position: _Index, channel_tile: _Index) -> tuple[_Index, _Index]:
        """The leading indices, or extents, of packed weights in their order."""
        if self.fused:
            return channel_tile, position
        return position, channel_tile

    def _scratch(self, blocks: int) -> MemRefType:
        spec = self.spec
        shape = (self.regions, blocks, spec.positions, self.tile_places, spec.lanes)
        return types.memref_type(shape, spec.element)


def places(tiles: int, tile_bytes: int, target: Target) -> int:
    """The tiles of so many bytes that scratch memory has room for at each position.

    One more than there are where the 36 lines of a tile would share four sets of the L1, or
    fewer.
    """
    sets = target.core.l1_set_distance
    return tiles + (gcd(tiles * tile_bytes, sets) >= sets // 4)


def scratch_sizes(tiling: WinogradTiling) -> tuple[int, int, int]:
    """The elements of transformed patches, of products, and of the sizes of pixels."""
    patches, products = (
        prod(memref.get_shape())
        for memref in (tiling.patches_type, tiling.products_type)
    )
    return patches, products, tiling.spec.batch * prod(tiling.spec.plane)


def choose_winograd_tiling(spec: WinogradSpec, target: Target) -> WinogradTiling:
    """The blocks and register tiles of a convolution as configured; else the best for a target.

    Bias, epilogue and pool make no difference to it.
    """
    if spec.config is None:
        return _choose_tiling(spec.bare, target)
    parts = channel_parts(spec.output_blocks, spec.config.blocks)
    return WinogradTiling(spec.bare, spec.config, spec.model(target), parts)


@bounded_cache
def _choose_tiling(spec: WinogradSpec, target: Target) -> WinogradTiling:
    across, rows = spec.tiles_across, spec.tile_rows
    least_tiles = spec.model(target).max_pixels(TILE_BLOCKS)
    if spec.groups > 1:
        least_tiles = min(least_tiles, spec.tiles_down * across)
    most_rows, most_segments = rows // THREADS, across // least_tiles
    cuts = [(count, 1) for count in range(most_rows, 0, -1)]
    least = 2 if most_rows else _least_segments(spec)
    cuts += [(1, count) for count in range(least, most_segments + 1)]
    tilings = (
        winograd_tiling(spec, target, *cut, fused=True, blocks=blocks)
        for cut in cuts
        if cut[0] * across // cut[1] >= least_tiles and spec.allows_rows(cut[0])
        for blocks in range(1, min(MAX_BLOCKS, spec.output_blocks) + 1)
    )
    fused = [t for t in tilings if t.fits() and not t.has_empty_segments]
    if fused:
        return _best(fused)
    return _phases_or_small_blocks(spec, target)


def _phases_or_small_blocks(spec: WinogradSpec, target: Target) -> WinogradTiling:
    """Three phases, or blocks of squares that are few or small, where those take fewer cycles."""
    if spec.groups > 1:
        return _largest_of_groups(spec, target)
    phases = winograd_tiling(spec, target, spec.tile_rows)
    if spec.is_line:
        return phases
    tilings = [
        winograd_tiling(spec, target, height, fused=True)
        for height in range(1, spec.tile_rows // FEWEST_BLOCKS + 1)
    ]
    fitting = [tiling for tiling in tilings if tiling.fits()]
    roomy = [tiling for tiling in fitting if tiling.is_roomy()]
    small = min(roomy or fitting, key=_shared_cycles, default=phases)
    return small if _shared_cycles(small) < phases.cycles_with_misses() else phases


def _largest_of_groups(spec: WinogradSpec, target: Target) -> WinogradTiling:
    """The largest blocks of groups that stay in the L2, or single rows: there are no phases of
    several groups, each of which has weights of its own.
    """
    heights = filter(spec.allows_rows, range(1, spec.tiles_down + 1))
    tilings = [winograd_tiling(spec, target, rows, fused=True) for rows in heights]
    return next((each for each in reversed(tilings) if each.fits()), tilings[0])


def _shared_cycles(tiling: WinogradTiling) -> float:
    """A thread's cycles, and the part of `THREADS` threads: both count alike."""
    rounds = -(-tiling.shared_blocks // THREADS)
    return tiling.cycles_with_misses() * sqrt(rounds * THREADS / tiling.shared_blocks)


def _least_segments(spec: WinogradSpec) -> int:
    """How many make blocks enough of too few rows; work items share those of columns only."""
    few = spec.axes == (0,)
    return -(-THREADS // spec.tile_rows) if few else spec.tiles_across + 1


def _best(tilings: Sequence[WinogradTiling]) -> WinogradTiling:
    """The one with the fewest cycles; if weights are in the L2, the smallest of almost equals."""
    costs = [tiling.cycles_with_code() for tiling in tilings]
    least = min(costs)
    if not tilings[costs.index(least)].has_resident_weights:
        return tilings[costs.index(least)]
    pairs = zip(tilings, costs, strict=True)
    almost = [pair for pair in pairs if pair[1] <= SMALL_BLOCK_CYCLES * least]
    return min(almost, key=lambda pair: (pair[0].tiles, pair[1]))[0]


def winograd_tiling(
    spec: WinogradSpec,
    target: Target,
    block_rows: int,
    segments: int = 1,
    *,
    fused: bool = False,
    blocks: int | None = None,
) -> WinogradTiling:
    """The tiling with blocks of that many tile rows, or of segments of one.

    Register tiles have so many `blocks` of channels, by default the best number of them.
    """
    model = spec.model(target)
    tiles = block_rows * -(-spec.tiles_across // segments)
    blocks = blocks or choose_blocks(model, spec.output_blocks, [(1, tiles)])
    parts = channel_parts(spec.output_blocks, blocks)
    pixels = tuple(model.pixels(tiles, part.blocks) for part in parts)
    # All blocks of a fused kernel read the same weights, unless each group has its own, so that the
    # last cache has them: the hardware fetches them in order, and asking is one of a step's few
    # instructions.
    shares = fused and spec.groups == 1
    asks = not (shares and has_small_tiles(spec.element, target))
    prefetch = USUAL_PREFETCH if asks else 0
    config = WinogradConfig(
        block_rows, parts[0].blocks, pixels, segments, fused, prefetch
    )
    return WinogradTiling(spec, config, model, parts)
