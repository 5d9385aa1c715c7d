"""The configuration of a blocked convolution: its register tiles, order and segments of rows.

Big weights stay in the L2 if all lines pass by them before the next channels; small ones
stay there anyway, and then the input line is what should. So it should where asking for the next
channels' weights takes longer than to read all weights for each line. Threads share lines where
they can: each then reads of the input only what it wrote itself. For big weights that means that
each reads all of them, so these are shared by channels instead where they are larger than what
threads would read of each other. With few registers channels are cut instead (`conv2d_chunks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd, prod

from glow.backends.cpu.dialect.config import USUAL_PREFETCH, ConvConfig, wrong_prefetch
from glow.backends.cpu.kernels.convolution.conv2d_chunks import (
    may_chunk,
    with_chunks,
    wrong_chunk,
)
from glow.backends.cpu.kernels.convolution.conv2d_order import ORDERS, ConvOrder
from glow.backends.cpu.kernels.convolution.conv2d_spec import (
    PIXELS,
    Conv2dSpec,
    ConvTiling,
)
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import SparseConv2dSpec
from glow.backends.cpu.tiling.row_tiles import (
    MOST_BORDER_TILES,
    takes_whole_rows,
    tap_pixels,
)
from glow.backends.cpu.tiling.tiles import (
    ChannelPart,
    TileModel,
    channel_parts,
    choose_blocks,
    covering_size,
)
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.window import plane_runs, row_segments
from glow.lowering.loop_builder.work_items import prefers_rows
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_integer


def conv_tiling(spec: Conv2dSpec, target: Target) -> ConvTiling:
    """The register tiles of a convolution as it is configured, by default the best for a target."""
    config = spec.config or choose_conv_config(spec, target)
    parts = channel_parts(spec.output_blocks, config.blocks)
    return ConvTiling(config, parts, spec.walked, spec.batch)


def tile_model(spec: Conv2dSpec, target: Target, *, whole_rows: bool) -> TileModel:
    """What register tiles cost that take in the borders of rows, or do not."""
    near = whole_rows and may_chunk(spec, target)
    return replace(spec.model(target), cuts_last=whole_rows, near_weights=near)


def plane_cycles(spec: Conv2dSpec, target: Target) -> float:
    """The estimated cycles of all channels of a group on one plane."""
    tiling = conv_tiling(spec, target)
    model = tile_model(spec, target, whole_rows=tiling.config.whole_rows)
    return sum(
        part.tiles * count * model.run_cycles(length, part.blocks)
        for part in tiling.parts
        for count, length in tiling.runs
    )


@bounded_cache
def choose_conv_config(spec: Conv2dSpec, target: Target) -> ConvConfig:
    """The best configuration for a target; bias and epilogue make no difference to it."""
    window = spec.walked
    fills_registers = target.prefers_small_loops or spec.lanes > target.lanes(32)
    if fills_registers and is_integer(spec.element):
        return ConvConfig(1, (1,), order=PIXELS)
    parts, whole_rows = _choose_parts(spec, target)
    if whole_rows and (of_images := _tiles_of_images(spec, parts, target)) is not None:
        return of_images
    top, bottom = window.interior(0)
    row = window.output[1] if whole_rows else window.row_run
    sides = () if whole_rows or not window.line_columns() else parts
    model = tile_model(spec, target, whole_rows=whole_rows)
    config = ConvConfig(
        parts[0].blocks,
        tuple(model.pixels(row, part.blocks) for part in parts),
        tuple(model.pixels(bottom - top, part.blocks) for part in sides),
        whole_rows,
    )
    return _with_order(spec, ConvTiling(config, parts, window, spec.batch), target)


MAX_ROW = 8
"""Pixels of a row, from which on tiles of a row have work enough."""

LEAST_GAIN = 0.9
"""Images lie apart, and rows do not."""

PAGE_BYTES = 4096
"""The smallest page: a nearest cache is looked up by the part of an address below it."""


def _tiles_of_images(
    spec: Conv2dSpec, of_rows: Sequence[ChannelPart], target: Target
) -> ConvConfig | None:
    """Tiles of one pixel of many images, where they need fewer cycles than those of rows.

    Pixels of a short row share few taps, and what a tap does with one of them waits for itself.
    """
    model, window, width = spec.model(target), spec.walked, spec.walked.output[1]
    if type(spec) is not Conv2dSpec or width > MAX_ROW or spec.batch == 1:
        return None
    blocks = choose_blocks(model, spec.output_blocks, [(width, spec.batch)])
    parts = channel_parts(spec.output_blocks, blocks)
    pixels = tuple(_images(spec, model, part.blocks) for part in parts)
    taps = sum(tap_pixels(window, 0, width))
    images = sum(
        part.tiles
        * taps
        * -(-spec.batch // size)
        * model.step_cycles(size, part.blocks)
        for part, size in zip(parts, pixels, strict=True)
    )
    rows = sum(part.tiles * _row_cycles(spec, model, part) for part in of_rows)
    if images > LEAST_GAIN * rows:
        return None
    config = ConvConfig(parts[0].blocks, pixels, images=True)
    return _with_order(spec, ConvTiling(config, parts, window, spec.batch), target)


def _images(spec: Conv2dSpec, model: TileModel, blocks: int) -> int:
    """The images of a tile that cover a batch in the fewest cycles.

    No more than the nearest cache holds: pixels of images that lie a multiple of its sets apart
    share one set of it.
    """
    _, *image = spec.input_type.get_shape()
    stride = prod(image) * types.byte_width(spec.element)
    ways = model.target.core.l1_bytes // PAGE_BYTES
    most = PAGE_BYTES // gcd(PAGE_BYTES, stride) * ways - 1
    return covering_size(
        spec.batch,
        max(1, min(model.max_pixels(blocks), most)),
        lambda size: model.cycles(size, blocks),
    )


def _row_cycles(spec: Conv2dSpec, model: TileModel, part: ChannelPart) -> float:
    """The cycles of a step of all column taps in one row of each image."""
    width = spec.walked.output[1]
    size = model.pixels(width, part.blocks)
    firsts = [min(first, width - size) for first in range(0, width, size)]
    return spec.batch * sum(
        model.step_cycles(count, part.blocks)
        for first in firsts
        for count in tap_pixels(spec.walked, first, size)
        if count
    )


def _choose_parts(
    spec: Conv2dSpec, target: Target
) -> tuple[tuple[ChannelPart, ...], bool]:
    """The tiles of channels, and whether rows are covered with their borders."""
    model, window, blocks = spec.model(target), spec.walked, spec.output_blocks
    if isinstance(spec, SparseConv2dSpec):
        return spec.parts, False
    if window.side_columns() or may_chunk(spec, target):
        of_rows = tile_model(spec, target, whole_rows=True)
        parts = channel_parts(blocks, choose_blocks(of_rows, blocks, [window.output]))
        sizes = [of_rows.pixels(window.output[1], part.blocks) for part in parts]
        if _allows_whole_rows(spec, sizes):
            return parts, True
    return channel_parts(
        blocks, choose_blocks(model, blocks, plane_runs(window))
    ), False


def _allows_whole_rows(spec: Conv2dSpec, pixels: Sequence[int]) -> bool:
    """Whether tiles of those sizes may take in the columns at the borders of rows."""
    reads_all = is_integer(spec.element) or isinstance(spec, SparseConv2dSpec)
    return not reads_all and all(takes_whole_rows(spec.walked, size) for size in pixels)


def _with_order(spec: Conv2dSpec, tiling: ConvTiling, target: Target) -> ConvConfig:
    """The configuration with what its loops run over."""
    config, model = tiling.config, spec.model(target)
    tiles = sum(part.tiles for part in tiling.parts)

    def cut(order: str, planes: int) -> ConvConfig:
        """With as many segments of rows as `planes` independent planes need."""
        if config.images:
            return replace(config, order=order)
        segments = row_segments(
            tiling.window, lambda run: model.pixels(run, config.blocks), planes
        )
        return replace(config, order=order, segments=segments)

    if may_chunk(spec, target) and not config.images:
        # Weights follow each other, so that the hardware fetches them; asking for them would be
        # one of a step's few instructions.
        return with_chunks(spec, tiling, target) or cut(
            "rows", spec.groups * spec.batch * tiles
        )
    if not spec.has_big_weights(target) or _prefers_lines(spec, tiling, target):
        return cut("rows", spec.groups * spec.batch * tiles)
    weight_bytes = spec.packed_weights * types.byte_width(spec.element)
    shared = cut("shared_rows", spec.batch)
    both = prod(spec.input_type.get_shape()) + prod(spec.output_type.get_shape())
    items = ConvOrder(spec, replace(tiling, config=shared)).work_items
    activations = both * types.byte_width(spec.element)
    if spec.FETCHES_AT_STEPS and prefers_rows(
        items, weight_bytes, activations, target.core
    ):
        return shared
    return cut("channels", spec.groups * spec.batch * tiles)


def _prefers_lines(spec: Conv2dSpec, tiling: ConvTiling, target: Target) -> bool:
    """Whether big weights cost less where all of them pass by each line of the plane.

    Then a tile's come from memory for the first line, and from the last cache for each other one.
    Else all lines pass by the weights of some channels: the image comes from the last cache once
    for each of these, the weights again for each line where both do not stay near, and each step
    asks for weights of the next channels, which takes a load and the time of a fill. The plane of
    a single tap is one line.
    """
    is_single = prod(spec.window.kernel) == 1
    if is_single or tiling.config.images or not spec.FETCHES_AT_STEPS:
        return False
    core, model, blocks = target.core, spec.model(target), tiling.parts[0].blocks
    pixels, (lines, width) = tiling.config.pixels[0], tiling.window.output
    tiles, step_bytes = -(-width // pixels), blocks * model.vector_bytes
    last_cache = core.sustained_l3_bytes_per_cycle or core.far_bytes_per_cycle
    again = step_bytes / tiles / last_cache
    first = step_bytes / (lines * tiles) / core.far_bytes_per_cycle
    by_lines = model.step_cycles(pixels, blocks) + again + first
    fill = core.loads_per_cycle * step_bytes / core.l2_bytes_per_cycle
    asking = replace(model, step_loads=model.step_loads + 1 + fill)
    by_channels = asking.step_cycles(pixels, blocks)
    panel = model.steps * step_bytes
    image = prod(spec.input_type.get_shape()[1:]) * types.byte_width(spec.element)
    window = image * min(1, spec.window.kernel[0] / spec.window.input[0])
    if panel + image > core.l2_bytes:
        by_channels += image / (lines * tiles * model.steps) / last_cache
    if panel + window > core.l2_bytes * 3 // 4:
        by_channels += again
    return by_lines < by_channels


def wrong_conv_config(spec: Conv2dSpec, target: Target) -> str | None:
    """What the target or the shapes do not allow of a convolution's configuration, if so."""
    return next(_wrong(spec, target), None) if spec.config else None


