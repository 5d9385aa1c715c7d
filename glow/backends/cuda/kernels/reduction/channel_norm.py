"""Local response normalization for many threads, of plain channels or of blocks of them.

A thread has the channels of a block at a pixel, neighbours the next pixels. It reads the blocks
that its windows reach into, and adds up squares lane by lane:

    block - 1   [a b c d]        window of 3 around e:  d d + e e + f f
    block       [e f g h]                  around h:  g g + h h + i i
    block + 1   [i j k l]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.reduction.local_response_norm import (
    LocalResponseNormSpec,
    normalised,
)
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.target.target import Target

THREADS = 128


@dataclass(frozen=True)
class ChannelNormSpec:
    """The norm of images in blocks of `lanes` channels. Arguments: result, image."""

    norm: LocalResponseNormSpec
    lanes: int = 1

    @property
    def blocks(self) -> int:
        """The blocks of an image."""
        return -(-self.norm.channels // self.lanes)

    @property
    def extents(self) -> tuple[int, int, int]:
        """What threads are numbered by: image, block, pixel."""
        return (self.norm.batch, self.blocks, self.norm.plane)

    @property
    def reach(self) -> range:
        """The blocks that windows reach into, from a block's own on."""
        before, after = -(-self.norm.before // self.lanes), self.norm.after
        return range(-before, -(-after // self.lanes) + 1)

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        return [types.memref_type((*self.extents, self.lanes))] * 2


def squares_of(
    b: GpuBuilder, spec: ChannelNormSpec, image: SSAValue, place: Sequence[Index]
) -> list[SSAValue]:
    """The squares of the channels of a block, zeros where there are none."""
    batch, block, pixel = place
    zero = b.constant(0.0, f32)
    is_block = b.compare("ult", block, spec.blocks)
    if is_block is False:
        return [zero] * spec.lanes
    at = (batch, b.select_index(is_block, block, 0), pixel, 0)
    squares: list[SSAValue] = []
    for lane, element in enumerate(b.elements(b.vector_load(spec.lanes, image, *at))):
        valid = is_block
        if spec.norm.channels % spec.lanes:  # Nobody says what is in the last lanes.
            channel = b.add(b.mul(block, spec.lanes), lane)
            valid = b.compare("ult", channel, spec.norm.channels)
        square = b.mulf(element, element)
        if isinstance(valid, bool):
            squares.append(square if valid else zero)
        else:
            squares.append(b.select(valid, square, zero))
    return squares


def build_channel_norm(spec: ChannelNormSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a norm."""
    b, total, lanes = GpuBuilder(target), prod(spec.extents), spec.lanes

    def normalize(place: Sequence[Index], result: SSAValue, image: SSAValue) -> None:
        batch, block, pixel = place
        squares = [
            square
            for step in spec.reach
            for square in squares_of(b, spec, image, (batch, b.add(block, step), pixel))
        ]
        own = -spec.reach.start * lanes
        windows = [
            squares[own + lane - spec.norm.before : own + lane + spec.norm.after + 1]
            for lane in range(lanes)
        ]
        sums = b.vector_of([reduce(b.addf, window) for window in windows], (lanes,))
        value = b.vector_load(lanes, image, *place, 0)
        b.vector_store(normalised(b, spec.norm, value, sums), result, *place, 0)

    def body(buffers: Sequence[SSAValue]) -> None:
        number = b.add(b.mul(b.block(DimensionEnum.X), THREADS), b.thread())
        place = b.unflatten(number, spec.extents)
        inside = total % THREADS == 0 or b.compare("slt", number, total)
        b.if_(inside, lambda: normalize(place, *buffers))

    grid = (-(-total // THREADS), 1, 1)
    return b.kernel(name, spec.buffers, THREADS, grid, body)
