"""The shapes of a convolution: what the choice of its kernel and packing depend on."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import WinogradConfig
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import (
    Int8Conv2dSpec,
    input_step,
)
from glow.backends.cpu.kernels.winograd.spec import BOTH, KERNELS, WinogradSpec
from glow.dialects.attributes import Attributes
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target

if TYPE_CHECKING:
    from glow.backends.cpu.kernels.convolution.direct_conv import DirectConvSpec

NO_FACTORS = np.empty((0, 0), np.float32)
Pair = tuple[int, int]
Pads = tuple[int, int, int, int]
Winograd = TypeVar("Winograd", bound=WinogradSpec)


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
    wide_input: bool = False
    """Whether bytes of the input are stored as 16-bit integers."""

    def __str__(self) -> str:
        (down, across), (height, width) = self.kernel, self.plane
        channels = f"{self.input_channels} {self.output_channels}"
        steps = "x".join(map(str, self.strides))
        return f"{channels} ({down}x{across})/({steps}) on ({height}x{width})"

    @property
    def window(self) -> Window:
        """Where it slides, and over what."""
        return Window(self.plane, self.kernel, self.strides, self.dilations, self.pads)

    @property
    def operations(self) -> int:
        """The additions and multiplications of the direct sums."""
        taps = self.input_channels // self.group * prod(self.kernel)
        return 2 * self.batch * self.output_channels * prod(self.window.output) * taps


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


def winograd_kernel(attributes: Attributes) -> Pair:
    """The (height, width) of the filter of a `cpu.winograd_conv2d`."""
    size, axes = attributes.int("kernel"), attributes.ints("axes")
    down, across = (size if axis in axes else 1 for axis in BOTH)
    return down, across


def winograd_shape_of(
    attributes: Attributes, image: tuple[int, ...], kernel: Pair
) -> ConvShape:
    """The shapes of a `cpu.winograd_conv2d`, or of one of bytes, that reads an image."""
    batch, _, *plane, _ = image
    return ConvShape(
        batch,
        attributes.int("input_channels"),
        attributes.int("output_channels"),
        attributes.int("group"),
        False,
        cast(Pair, tuple(plane)),
        kernel,
        (1, 1),
        (1, 1),
        cast(Pads, attributes.ints("pads")),
    )


@dataclass(frozen=True)
class WinogradChoice:
    """How a convolution is done with few multiplications, and what that takes and saves."""

    tile: int
    scratch: tuple[int, ...]
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


def is_depthwise(shape: ConvShape) -> bool:
    """Whether each channel has its own filter."""
    return 1 < shape.group == shape.input_channels == shape.output_channels


def has_whole_blocks(shape: ConvShape, lanes: int) -> bool:
    """Whether there is one group, or each fills blocks with its channels."""
    channels = (shape.input_channels, shape.output_channels)
    return shape.group == 1 or all(
        count % (shape.group * lanes) == 0 for count in channels
    )


def multiplies_blocks(shape: ConvShape, lanes: int) -> bool:
    """Whether each group multiplies whole blocks of channels, for which there are transforms."""
    return has_whole_blocks(shape, lanes) and not is_depthwise(shape)


def winograd_axes(kernel: Pair) -> tuple[int, ...]:
    """The axes along which a kernel has taps; none where there is no transform for it."""
    axes = tuple(axis for axis in BOTH if kernel[axis] > 1)
    sizes = {kernel[axis] for axis in axes}
    known = len(sizes) == 1 and sizes <= set(KERNELS[len(axes)])
    return axes if known else ()


def winograd_spec(
    shape: ConvShape,
    tile: int,
    lanes: int,
    config: WinogradConfig | None = None,
    kind: type[Winograd] = WinogradSpec,
) -> Winograd:
    """The convolution with tiles of that size, by kernels of floats or of another kind."""
    return kind(
        shape.batch * shape.group,
        shape.input_channels // shape.group,
        shape.output_channels // shape.group,
        shape.plane,
        shape.pads,
        tile,
        max(shape.kernel),
        lanes=lanes,
        has_bias=True,
        axes=winograd_axes(shape.kernel),
        groups=shape.group,
        config=config,
    )


def has_word_dot(target: Target) -> bool:
    """Whether a target multiplies bytes as pairs of 16-bit integers, by instructions for these."""
    has_pairs = target.is_wasm or target.is_x86
    return has_pairs and target.byte_dot == "none" and target.lanes(32) > 1


def may_transform_bytes(shape: ConvShape, target: Target) -> bool:
    """Whether Winograd's method in integers is one for the taps and groups, and for the target."""
    window = (shape.kernel, shape.strides, shape.dilations)
    if window != ((3, 3), (1, 1), (1, 1)) or not may_multiply_words(target):
        return False
    return multiplies_blocks(shape, target.lanes(32))


def may_multiply_words(target: Target) -> bool:
    """Whether pairs of 16-bit integers take at most twice as long as bytes.

    Matrix tiles of bytes are faster still.
    """
    has_both = target.byte_dot == "vnni" and not target.has_int8_tiles
    return has_both or has_word_dot(target)


def conv2d_spec(shape: ConvShape, lanes: int, element: Attribute) -> Conv2dSpec:
    """A convolution of floats as its packing sees it."""
    return Conv2dSpec(
        shape.batch,
        shape.input_channels,
        shape.output_channels,
        shape.window,
        groups=shape.group,
        lanes=lanes,
        plain_input=shape.plain_input,
        has_bias=True,
        element=element,
    )


def plain_spec(shape: ConvShape) -> DirectConvSpec:
    """A convolution in the plain layout, of which few networks have one."""
    from glow.backends.cpu.kernels.convolution.direct_conv import DirectConvSpec

    return DirectConvSpec(
        shape.batch,
        shape.input_channels,
        shape.output_channels,
        shape.window,
        shape.group,
    )


def int8_conv2d_spec(
    shape: ConvShape, lanes: int, block_lanes: int, target: Target
) -> Int8Conv2dSpec:
    """An int8 convolution as its packing sees it."""
    return Int8Conv2dSpec(
        shape.batch,
        shape.input_channels,
        shape.output_channels,
        shape.window,
        groups=shape.group,
        lanes=lanes,
        has_bias=True,
        block_lanes=block_lanes,
        step=input_step(block_lanes, target, wide=shape.wide_input),
        wide_input=shape.wide_input,
    )
