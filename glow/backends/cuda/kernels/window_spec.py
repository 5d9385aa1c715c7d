"""What a pool, a depthwise convolution or one of small groups is, and what a thread has of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from xdsl.dialects.builtin import IntegerType, MemRefType, f32, i32
from xdsl.ir import Attribute

from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue, operand_types, stored_type
from glow.lowering.loop_builder.window import Window

THREADS = 128
WRITTEN_TAPS = 36
"""Of the pixels of a thread, at most: more taps are a loop over the window's rows."""
WRITTEN_COLUMNS = 8
"""The most columns of a window that are written out."""

Kind = Literal["max", "average", "sum", "multiply"]


@dataclass(frozen=True)
class WindowTile:
    """What a thread has: `pixels` of a row of the result; or of one, a share of `lanes`.

    Some pixels have their taps written out: they are no more than `WRITTEN_TAPS`. `channels`: of
    each pixel, where blocks are multiples of that.
    """

    pixels: int = 1
    lanes: int = 1
    channels: int = 4


@dataclass(frozen=True)
class WindowsSpec:
    """A window over images of f32 or bytes in blocks of channels, [images, blocks, H, W, lanes].

    "max" takes NaN through; "average", of f32, divides by the taps inside the image, or with
    `count_include_pad` inside image and padding; "sum", of bytes, adds up how much these are more
    than `zero_point`; "multiply" sums products with weights [blocks, kernel, lanes], of groups of
    channels that lie in a block [blocks, kernel, group, lanes]. Bytes are summed up in i32; weights
    of bytes have signs. Arguments of the kernel: result, image, the weights if there are some,
    operands of the epilogue.
    """

    images: int
    blocks: int
    lanes: int
    window: Window
    kind: Kind
    tile: WindowTile = WindowTile()
    count_include_pad: bool = False
    group: int = 1
    epilogue: Epilogue | None = None
    element: Attribute = f32
    signed: bool = False
    """Whether the bytes of an image have signs."""
    zero_point: int = 0
    """The byte that sums are of more than, and that pads products."""

    @property
    def has_bytes(self) -> bool:
        """Whether the image has integers, which are bytes."""
        return isinstance(self.element, IntegerType)

    @property
    def sum_element(self) -> Attribute:
        """The type of what taps are added up to."""
        return i32 if self.has_bytes else f32

    @property
    def lowest(self) -> float:
        """The smallest element."""
        if not self.has_bytes:
            return float("-inf")
        return -128 if self.signed else 0

    @property
    def padding(self) -> int:
        """The bits of a byte around the image that changes nothing."""
        value = int(self.lowest) if self.kind == "max" else self.zero_point
        return (value + 128) % 256 - 128

    @property
    def width(self) -> int:
        """The channels of a thread."""
        channels = self.tile.channels
        return channels if self.lanes % channels == 0 else 1

    @property
    def taps(self) -> int:
        """Those of a window."""
        return prod(self.window.kernel)

    @property
    def extents(self) -> tuple[int, ...]:
        """What threads are numbered by: plane, row, pixels of it, channels, lane."""
        rows, columns = self.window.output
        parts = -(-columns // self.tile.pixels), self.lanes // self.width
        return (self.images * self.blocks, rows, *parts, self.tile.lanes)

    @property
    def grid(self) -> tuple[int, int, int]:
        """The blocks of threads."""
        return (-(-prod(self.extents) // THREADS), 1, 1)

    @property
    def is_inside(self) -> bool:
        """Whether all windows lie inside of the image."""
        output = self.window.output
        return all(self.window.interior(k) == (0, output[k]) for k in range(2))

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        planes, element = self.images * self.blocks, self.element
        stored = element if self.kind == "max" else self.sum_element
        sums = types.memref_type((planes, *self.window.output, self.lanes), stored)
        image = types.memref_type((planes, *self.window.input, self.lanes), element)
        channel = types.memref_type((self.blocks, self.lanes), stored)
        inputs = (self.group,) if self.group > 1 else ()
        weights = types.memref_type(
            (self.blocks, *self.window.kernel, *inputs, self.lanes), element
        )
        factors = [weights] if self.kind == "multiply" else []
        operands = operand_types(self.epilogue, sums, channel)
        return [stored_type(self.epilogue, sums), image, *factors, *operands]
