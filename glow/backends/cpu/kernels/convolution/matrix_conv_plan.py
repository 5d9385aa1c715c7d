"""How an int8 convolution is cut for matrix tiles (AMX), and what that takes.

A band of output rows reads a part of the image, which is copied so that all channels of a pixel
lie together and padding is there as a number: `[rows, columns, channels]`. Then a matrix tile's
rows are pixels of a row of outputs, whatever tap of the kernel is multiplied, and each step takes
up to 64 channels; of few channels those of all taps in a row of the kernel, which lie side by side.
Pixels of a pointwise convolution are one row, of which a band is a piece.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, prod
from typing import Any

from numpy.typing import NDArray

from glow.backends.cpu.dialect.config import ConvConfig
from glow.backends.cpu.kernels.convolution.conv2d_config import (
    choose_conv_config,
    plane_cycles,
    wrong_conv_config,
)
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.convolution.weights import pack_conv_weights
from glow.backends.cpu.tiling.int8_tile import WORD
from glow.backends.cpu.tiling.matmul_tile import WANTED_WORK_ITEMS
from glow.backends.cpu.tiling.matrix_tile import FEWEST_ROWS, MOST_BLOCKS, MatrixTile
from glow.backends.cpu.tiling.tiles import ChannelPart, channel_parts
from glow.dialects.x86.amx import ROW_BYTES, ROWS
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target

BAND_BYTES = 64 << 10
"""What is copied at a time stays near: half of what a stack may hold."""

MOST_BYTES = 128 << 10


@dataclass(frozen=True)
class MatrixConvPlan:
    """The tiles of one convolution, of `pixels` each."""

    spec: Int8Conv2dSpec
    pixels: int

    @cached_property
    def window(self) -> Window:
        """Over the plane that tiles cover."""
        return self.spec.walked

    @property
    def is_flat(self) -> bool:
        """Whether pixels are one row, which bands are pieces of."""
        return self.spec.window.is_pointwise

    @property
    def channels(self) -> int:
        """Those of a pixel that is copied."""
        return self.spec.input_blocks * self.spec.block_lanes

    @property
    def picks(self) -> tuple[int, int]:
        """The distances of rows and columns that are copied: a single tap needs no others."""
        return self.window.strides if self.window.kernel == (1, 1) else (1, 1)

    @property
    def strides(self) -> tuple[int, int]:
        """The distances of windows in what is copied."""
        return (1, 1) if self.window.kernel == (1, 1) else self.window.strides

    @cached_property
    def depth(self) -> int:
        """The channels of a step: as many whole blocks as divide all."""
        blocks, size = self.spec.input_blocks, self.spec.block_lanes
        most = ROW_BYTES // size
        return size * next(n for n in range(most, 0, -1) if blocks % n == 0)

    @property
    def taps(self) -> int:
        """The taps of a row of the kernel that a step takes."""
        across = self.window.kernel[1]
        fits = self.depth == self.channels and self.window.dilations[1] == 1
        return across if fits and across * self.depth <= ROW_BYTES else 1

    @property
    def words(self) -> int:
        """Of the depth, in a step."""
        return self.depth * self.taps // WORD

    @property
    def steps(self) -> int:
        """The words along the whole depth."""
        return self.channels // WORD * prod(self.window.kernel)

    def reach(self, axis: int, outputs: int) -> int:
        """The rows or columns that so many outputs read of what is copied."""
        taps, step = self.window.kernel[axis], self.window.dilations[axis]
        return (outputs - 1) * self.strides[axis] + (taps - 1) * step + 1

    def copied_bytes(self, rows: int, columns: int) -> int:
        """Of a band."""
        return self.reach(0, rows) * self.reach(1, columns) * self.channels

    @cached_property
    def band(self) -> tuple[int, int]:
        """Its output rows and columns."""
        height, width = self.window.output
        if self.is_flat:
            most = max(2 * self.pixels, BAND_BYTES // self.channels)
            count, pair = ceil(width / most), 2 * self.pixels
            return 1, min(width, ceil(width / count / pair) * pair)
        rows = height
        most = MOST_BYTES if self.weight_bytes > BAND_BYTES * 4 else BAND_BYTES
        while rows > 1 and self.copied_bytes(rows, width) > most:
            rows -= 1
        return -(-height // -(-height // rows)), width

    @property
    def weight_bytes(self) -> int:
        """Of all packed weights."""
        return self.spec.packed_weights

    @property
    def bands(self) -> int:
        """Of an image."""
        (height, width), (rows, columns) = self.window.output, self.band
        return -(-height // rows) * -(-width // columns)

    @property
    def across(self) -> int:
        """The tiles of a row of a band."""
        return -(-self.band[1] // self.pixels)

    @property
    def pairs(self) -> int:
        """The pairs of tiles of a band."""
        return -(-self.band[0] * self.across // 2)

    @property
    def parts(self) -> tuple[ChannelPart, ...]:
        """The tiles of output channels."""
        blocks = self.spec.output_blocks
        return channel_parts(blocks, min(MOST_BLOCKS, blocks))

    @property
    def panels(self) -> int:
        """How many those are."""
        return sum(part.tiles for part in self.parts)

    @property
    def shares(self) -> int:
        """The parts of a band's channels that threads share."""
        bands = self.spec.batch * self.bands
        return min(self.panels, -(-WANTED_WORK_ITEMS // bands))

    def tile(self, blocks: int) -> MatrixTile:
        """Two tiles of pixels beside blocks of channels."""
        return MatrixTile(self.pixels, (0, self.pixels), blocks, self.words)

    def cycles(self, target: Target) -> float:
        """The estimated ones of an image."""
        core = target.core
        copied = self.copied_bytes(*self.band) / min(16, self.depth)
        tiles = sum(
            part.tiles * self.tile(part.blocks).cycles(self.steps, core)
            for part in self.parts
        )
        return self.bands * (copied * core.scalar_move_cycles + self.pairs * tiles)


def is_supported(spec: Int8Conv2dSpec, target: Target) -> bool:
    """Whether matrix tiles can compute a convolution."""
    lanes = spec.lanes == target.lanes(32) == ROWS
    plain = spec.groups == 1 and spec.borders == 1 and not spec.signed_input
    single_padded = spec.window.kernel == (1, 1) and any(spec.window.pads)
    if not (target.has_int8_tiles and lanes and plain) or single_padded:
        return False
    if spec.block_lanes % WORD or spec.block_lanes > ROWS:
        return False
    plan = MatrixConvPlan(spec, 1)
    return plan.copied_bytes(*plan.band) <= MOST_BYTES


def tile_pixels(window: Window) -> int:
    """The pixels of a tile: equal parts of a row, in pairs where that takes no more time."""
    width = window.output[1]
    sizes = [
        -(-width // count) for count in (2 * -(-width // (2 * ROWS)), -(-width // ROWS))
    ]
    return min(sizes, key=lambda m: -(-width // m) * max(m, FEWEST_ROWS))


def matrix_conv_plan(spec: Int8Conv2dSpec) -> MatrixConvPlan:
    """The plan of a convolution, which may be configured."""
    if spec.config is not None and spec.config.matrix_tiles:
        return MatrixConvPlan(spec, spec.config.pixels[0])
    return MatrixConvPlan(spec, tile_pixels(spec.walked))


def matrix_conv_config(spec: Int8Conv2dSpec) -> ConvConfig:
    """The configuration that says it."""
    plan = matrix_conv_plan(spec)
    blocks = min(MOST_BLOCKS, spec.output_blocks)
    return ConvConfig(blocks, (plan.pixels,), matrix_tiles=True)


def uses_matrix_tiles(spec: Int8Conv2dSpec) -> bool:
    """Whether a convolution is configured so."""
    return spec.config is not None and spec.config.matrix_tiles


def pack_int8_conv_weights(
    weights: NDArray[Any],
    spec: Int8Conv2dSpec,
    target: Target,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The weights as `pack_conv_weights` has them, by blocks of channels as large as steps."""
    if uses_matrix_tiles(spec):
        spec = replace(spec, block_lanes=matrix_conv_plan(spec).depth)
    return pack_conv_weights(weights, spec, target, out)


def choose_int8_conv_config(spec: Int8Conv2dSpec, target: Target) -> ConvConfig:
    """The best configuration for a target, by matrix tiles or by vectors."""
    vectors = choose_conv_config(spec, target)
    if not is_supported(spec, target):
        return vectors
    cycles = plane_cycles(replace(spec, config=vectors), target)
    is_faster = matrix_conv_plan(spec).cycles(target) < cycles
    return matrix_conv_config(spec) if is_faster else vectors


def wrong_int8_conv_config(spec: Int8Conv2dSpec, target: Target) -> str | None:
    """What the target or the shapes do not allow of a configuration, if so."""
    if spec.config is None or not spec.config.matrix_tiles:
        return wrong_conv_config(spec, target)
    config, most = spec.config, min(ROWS, spec.walked.output[1])
    if not is_supported(spec, target):
        return "matrix tiles: the target has none for such a convolution"
    if config.blocks <= MOST_BLOCKS and 1 <= config.pixels[0] <= most:
        return None
    return (
        f"a tile of {config.pixels[0]} pixels and {config.blocks} blocks: matrix tiles "
        f"allow 1 to {most} pixels and 1 to {MOST_BLOCKS} blocks"
    )
