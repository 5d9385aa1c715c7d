"""Whether a convolution takes its input channels in chunks, and how many rows then go together.

A tile of pixels passes by the weights of all input channels and taps. With sixteen registers it is
small, and these come from the second cache at a rate near what that sustains, if they do not fill
it; and the tile reads rows of as many planes as there are blocks of channels, each on pages of its
own. So the channels are cut:

    for a few rows:  for a chunk of channels:  for all tiles of these rows:
        sums of the tile += weights of the chunk * pixels of the chunk

A chunk's weights and pixels stay near for all tiles of the rows. Sums wait on the stack, and add up
in the same order as without chunks. With 32 registers a tile multiplies a weight so often that the
second cache keeps up with it.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from glow.backends.cpu.dialect.config import ConvConfig
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec, ConvTiling
from glow.backends.cpu.tiling.row_tiles import last_pixels
from glow.backends.cpu.tiling.tiles import has_small_tiles
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.work_items import MANY_WORK_ITEMS
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_integer

WEIGHTS_SHARE = 1 / 8
"""Of the second cache, for the weights of a chunk."""

ROWS_SHARE = 1 / 3
"""Of the second cache, for a chunk's pixels and the sums of the rows that go together."""

STACK_BYTES = 128 * 1024
"""The most memory for sums; threads have megabytes of stack."""


def may_chunk(spec: Conv2dSpec, target: Target) -> bool:
    """Whether the channels of a convolution are cut where its weights leave the first cache."""
    whole = spec.group_inputs % spec.input_lanes == 0
    return type(spec) is Conv2dSpec and whole and has_small_tiles(spec.element, target)


def with_chunks(
    spec: Conv2dSpec, tiling: ConvTiling, target: Target
) -> ConvConfig | None:
    """The configuration with chunks and rows that go together, where channels should be cut."""
    config, blocks = tiling.config, spec.input_blocks
    panel = _block_bytes(spec, config) * prod(spec.window.kernel)
    if not may_chunk(spec, target) or not config.whole_rows or _overlap(spec, config):
        return None
    if panel * blocks <= target.core.l1_bytes:
        return None
    chunk = max(1, int(WEIGHTS_SHARE * target.l2_bytes) // panel)
    if chunk >= blocks:
        return None
    chunk = -(-blocks // -(-blocks // chunk))
    config = replace(config, chunk=chunk, order="rows", segments=1)
    lines = _lines(spec, replace(tiling, config=config), target)
    height, width = spec.walked.output
    if height == 1:
        config = replace(config, segments=min(lines, -(-width // config.pixels[0])))
    else:
        config = replace(config, rows=-(-height // min(lines, height)))
    return None if wrong_chunk(spec, config) else config


def _overlap(spec: Conv2dSpec, config: ConvConfig) -> bool:
    """Whether a row's last tile overlaps another, and pixels of both would be added up twice."""
    width = spec.walked.output[1]
    return any(
        (width - last_pixels(spec.walked, pixels)) % pixels for pixels in config.pixels
    )


def _block_bytes(spec: Conv2dSpec, config: ConvConfig) -> int:
    """The bytes of a channel tile's weights for one tap of a block of input channels."""
    weights = spec.input_lanes * spec.lanes * config.blocks
    return weights * types.byte_width(spec.element)


def _lines(spec: Conv2dSpec, tiling: ConvTiling, target: Target) -> int:
    """The lines that a plane is cut into: enough work items, whose pixels and sums stay near."""
    window, config, height = spec.walked, tiling.config, spec.walked.output[0]
    channels = config.chunk * spec.input_lanes * types.byte_width(spec.element)
    pixels = channels * prod(window.input)
    vector_bytes = spec.lanes * types.byte_width(spec.sums)
    sums = config.blocks * vector_bytes * prod(window.output)
    shared = max(0, window.kernel[0] - window.strides[0]) / window.input[0]
    room = ROWS_SHARE * target.l2_bytes - shared * pixels
    pieces = spec.groups * spec.batch * sum(part.tiles for part in tiling.parts)
    if room <= 0:
        return height
    near, enough = (pixels + sums) / room, MANY_WORK_ITEMS / pieces
    return ceil(max(near, enough, 2 * sums / STACK_BYTES))


def wrong_chunk(spec: Conv2dSpec, config: ConvConfig) -> str | None:
    """What does not fit of chunks and of rows that go together, if anything."""
    if not config.chunk and config.rows == 1:
        return None
    if (
        not config.whole_rows
        or is_integer(spec.element)
        or type(spec) is not Conv2dSpec
    ):
        return "chunks and rows that go together: only tiles of whole rows of floats have them"
    if config.segments > 1 and config.rows > 1:
        return (
            f"{config.segments} segments of {config.rows} rows: one of them must be 1"
        )
    if config.rows > spec.walked.output[0]:
        return f"{config.rows} rows that go together: there are {spec.walked.output[0]}"
    if config.chunk and (
        spec.group_inputs % spec.input_lanes or config.chunk >= spec.input_blocks
    ):
        return (
            f"a chunk of {config.chunk} blocks: channels must be whole blocks, and more of them "
            f"than a chunk has, not {spec.input_blocks}"
        )
    if config.chunk and _overlap(spec, config):
        return "a chunk: a row's last tile takes in the border, and overlaps another"
    tiles = max(
        ceil(ceil(spec.walked.output[1] / pixels) / config.segments) * pixels
        for pixels in config.pixels
    )
    vector_bytes = spec.lanes * types.byte_width(spec.sums)
    size = config.rows * tiles * config.blocks * vector_bytes
    if config.chunk and size > STACK_BYTES:
        return f"sums of {size} bytes that wait for a chunk: {STACK_BYTES} is the most"
    return None