def _longest_runs(spec: Conv2dSpec, tiling: ConvTiling) -> tuple[int, int]:
    """The pixels that tiles of a row divide, and how many sizes there are for side columns."""
    config, window = tiling.config, spec.walked
    if config.images:
        return spec.batch, 0
    if config.whole_rows or config.order == PIXELS:
        return window.output[1], 0
    return window.row_run, len(tiling.parts) if window.line_columns() else 0


def _wrong_tiles(spec: Conv2dSpec, config: ConvConfig) -> Iterator[str]:
    if config.images and (config.whole_rows or type(spec) is not Conv2dSpec):
        yield "tiles of images: those of whole rows and other kernels have none"
    if config.order == PIXELS and not is_integer(spec.element):
        yield "single pixels: only kernels of integers have them"


def _wrong(spec: Conv2dSpec, target: Target) -> Iterator[str]:
    tiling, window = conv_tiling(spec, target), spec.walked
    config, model = tiling.config, spec.model(target)
    if config.order not in ORDERS:
        yield f"the order {config.order}: there are {', '.join(ORDERS)}"
    if isinstance(spec, SparseConv2dSpec) and config.blocks != spec.tile_blocks:
        yield f"tiles of {config.blocks} blocks: its lists are for {spec.tile_blocks}"
    top, bottom = window.interior(0)
    row, sides = _longest_runs(spec, tiling)
    yield from _wrong_tiles(spec, config)
    for what, sizes, run, count in (
        ("a row", config.pixels, row, len(tiling.parts)),
        ("a column at a border", config.sides, bottom - top, sides),
    ):
        if len(sizes) != count:
            yield (
                f"{len(sizes)} sizes of tiles of {what}: {spec.output_blocks} blocks of "
                f"channels in tiles of {config.blocks} want {count}"
            )
        for part, size in zip(tiling.parts, sizes, strict=False):
            most = max(1, min(run, model.max_pixels(part.blocks)))
            if size > most:
                yield (
                    f"a tile of {size} pixels and {part.blocks} blocks: the target's "
                    f"{target.num_vector_registers} registers and {run} pixels of {what} "
                    f"allow 1 to {most} pixels"
                )
    if config.whole_rows and not _allows_whole_rows(spec, config.pixels):
        yield (
            f"whole rows in tiles of {config.pixels[0]} pixels: only floats have them, where at "
            f"most {MOST_BORDER_TILES} of a row's tiles reach its borders"
        )
    if config.segments > max(1, row):
        yield f"{config.segments} segments: a row has {row} pixels"
    if wrong := wrong_chunk(spec, config):
        yield wrong
    yield from _wrong_prefetch(spec, config)


def _wrong_prefetch(spec: Conv2dSpec, config: ConvConfig) -> Iterator[str]:
    if config.prefetch != USUAL_PREFETCH and not reads_ahead(spec, config):
        yield (
            f"a prefetch of {config.prefetch}: no weights are fetched ahead in the order "
            f"{config.order}"
        )
    if wrong := wrong_prefetch(config.prefetch):
        yield wrong


def reads_ahead(spec: Conv2dSpec, config: ConvConfig) -> bool:
    """Whether big weights are fetched ahead of the tile that reads them."""
    by_lines = config.order in ("rows", PIXELS)
    return not by_lines and not isinstance(spec, SparseConv2dSpec)
