"""The shapes of a convolution: what the choice of its kernel and packing depend on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from glow.backends.cpu.dialect.config import WinogradConfig
from glow.backends.cpu.kernels.winograd.cost import (
    choose_winograd,
    direct_cycles,
    winograd_cycles,
)
from glow.backends.cpu.kernels.winograd.spec import (
    ACCURATE_PATCH,
    KERNELS,
    POINTS,
    WinogradSpec,
    choose_winograd_tiling,
    scratch_sizes,
)
from glow.backends.cpu.tuning.choose import choose, choose_level
from glow.dialects.attributes import Attributes
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.target.target import Target

NO_FACTORS = np.empty((0, 0), np.float32)
Pair = tuple[int, int]
Pads = tuple[int, int, int, int]


@dataclass(frozen=True)
class ConvShape:
    """What the packing of a convolution's weights depends on."""

    batch: int
    input_channels: int
    output_channels: int
    group: int
    plain_input: bool
    plane: Pair
    kernel: Pair
    strides: Pair
    dilations: Pair
    pads: Pads


def conv_shape_of(attributes: Attributes, image: tuple[int, ...]) -> ConvShape:
    """The shapes of a `cpu.conv2d` that reads an image."""
    batch, _, *plane = image
    return ConvShape(
        batch,
        attributes.int("input_channels"),
        attributes.int("output_channels"),
        attributes.int("group"),
        len(plane) == 2,
        cast(Pair, tuple(plane[:2])),
        cast(Pair, attributes.ints("kernel")),
        cast(Pair, attributes.ints("strides")),
        cast(Pair, attributes.ints("dilations")),
        cast(Pads, attributes.ints("pads")),
    )


def winograd_shape_of(attributes: Attributes, image: tuple[int, ...]) -> ConvShape:
    """The shapes of a `cpu.winograd_conv2d` that reads an image."""
    batch, _, *plane, _ = image
    size = attributes.int("kernel")
    return ConvShape(
        batch,
        attributes.int("input_channels"),
        attributes.int("output_channels"),
        1,
        False,
        cast(Pair, tuple(plane)),
        (size, size),
        (1, 1),
        (1, 1),
        cast(Pads, attributes.ints("pads")),
    )


@dataclass(frozen=True)
class WinogradChoice:
    """How a convolution is done with few multiplications, and what that takes and saves."""

    tile: int
    scratch: tuple[int, int, int]
    """The elements of transformed inputs, of products, and of the sizes of pixels."""
    packed_weights: int
    config: WinogradConfig
    cycles: float
    saved_cycles: float
    """The time that a direct convolution takes longer."""
    factors: NDArray[np.float32] = field(
        default_factory=lambda: NO_FACTORS, compare=False
    )
    """What the channels of pixels are multiplied by, so that their sizes can be compared."""
    zero_taps: bool = False
    """Whether taps of zero stand for none."""


def winograd_spec(
    shape: ConvShape, tile: int, lanes: int, config: WinogradConfig | None = None
) -> WinogradSpec:
    """The convolution with tiles of that size."""
    return WinogradSpec(
        shape.batch,
        shape.input_channels,
        shape.output_channels,
        shape.plane,
        shape.pads,
        tile,
        shape.kernel[0],
        lanes=lanes,
        has_bias=True,
        config=config,
    )


@bounded_cache
def choose_winograd_tile(
    shape: ConvShape, target: Target, numerics: str = "default"
) -> WinogradChoice | None:
    """The fastest tile; None where a direct convolution is faster or the only way."""
    if (shape.strides, shape.dilations) != ((1, 1), (1, 1)):
        return None
    if shape.kernel not in [(size, size) for size in KERNELS]:
        return None
    if shape.group != 1 or shape.plain_input:
        return None
    largest = max(POINTS) if numerics == "fast" else ACCURATE_PATCH
    spec = choose_winograd(winograd_spec(shape, 4, target.lanes(32)), target, largest)
    if spec is None or min(spec.plane) < spec.tile:
        return None
    tiling = choose_winograd_tiling(spec, target)
    cycles = winograd_cycles(spec, target)
    saved = direct_cycles(spec, target) - cycles
    scratch = scratch_sizes(tiling)
    return WinogradChoice(
        spec.tile, scratch, spec.packed_weights, tiling.config, cycles, saved
    )


def tuned_winograd_tile(
    shape: ConvShape, target: Target, numerics: str = "default"
) -> WinogradChoice | None:
    """The same, unless tuning found better blocks, or direct sums faster."""
    choice = choose_winograd_tile(shape, target, numerics)
    if choice is None or not choose_level("winograd", (shape,), choice.tile, target):
        return None
    spec = winograd_spec(shape, choice.tile, target.lanes(32))
    config = choose(spec, target)
    if config == choice.config:
        return choice
    tiling = choose_winograd_tiling(replace(spec, config=config), target)
    return replace(choice, config=config, scratch=scratch_sizes(tiling))
