"""What a direct convolution of bytes is."""

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import MemRefType, i8, i16, i32
from xdsl.ir import Attribute

from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.tiling.int8_tile import PAIR, WORD, pair_products
from glow.backends.cpu.tiling.tiles import TileModel
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class Int8Conv2dSpec(Conv2dSpec):
    """A convolution of `element` i8 with sums in i32."""

    element: Attribute = i8
    block_lanes: int = 16
    """The channels in a block of the input."""
    zero_point: int = 0
    """The byte that pads the input."""
    step: int = WORD
    """The bytes along the depth that are multiplied at once."""
    borders: int = 1
    """The classes of places for each of which there is a bias, which counts padding; or 1."""
    signed_input: bool = False
    """Whether the input's bytes are read as signed ones, 128 lower; the bias makes up for it."""
    wide_input: bool = False
    """Whether the input's bytes are stored as 16-bit integers, two of which are multiplied at
    once."""

    FETCHES_AT_STEPS: ClassVar[bool] = False

    @property
    def sums(self) -> Attribute:
        """The element type of sums, bias and output."""
        return i32

    @property
    def step_lanes(self) -> int:
        """The input lanes that one step multiplies."""
        return self.step

    @property
    def input_lanes(self) -> int:
        """The channels per input block."""
        return self.block_lanes

    @property
    def steps(self) -> int:
        """The multiply-adds per output value."""
        return -(-self.group_inputs // self.step) * prod(self.window.kernel)

    @property
    def operations(self) -> int:
        """The additions and multiplications, those with padding included."""
        outputs = self.batch * self.out_channels * prod(self.window.output)
        return 2 * outputs * self.group_inputs * prod(self.window.kernel)

    @property
    def input_type(self) -> MemRefType:
        """The memref type of the input."""
        blocks = self.groups * self.input_blocks
        shape = (self.batch, blocks, *self.window.input, self.block_lanes)
        return types.memref_type(shape, i16 if self.wide_input else self.element)

    @property
    def bias_rows(self) -> int:
        """The blocks of the bias, for each class of places."""
        return self.borders * super().bias_rows

    def model(self, target: Target) -> TileModel:
        """What register tiles cost."""
        model = super().model(target)
        if not self.wide_input:
            return model
        return replace(model, products=pair_products(target))

    def supported(self) -> bool:
        """Whether groups are whole blocks; lanes past the last channel meet zeros."""
        if self.groups == 1:
            return True
        whole_inputs = self.group_inputs % self.input_lanes == 0
        return whole_inputs and self.out_channels // self.groups % self.lanes == 0


def input_step(block_lanes: int, target: Target, *, wide: bool) -> int:
    """The channels of an input block that are multiplied at once."""
    return PAIR if wide else min(target.dot_bytes, block_lanes)
