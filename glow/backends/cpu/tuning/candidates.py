"""Which configurations a kernel could have: a generator a family, in one table.

`candidates(spec, target)` begins with the one that the cost model chooses; the others follow in
the model's order where it has one. All of them fit the target and add up terms in one order, so
that results are the same bits: tiles of products whose sums are cut otherwise are left out.

The first few differ in what matters most, since neighbours take about as long: in how many blocks
of channels the tiles of a convolution have, and in whether weights are fetched ahead. Those that
fetch them further ahead come behind the first dozen.

To add a knob: a field of the configuration (`dialect/config.py`), which the builder reads and
`wrong_config` bounds, and its values here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from glow.backends.cpu.dialect.config import (
    USUAL_PREFETCH,
    AttentionConfig,
    DepthwiseConfig,
    MatmulConfig,
    PlainConvConfig,
    RecurrenceConfig,
    StrassenConfig,
    WinogradConfig,
)
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.kernels.channelwise.planes import MAX_PIXELS, BlockedPlanes
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.convolution.direct_conv import (
    VECTORS,
    DirectConvSpec,
    PixelTile,
)
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.int8_winograd.spec import (
    Int8WinogradSpec,
    shared_cycles,
)
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.block_quantized_spec import BlockQuantizedSpec
from glow.backends.cpu.kernels.matmul.int8_batch_matmul import Int8BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.matmul_spec import STREAMS, MatmulSpec
from glow.backends.cpu.kernels.recurrence.weights import StepShape
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import (
    choose_winograd_tiling,
    winograd_tiling,
)
from glow.backends.cpu.tiling.matmul_tile import (
    MAX_BLOCKS,
    MAX_BLOCKS_OF_VECTOR,
    Tile,
    product_cycles,
    tallest,
)
from glow.backends.cpu.tiling.matrix_tile import matrix_tiles
from glow.backends.cpu.tiling.tiles import MAX_BLOCKS as MAX_CONV_BLOCKS
from glow.backends.cpu.tiling.tiles import channel_parts
from glow.backends.cpu.tuning.algorithms import AlgorithmSpec, LevelConfig
from glow.backends.cpu.tuning.candidate_lists import (
    SEGMENTS,
    UNLIKE,
    fitting,
    in_turns,
)
from glow.backends.cpu.tuning.conv_candidates import conv_candidates
from glow.backends.cpu.tuning.families import FAMILIES
from glow.backends.cpu.tuning.limits import fetches_weights
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.window import row_segments
from glow.lowering.target.target import Target

MOST = 200
"""The candidates of one kernel."""

EARLY = 12
"""How many come before weights that are fetched further ahead: half of what a search looks at."""

PREFETCHES = (2, 4)
"""How far ahead weights are fetched, over what the model says."""


def candidates(spec: Any, target: Target) -> list[Any]:
    """The configurations that a kernel could have, the model's own choice first."""
    bare = replace(spec, config=None)
    first = FAMILIES[type(spec).__name__].model(bare, target)
    tiles = fitting(bare, target, GENERATORS[type(spec)](bare, target, first))
    others = (config for config in dict.fromkeys(tiles) if config != first)
    if fetches_weights(replace(bare, config=first), target):
        others = _with_prefetches(others, first)
    return [first, *islice(others, MOST - 1)]


def _with_prefetches(others: Iterator[Any], first: Any) -> Iterator[Any]:
    """Candidates with the model's choice among them that fetches weights otherwise."""
    yield from islice(others, UNLIKE)
    yield replace(first, prefetch=0 if first.prefetch else USUAL_PREFETCH)
    yield from islice(others, EARLY - UNLIKE)
    yield from (replace(first, prefetch=distance) for distance in PREFETCHES)
    yield from others


