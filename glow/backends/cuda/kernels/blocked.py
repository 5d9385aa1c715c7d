"""Convolutions on blocks of channels, [N, C / lanes, H, W, lanes], as factors of a product.

Results are pixels by channels, so that the channels of a block, which lie in a row, are columns:

    C[pixel, output] = the sum over (block, tap, lane) of image[...] weights[output, ...]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute

from glow.backends.cuda.kernels.contraction_spec import Place
from glow.backends.cuda.kernels.gpu_builder import copied_elements
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.index_builder import Condition, Index
from glow.lowering.loop_builder.window import Window


@dataclass(frozen=True)
class BlockedImage:
    """The windows of images in blocks, or of plain ones, which have blocks of one channel.

    A batch is a group of `channels`; outer is (image, row, column) of the result, depth is
    (block, row and column of the window, lane).
    """

    images: int
    groups: int
    channels: int
    lanes: int
    window: Window
    element: Attribute = f32

    @property
    def is_depth_contiguous(self) -> bool:
        """Whether the channels of a pixel lie in a row; else pixels do."""
        return self.lanes > 1

    @property
    def blocks(self) -> int:
        """The blocks of a group."""
        return -(-self.channels // self.lanes)

    @property
    def type(self) -> MemRefType[Attribute]:
        """The buffer."""
        shape = (self.images, self.groups * self.blocks, *self.window.input, self.lanes)
        return types.memref_type(shape, self.element)

    @property
    def depth(self) -> int:
        """The positions of the depth, lanes behind the last channel among them."""
        return self.blocks * prod(self.window.kernel) * self.lanes

    @property
    def width(self) -> int:
        """The elements in a row that one copy may take."""
        if self.is_depth_contiguous:
            return copied_elements(self.lanes, self.element)
        return 1

    def locate(self, b: LoopBuilder, batch: Index, outer: Index, depth: Index) -> Place:
        """Where an element lies, and whether it is there.

        That of padding has no address before the buffer: the GPU looks at addresses also where
        nothing is read, and refuses those of the memory of threads, which may be there.
        """
        window = self.window
        image, *pixel = b.unflatten(outer, (self.images, *window.output))
        block, *tap, lane = b.unflatten(
            depth, (self.blocks, *window.kernel, self.lanes)
        )
        valid: Condition = True
        position: list[Index] = []
        for axis in range(2):
            step = b.mul(tap[axis], window.dilations[axis])
            at = b.add(window.origin(b, axis, pixel[axis]), step)
            if window.interior(axis) != (0, window.output[axis]):
                inside = b.compare("ult", at, window.input[axis])
                valid = b.both(valid, inside)
            position.append(b.maximum(at, 0) if window.pads[axis] else at)
        count = None
        if self.channels % self.lanes:  # Nobody says what is in the last lanes.
            count = b.sub(b.sub(self.channels, b.mul(block, self.lanes)), lane)
        block = b.add(b.mul(batch, self.blocks), block)
        return Place([image, block, *position, lane], valid, count)


@dataclass(frozen=True)
class BlockedResult:
    """Results [images, groups * columns / lanes, pixels, lanes]; a channel is a group's column."""

    images: int
    groups: int
    columns: int
    pixels: int
    lanes: int
    has_channel_columns = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The buffer's."""
        blocks = self.groups * self.columns // self.lanes
        return (self.images, blocks, self.pixels, self.lanes)

    @property
    def channels(self) -> int:
        """The values of a "channel" operand."""
        return self.groups * self.columns

    @property
    def row_extent(self) -> int:
        """The channels that lie in a row."""
        return self.lanes

    def locate(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> list[Index]:
        """The indices of a result."""
        image, pixel = b.unflatten(m, (self.images, self.pixels))
        channel = self.channel(b, batch, m, n)
        return [
            image,
            b.floordiv(channel, self.lanes),
            pixel,
            b.remainder(channel, self.lanes),
        ]

    def channel(self, b: LoopBuilder, batch: Index, m: Index, n: Index) -> Index:
        """The position in a "channel" operand."""
        return b.add(b.mul(batch, self.columns), n)
