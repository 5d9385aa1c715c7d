"""What a blocked convolution is, how it is tiled, and how its weights are packed for that.

Packed weights are [groups][channel tile][input block][kernel row][kernel column][input lane]
[blocks][lanes], one such array per `ChannelPart`: a tile reads them front to back. 16-bit
weights are multiplied in pairs of input lanes: ... [input lane / 2][blocks][lanes][2].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute

from glow.backends.cpu.tiling.row_tiles import RowTraversal, takes_whole_rows
from glow.backends.cpu.tiling.tiles import (
    ChannelPart,
    TileModel,
    channel_parts,
    choose_blocks,
)
from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.half import is_half
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.window import (
    PlaneTraversal,
    Window,
    plane_runs,
    row_segments,
)
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_integer


@dataclass(frozen=True)
class Conv2dSpec:
    """A blocked convolution. With groups, channels per group are multiples of `lanes`.

    `element` is that of input and weights; sums of bf16 are f32.
    """

    batch: int
    in_channels: int
    out_channels: int
    window: Window
    groups: int = 1
    lanes: int = 16
    plain_input: bool = False
    has_bias: bool = False
    epilogue: Epilogue | None = None
    element: Attribute = f32

    @property
    def sums(self) -> Attribute:
        """The element type of sums, bias and output."""
        return f32 if is_half(self.element) else self.element

    @property
    def step_lanes(self) -> int:
        """The input lanes that one step multiplies."""
        return 2 if is_half(self.element) else 1

    @property
    def input_lanes(self) -> int:
        """The channels per input block."""
        return 1 if self.plain_input else self.lanes

    @property
    def group_inputs(self) -> int:
        """The input channels of a group."""
        return self.in_channels // self.groups

    @property
    def input_blocks(self) -> int:
        """The input blocks of a group."""
        return -(-self.group_inputs // self.input_lanes)

    @property
    def output_blocks(self) -> int:
        """The output blocks of a group."""
        return -(-(self.out_channels // self.groups) // self.lanes)

    @property
    def steps(self) -> int:
        """The multiply-adds per output value."""
        return self.group_inputs * prod(self.window.kernel) // self.step_lanes

    @property
    def operations(self) -> int:
        """The additions and multiplications, those with padding included."""
        outputs = self.batch * self.out_channels * prod(self.window.output)
        return 2 * outputs * self.steps * self.step_lanes

    @property
    def input_type(self) -> MemRefType:
        """The memref type of the input."""
        if self.plain_input:
            shape = (self.batch, self.in_channels, *self.window.input)
            return types.memref_type(shape, self.element)
        blocks = self.groups * self.input_blocks
        shape = (self.batch, blocks, *self.window.input, self.lanes)
        return types.memref_type(shape, self.element)

    @property
    def output_type(self) -> MemRefType:
        """The memref type of the output."""
        blocks = self.groups * self.output_blocks
        shape = (self.batch, blocks, *self.window.output, self.lanes)
        return types.memref_type(shape, self.sums)

    @property
    def packed_weights(self) -> int:
        """The number of packed weights."""
        steps = self.input_blocks * self.input_lanes * prod(self.window.kernel)
        return self.groups * self.output_blocks * self.lanes * steps

    def supported(self) -> bool:
        """Whether the blocked layout can express the grouping, and steps divide the lanes."""
        if self.group_inputs % self.step_lanes or self.input_lanes % self.step_lanes:
            return False
        if self.groups == 1:
            return True
        whole_inputs = self.group_inputs % self.input_lanes == 0
        return whole_inputs and self.out_channels // self.groups % self.lanes == 0


@dataclass(frozen=True)
class ConvTiling:
    """The register tiles of one convolution and the plane that they cover."""

    model: TileModel
    parts: tuple[ChannelPart, ...]
    window: Window
    planes: int
    """The (group, image, channel tile) triples, which are computed independently."""
    whole_rows: bool = False
    """Whether tiles of rows take in the border columns."""

    @property
    def runs(self) -> Sequence[tuple[int, int]]:
        """The (count, length) of the runs of pixels that a traversal visits."""
        return [self.window.output] if self.whole_rows else plane_runs(self.window)

    def traversal(self, part: ChannelPart) -> PlaneTraversal | RowTraversal:
        """The walk over the plane with the tiles of a part; lines are the same for all."""
        first = self.parts[0].blocks
        segments = row_segments(
            self.window, lambda run: self.model.pixels(run, first), self.planes
        )
        kind = RowTraversal if self.whole_rows else PlaneTraversal
        return kind(
            self.window,
            lambda run: self.model.pixels(run, part.blocks),
            segments=segments,
        )


@bounded_cache
def choose_conv_tile(spec: Conv2dSpec, target: Target) -> ConvTiling:
    """The register tiles of a convolution; packing and building agree on it.

    Bias, epilogue and batch make no difference to the packing, which can thus come first.
    """
    vector_bytes = spec.lanes * types.byte_width(spec.sums)
    model, window = TileModel(spec.steps, vector_bytes, target), spec.window
    if window.is_pointwise:
        window = window.flattened()
    blocks = choose_blocks(model, spec.output_blocks, [window.output])
    parts = channel_parts(spec.output_blocks, blocks)
    whole_rows = not is_integer(spec.element) and all(
        takes_whole_rows(window, model.pixels(window.output[1], part.blocks))
        for part in parts
    )
    if not whole_rows:
        blocks = choose_blocks(model, spec.output_blocks, plane_runs(window))
        parts = channel_parts(spec.output_blocks, blocks)
    planes = spec.groups * spec.batch * sum(part.tiles for part in parts)
    return ConvTiling(model, parts, window, planes, whole_rows)


def pack_conv_weights(
    weights: NDArray[Any],
    spec: Conv2dSpec,
    target: Target,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The weights [OC, IC / groups, KH, KW] in the order that the kernel reads them, 1-D.

    Written into `out` if that is given.
    """
    kernel, groups, lanes = spec.window.kernel, spec.groups, spec.lanes
    packed = np.empty(spec.packed_weights, weights.dtype) if out is None else out
    padded = _padded_weights(weights, spec)
    start = 0
    for part in choose_conv_tile(spec, target).parts:
        first, count = part.first * lanes, part.tiles * part.blocks * lanes
        pairs = spec.input_lanes // spec.step_lanes, spec.step_lanes
        split = padded[:, first : first + count].reshape(
            groups, part.tiles, part.blocks, lanes, -1, *pairs, *kernel
        )
        ordered = split.transpose(0, 1, 4, 7, 8, 5, 2, 3, 6)
        stop = start + ordered.size
        packed[start:stop].reshape(ordered.shape)[...] = ordered
        start = stop
    return packed


def _padded_weights(weights: NDArray[Any], spec: Conv2dSpec) -> NDArray[Any]:
    """[groups, outputs, inputs, KH, KW] with whole blocks of channels."""
    split = weights.reshape(spec.groups, -1, *weights.shape[1:])
    outputs = spec.output_blocks * spec.lanes
    inputs = spec.input_blocks * spec.input_lanes
    if split.shape[1:3] == (outputs, inputs):
        return split
    padded = np.zeros(
        (spec.groups, outputs, inputs, *spec.window.kernel), weights.dtype
    )
    padded[:, : split.shape[1], : split.shape[2]] = split
    return padded


def pack_channels(values: NDArray[np.float32], lanes: int) -> NDArray[np.float32]:
    """One value per channel as [channels / lanes, lanes], the last block zero-padded."""
    padded = np.zeros((-(-len(values) // lanes), lanes), values.dtype)
    padded.reshape(-1)[: len(values)] = values
    return padded
