"""Phases of pixels that become pixels of larger planes or volumes, in blocks.

Transposed convolutions and the shuffles of super-resolution have output channels for each phase of
the pixels between two of the input. Where channels fill their blocks, whole registers change
places, and the result is in blocks as well.

    %0 = cpu.unpack %conv channels 128 : tensor<1x128x56x56xf32>
    %1 = glow.reshape %0 : tensor<1x2x2x32x56x56xf32>
    %2 = glow.transpose %1 permutation [0, 3, 4, 1, 5, 2] : tensor<1x32x56x2x56x2xf32>
    %y = glow.reshape %2 : tensor<1x32x112x112xf32>
  becomes
    %1 = glow.reshape %conv : tensor<1x2x2x2x56x56x16xf32>
    %2 = glow.transpose %1 permutation [0, 3, 4, 1, 5, 2, 6] : tensor<1x2x56x2x56x2x16xf32>
    %3 = glow.reshape %2 : tensor<1x2x112x112x16xf32>
    %y = cpu.unpack %3 channels 32 : tensor<1x32x112x112xf32>

Of a volume, whose depths are images, phases of the depth become images.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.layout import blocked_source
from glow.backends.cpu.layout.tokens import permutation
from glow.backends.cpu.layout.volumes import find_volume, volume_of
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder

OF_PLANES, OF_VOLUMES = (0, 3, 4, 1, 5, 2), (0, 4, 5, 1, 6, 2, 7, 3)
"""The order of [N, s, s, C, H, W], and of [N, s, s, s, C, D, H, W], before sizes are joined."""


@dataclass(frozen=True)
class _Phases:
    """Planes in blocks of phases of channels."""

    blocks: SSAValue
    """[N, phases * C / lanes, H, W, lanes]."""
    strides: tuple[int, ...]
    """Of height and width; of volumes that of the depth before, whose phases become images."""
    channels: int

    def pixels(self, builder: NodeBuilder) -> SSAValue:
        """[N, C, H * stride, W * stride], in blocks."""
        number, _, height, width, lanes = shape_of(self.blocks)
        blocks, count = self.channels // lanes, len(self.strides)
        apart = (number, *self.strides, blocks, height, width, lanes)
        split = builder.reshape(self.blocks, apart)
        depth, places = range(count - 1), (2 + count, count - 1, 3 + count, count)
        turned = builder.transpose(split, (*depth, 1 + count, *places, 4 + count))
        images = number * (self.strides[0] if count > len(PLANE) else 1)
        sizes = (height * self.strides[-2], width * self.strides[-1])
        whole = builder.reshape(turned, (images, blocks, *sizes, lanes))
        return builder.node(cpu.UnpackOp, whole, channels=self.channels)


PLANE = (2, 3)
"""The axes of a plane."""


def _blocks(value: SSAValue, order: tuple[int, ...]) -> SSAValue | None:
    """Planes in blocks, or the images of a volume."""
    if order == OF_PLANES:
        return blocked_source(value)
    volume = find_volume(value) if order == OF_VOLUMES else None
    return None if volume is None or volume.is_columns else volume.blocks


def _phases(op: glow.ReshapeOp) -> _Phases | None:
    """What a node makes pixels of, if it does, and phases are whole blocks."""
    turn = op.input.owner
    if not isinstance(turn, glow.TransposeOp):
        return None
    split = turn.input.owner
    if not isinstance(split, glow.ReshapeOp):
        return None
    blocks = _blocks(split.input, permutation(turn))
    if blocks is None:
        return None
    batch, *apart = shape_of(split.result)
    count = len(apart) // 2
    strides, channels, sizes = apart[:count], apart[count], apart[count + 1 :]
    larger = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    is_same = shape_of(split.input)[2:] == tuple(sizes)
    fits = shape_of(op.result) == (batch, channels, *larger)
    if not is_same or not fits or channels % shape_of(blocks)[-1]:
        return None
    return _Phases(blocks, tuple(strides), channels)


def shuffle_pixels(op: glow.ReshapeOp) -> None:
    """Let a node make pixels of phases in blocks, if it can."""
    phases = _phases(op)
    if phases is None:
        return
    builder, shape = NodeBuilder(op), shape_of(op.result)
    pixels = phases.pixels(builder)
    is_volume = len(phases.strides) > len(PLANE)
    builder.replace(
        volume_of(builder, pixels, shape, is_columns=False) if is_volume else pixels
    )
