"""The shapes of a convolution: what the choice of its kernel and packing depend on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import cast

from glow.dialects.attributes import Attributes
from glow.lowering.instr_to_loops.winograd_cost import (
    choose_winograd,
    direct_cycles,
    winograd_cycles,
)
from glow.lowering.instr_to_loops.winograd_spec import (
    ACCURATE_PATCH,
    KERNELS,
    POINTS,
    WinogradSpec,
    choose_winograd_tiling,
)
from glow.lowering.target import Target

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
    scratch: Pair
    """The elements of transformed inputs, and of products."""
    packed_weights: int
    cycles: float
    saved_cycles: float
    """The time that a direct convolution takes longer."""


def winograd_spec(shape: ConvShape, tile: int, lanes: int) -> WinogradSpec:
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
    )


@cache
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
    if spec is None:
        return None
    tiling = choose_winograd_tiling(spec, target)
    patches, products = (
        prod(memref.get_shape())
        for memref in (tiling.patches_type, tiling.products_type)
    )
    cycles = winograd_cycles(spec, target)
    saved = direct_cycles(spec, target) - cycles
    scratch = patches, products
    return WinogradChoice(spec.tile, scratch, spec.packed_weights, cycles, saved)
