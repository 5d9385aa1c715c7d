"""What a blocked convolution is, and the register tiles that cover its plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import ConvConfig
from glow.backends.cpu.tiling.row_tiles import (
    ImageTraversal,
    PixelTraversal,
    RowTraversal,
)
from glow.backends.cpu.tiling.tiles import ChannelPart, TileModel
from glow.dialects.half import is_half
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.window import (
    PlaneTraversal,
    Window,
    plane_runs,
    tiles_of_runs,
)
from glow.lowering.target.target import Target

LINE_BYTES = 64
"""Of caches, on all cores, or less."""

PIXELS = "pixels"
"""The order of a configuration whose tiles are single pixels."""


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
    config: ConvConfig | None = None
    """Chosen before; else the best one for the target."""

    FETCHES_AT_STEPS: ClassVar[bool] = True
    """Whether each step asks for weights of the next channel tile, where they are far: few
    tiles of pixels fetch all of them. Else each line of a plane fetches its share, and threads
    that have some of the lines would miss the others'."""

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
    def input_bytes(self) -> int:
        """The size of the input."""
        kind = self.input_type
        return prod(kind.get_shape()) * types.byte_width(kind.element_type)

    @property
    def output_type(self) -> MemRefType:
        """The memref type of the output."""
        blocks = self.groups * self.output_blocks
        shape = (self.batch, blocks, *self.window.output, self.lanes)
        return types.memref_type(shape, self.sums)

    @property
    def touched_bytes(self) -> int:
        """The bytes of all that the kernel reads and writes but single numbers a channel."""
        layouts = self.epilogue.operand_layouts if self.epilogue else ()
        weights = self.packed_weights * types.byte_width(self.element)
        outputs = prod(self.output_type.get_shape()) * (1 + layouts.count("full"))
        sums = outputs * types.byte_width(self.sums)
        return self.input_bytes + weights + sums

    @property
    def step_loads(self) -> float:
        """What a step does beside its pixels and weights, in loads."""
        return 0

    @property
    def bias_rows(self) -> int:
        """The blocks of the bias."""
        return self.groups * self.output_blocks

    @property
    def walked(self) -> Window:
        """The plane that tiles cover: one row where pixels are independent."""
        window = self.window
        return window.flattened() if window.is_pointwise else window

    def model(self, target: Target) -> TileModel:
        """What register tiles cost."""
        vector_bytes = self.lanes * types.byte_width(self.sums)
        single = self.window.kernel == (1, 1)
        passes_by = single and self.input_bytes > target.core.l1_bytes
        width = types.byte_width(self.input_type.element_type)
        pixel = self.step_lanes * width if passes_by else 0
        # Whole lines come, of which a stride leaves pixels out.
        block_bytes = self.input_lanes * width
        pixel *= max(1, min(self.window.strides[1], LINE_BYTES // block_bytes))
        return TileModel(self.steps, vector_bytes, target, self.step_loads, pixel)

    def has_big_weights(self, target: Target) -> bool:
        """Whether weights do not stay in the second cache while pixels pass by."""
        size = self.packed_weights * types.byte_width(self.element)
        return size > target.l2_bytes // 2

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

    config: ConvConfig
    parts: tuple[ChannelPart, ...]
    window: Window
    batch: int = 1

    @property
    def images(self) -> int:
        """The images that tiles leave to the loops around them."""
        return 1 if self.config.images else self.batch

    @property
    def runs(self) -> Sequence[tuple[int, int]]:
        """The (count, length) of the runs of pixels that a traversal visits."""
        if self.config.images:
            return [(prod(self.window.output), self.batch)]
        whole = self.config.whole_rows or self.config.order == PIXELS
        return [self.window.output] if whole else plane_runs(self.window)

    def traversal(
        self, part: ChannelPart
    ) -> PlaneTraversal | RowTraversal | ImageTraversal | PixelTraversal:
        """The walk over the plane with the tiles of a part; lines are the same for all."""
        number = self.parts.index(part)
        pixels, segments = self.config.pixels[number], self.config.segments
        if self.config.images:
            return ImageTraversal(self.window, self.batch, pixels)
        if self.config.order == PIXELS:
            return PixelTraversal(self.window)
        if self.config.whole_rows:
            return RowTraversal(self.window, pixels, segments, self.config.rows)
        return PlaneTraversal(
            self.window,
            tiles_of_runs(self.window, pixels),
            segments=segments,
            side_size=lambda _: self.config.sides[number],
        )

    @property
    def lines(self) -> int:
        """The lines of a plane."""
        return self.traversal(self.parts[0]).lines


def pack_channels(values: NDArray[np.float32], lanes: int) -> NDArray[np.float32]:
    """One value per channel as [channels / lanes, lanes], the last block zero-padded."""
    padded = np.zeros((-(-len(values) // lanes), lanes), values.dtype)
    padded.reshape(-1)[: len(values)] = values
    return padded
