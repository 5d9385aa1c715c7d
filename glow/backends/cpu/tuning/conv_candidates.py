"""The configurations that a convolution on channel blocks could have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glow.backends.cpu.dialect.config import ConvConfig
from glow.backends.cpu.kernels.convolution.conv2d_chunks import with_chunks
from glow.backends.cpu.kernels.convolution.conv2d_config import conv_tiling, tile_model
from glow.backends.cpu.kernels.convolution.conv2d_order import ORDERS
from glow.backends.cpu.kernels.convolution.conv2d_spec import PIXELS, Conv2dSpec
from glow.backends.cpu.tiling.tiles import MAX_BLOCKS, channel_parts
from glow.backends.cpu.tuning.candidate_lists import (
    CUTS,
    SEGMENTS,
    UNLIKE,
    equal_cuts,
    fitting,
    in_turns,
)
from glow.lowering.loop_builder.window import row_segments
from glow.lowering.target.target import Target


def conv_candidates(
    spec: Conv2dSpec, target: Target, first: ConvConfig
) -> Iterator[ConvConfig]:
    """The best tiles of several numbers of blocks, with and without the borders of rows; then the
    others in turns with other segments, and with other orders of the best of them.
    """
    if first.order == PIXELS or first.images:
        return
    tiles = sorted(_conv_tiles(spec, target, first), key=lambda tile: tile[0])
    usual = [_ordered(spec, tile, first.order, target) for _, tile in tiles]
    configs = fitting(spec, target, usual)
    best = {config.blocks: config for config in (*reversed(configs), first)}
    unlike = [config for config in configs if config is best[config.blocks]]
    yield from unlike[:UNLIKE]
    cuts = (
        list(_other_chunks(spec, first))
        if first.chunk
        else [replace(first, segments=segments) for segments in SEGMENTS]
    )
    orders = [
        [_ordered(spec, tile, order, target) for tile in configs[:CUTS]]
        for order in ORDERS
        if order not in (first.order, PIXELS)
    ]
    yield from in_turns([fitting(spec, target, cuts), *orders, configs])


def _ordered(
    spec: Conv2dSpec, tile: ConvConfig, order: str, target: Target
) -> ConvConfig:
    config = replace(tile, order=order, rows=1, chunk=0)
    tiling = conv_tiling(replace(spec, config=config), target)
    chunks = with_chunks(spec, tiling, target) if order == "rows" else None
    return chunks or replace(config, segments=_conv_segments(spec, config))


def _other_chunks(spec: Conv2dSpec, config: ConvConfig) -> Iterator[ConvConfig]:
    """More and fewer input channels and rows at a time, and all channels."""
    height, blocks = spec.walked.output[0], spec.input_blocks
    for rows, chunk in ((1, 2), (2, 1), (0.5, 1), (1, 0.5), (2, 0.5)):
        several = min(height, max(1, int(rows * config.rows)))
        some = min(blocks - 1, max(1, int(chunk * config.chunk)))
        yield replace(config, rows=several, chunk=some)
    yield replace(config, rows=1, chunk=0)


def _conv_tiles(
    spec: Conv2dSpec, target: Target, first: ConvConfig
) -> Iterator[tuple[float, ConvConfig]]:
    """Register tiles with the cycles that the model says."""
    window, total = spec.walked, spec.output_blocks
    choices = (False, True) if window.side_columns() else (first.whole_rows,)
    models = {w: tile_model(spec, target, whole_rows=w) for w in choices}
    top, bottom = window.interior(0)
    for blocks in range(1, min(MAX_BLOCKS, total) + 1):
        parts = channel_parts(total, blocks)
        for whole in choices:
            row, model = window.output[1] if whole else window.row_run, models[whole]
            sides = () if whole or not window.line_columns() else parts
            for size in equal_cuts(row, model.max_pixels(blocks)):
                pixels = (size, *(model.pixels(row, part.blocks) for part in parts[1:]))
                side = tuple(model.pixels(bottom - top, part.blocks) for part in sides)
                config = ConvConfig(parts[0].blocks, pixels, side, whole)
                runs = conv_tiling(replace(spec, config=config), target).runs
                yield (
                    sum(
                        part.tiles
                        * count
                        * model.cover_cycles(length, pixels[number], part.blocks)
                        for number, part in enumerate(parts)
                        for count, length in runs
                        if length
                    ),
                    config,
                )


def _conv_segments(spec: Conv2dSpec, config: ConvConfig) -> int:
    planes = spec.batch
    if config.order != "shared_rows":
        planes *= spec.groups * len(range(0, spec.output_blocks, config.blocks))
    return row_segments(spec.walked, lambda _: config.pixels[0], planes)