def _plain(
    spec: DirectConvSpec, target: Target, first: PlainConvConfig
) -> Iterator[PlainConvConfig]:
    lanes, stride = target.lanes(types.bit_width(spec.element)), spec.walked.strides[1]
    run = spec.walked.row_run
    tiles = [
        PixelTile(channels, vectors, lanes)
        for channels in range(1, spec.group_outputs + 1)
        for vectors in VECTORS
    ]
    for tile in sorted(
        tiles, key=lambda tile: tile.run_cycles(run, stride, target.core)
    ):
        planes = max(1, spec.out_channels // tile.channels) * spec.batch
        segments = row_segments(spec.walked, tile.pixels, planes)
        yield PlainConvConfig(tile.channels, tile.vectors, segments)


def _planes(
    spec: BlockedPlanes, target: Target, first: DepthwiseConfig
) -> Iterator[DepthwiseConfig]:
    """All sizes of tiles, those first that cover a row in the fewest cycles; side columns that have
    tiles of their own take the model's size or the row's.
    """
    if first.by_pixel:
        return
    top, bottom = spec.window.interior(0)
    cycles = partial(spec.run_cycles, spec.window.row_run, core=target.core)
    sizes = sorted(range(1, MAX_PIXELS + 1), key=cycles)
    for segments in dict.fromkeys((first.segments, *SEGMENTS)):
        for pixels in sizes:
            yield DepthwiseConfig(pixels, first.sides, segments)
        for pixels in sizes if spec.has_sides(segments) else ():
            yield DepthwiseConfig(pixels, min(pixels, max(1, bottom - top)), segments)


def _winograd(
    spec: WinogradSpec, target: Target, first: WinogradConfig
) -> Iterator[WinogradConfig]:
    """Other register tiles of the model's blocks in turns with blocks of other sizes, each in the
    order of the model, which tells tiles apart better than blocks.
    """

    def cycles(config: WinogradConfig) -> float:
        configured = replace(spec, config=config)
        return choose_winograd_tiling(configured, target).cycles_with_misses()

    own = first.block_rows, first.segments, first.fused
    others = (
        config
        for cut in _winograd_cuts(spec)
        if cut != own
        for config in _winograd_tiles(spec, target, cut)
    )
    groups = (_winograd_tiles(spec, target, own), others)
    yield from in_turns([sorted(group, key=cycles) for group in groups])


Cut: TypeAlias = tuple[int, int, bool]
"""The tile rows of a block, the segments of one, and whether a block goes through all phases."""


def _int8_winograd(
    spec: Int8WinogradSpec, target: Target, first: WinogradConfig
) -> Iterator[WinogradConfig]:
    """Blocks of all sizes, whose scratch memory stays in the second cache."""

    def cycles(config: WinogradConfig) -> float:
        tiling = choose_winograd_tiling(replace(spec, config=config), target)
        return shared_cycles(tiling, target)

    cuts = (cut for cut in _winograd_cuts(spec) if cut[2])
    configs = (each for cut in cuts for each in _winograd_tiles(spec, target, cut))
    without = (replace(each, prefetch=first.prefetch) for each in configs)
    yield from sorted(without, key=cycles)


def _winograd_cuts(spec: WinogradSpec) -> list[Cut]:
    rows, across = spec.tile_rows, spec.tiles_across
    heights = {1, 2, 3, 4, rows // 4, rows // 2, spec.tiles_down} & set(range(1, rows))
    cuts = [(height, 1, True) for height in sorted(heights) if spec.allows_rows(height)]
    cuts += [(1, count, True) for count in (2, 3, 4) if across // count > 1]
    return cuts if spec.groups > 1 else [*cuts, (rows, 1, False)]


def _winograd_tiles(
    spec: WinogradSpec, target: Target, cut: Cut
) -> Iterator[WinogradConfig]:
    """Blocks of channels for a cut."""
    height, segments, fused = cut
    usual = winograd_tiling(spec, target, height, segments, fused=fused)
    for blocks in range(1, min(MAX_CONV_BLOCKS, spec.output_blocks) + 1):
        parts = channel_parts(spec.output_blocks, blocks)
        pixels = tuple(usual.model.pixels(usual.tiles, p.blocks) for p in parts)
        config = replace(usual.config, blocks=parts[0].blocks, pixels=pixels)
        tiling = choose_winograd_tiling(replace(spec, config=config), target)
        if not fused or tiling.fits():
            yield config


def tiles_like(
    first: Tile, sizes: tuple[int, int, int], target: Target, *, exact: bool = False
) -> list[Tile]:
    """The tiles of a [rows, columns, depth] product, those with the fewest cycles first.

    Terms are added up in the order of the first; in any where sums are `exact`.
    """
    rows, columns, depth = sizes
    core, total = target.core, -(-columns // target.lanes(32))
    most = MAX_BLOCKS_OF_VECTOR if rows == 1 else MAX_BLOCKS
    tiles = [
        Tile(height, blocks)
        for blocks in range(1, min(most, total) + 1)
        for height in range(1, min(rows, tallest(blocks, target)) + 1)
    ]
    tiles = [t for t in tiles if exact or t.unroll(core) == first.unroll(core)]
    return sorted(tiles, key=lambda t: product_cycles(t, rows, total, depth, core))


def _matmul(
    spec: MatmulSpec, target: Target, first: MatmulConfig
) -> Iterator[MatmulConfig]:
    if target.lanes(32) == 1:
        return
    tile = Tile(first.rows, first.blocks)
    sizes = (spec.rows, spec.columns, spec.steps)
    exact = spec.sums != types.f32
    if spec.has_matrix_tiles(target) and (exact or first.matrix_tiles):
        for each in matrix_tiles(spec.rows, spec.columns, target):
            yield MatmulConfig(each.rows, each.blocks, matrix_tiles=True)
    if first.matrix_tiles and not exact:
        return
    if spec.rows == 1 and not exact:
        for streams in (STREAMS, 1):
            yield replace(first, streams=streams, prefetch=0)
    for each in tiles_like(tile, sizes, target, exact=exact):
        if each.rows > tallest(each.blocks, target, spec.products(target)):
            continue
        streams = first.streams if each.blocks % first.streams == 0 else 1
        yield MatmulConfig(
            each.rows, each.blocks, prefetch=first.prefetch, streams=streams
        )


def _int8_batch_matmul(
    spec: Int8BatchMatmulSpec, target: Target, first: MatmulConfig
) -> Iterator[MatmulConfig]:
    tile = Tile(first.rows, first.blocks)
    sizes = (spec.rows, spec.columns, spec.steps)
    for each in tiles_like(tile, sizes, target, exact=True):
        yield MatmulConfig(each.rows, each.blocks)


def _block_quantized(
    spec: BlockQuantizedSpec, target: Target, first: MatmulConfig
) -> Iterator[MatmulConfig]:
    for tile in spec.tiles(target):
        yield MatmulConfig(tile.rows, tile.blocks)


def _batch_matmul(spec: BatchMatmulSpec, target: Target, first: Any) -> Iterator[Any]:
    """Another form adds up in another order, and the `dot` form has few tiles."""
    if first.form == "dot":
        return
    sizes = (spec.rows, spec.columns, spec.depth)
    for each in tiles_like(Tile(first.rows, first.blocks), sizes, target):
        yield replace(first, rows=each.rows, blocks=each.blocks)


def _attention(
    spec: AttentionSpec, target: Target, first: AttentionConfig
) -> Iterator[AttentionConfig]:
    """Tiles of scores by those of values: the model's with others of each."""
    keys = first.key_block or spec.keys
    score = Tile(first.score_rows, first.score_blocks)
    value = Tile(first.value_rows, first.value_blocks)
    for height in dict.fromkeys((first.rows, -(-first.rows // 2))):
        scores = tiles_like(score, (height, keys, spec.depth), target)
        values = tiles_like(value, (height, spec.columns, keys), target)
        pairs = [(s, v) for v in values[:1] for s in scores]
        pairs += [(s, v) for s in scores[:1] for v in values]
        for s, v in pairs:
            tiles = (s.rows, s.blocks, v.rows, v.blocks)
            yield AttentionConfig(height, *tiles, first.key_block)


def _strassen(
    spec: StrassenSpec, target: Target, first: StrassenConfig
) -> Iterator[StrassenConfig]:
    leaf = spec.leaf
    sizes = (leaf.rows, leaf.columns, leaf.steps)
    for each in tiles_like(Tile(first.rows, first.blocks), sizes, target):
        tiles = -(-leaf.rows // each.rows)
        for row_blocks in dict.fromkeys((first.row_blocks, 1, 2, 4, tiles)):
            yield StrassenConfig(each.rows, each.blocks, row_blocks)


def _recurrence(
    spec: StepShape, target: Target, first: RecurrenceConfig
) -> Iterator[RecurrenceConfig]:
    def order_of(config: RecurrenceConfig) -> set[int]:
        configured = replace(spec, config=config)
        heights = {config.rows, spec.rows % config.rows or config.rows}
        return {configured.unroll(target, height) for height in heights}

    whole = spec.whole_blocks(target)
    for blocks in (count for count in range(1, 5) if whole % count == 0):
        for rows in range(min(spec.rows, 8), 0, -1):
            for alternates in (first.alternates, not first.alternates):
                config = RecurrenceConfig(rows, blocks, alternates)
                if order_of(config) == order_of(first):
                    yield config


def _levels(
    spec: AlgorithmSpec, target: Target, first: LevelConfig
) -> Sequence[LevelConfig]:
    return [LevelConfig(spec.other)]


Generator = Callable[[Any, Target, Any], Iterator[Any] | Sequence[Any]]
"""Takes a specification, a target and the model's choice."""

GENERATORS: Mapping[type, Generator] = {
    Conv2dSpec: conv_candidates,
    Int8Conv2dSpec: conv_candidates,
    DirectConvSpec: _plain,
    BlockedPlanes: _planes,
    WinogradSpec: _winograd,
    Int8WinogradSpec: _int8_winograd,
    MatmulSpec: _matmul,
    BatchMatmulSpec: _batch_matmul,
    Int8BatchMatmulSpec: _int8_batch_matmul,
    BlockQuantizedSpec: _block_quantized,
    AttentionSpec: _attention,
    StrassenSpec: _strassen,
    StepShape: _recurrence,
    AlgorithmSpec: _levels,
}
"""By the kind of a specification. Those of convolutions that skip channels have one tile."""
