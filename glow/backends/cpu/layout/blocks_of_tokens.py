"""Tokens, rows of channels, as images in blocks.

To transpose and to pack moves each number twice. Where channels fill their blocks, one
transposition moves whole registers.

    %0 = glow.transpose %x permutation [0, 2, 1] : tensor<1x64x196xf32>     // %x: 1x196x64
    %1 = glow.reshape %0 : tensor<1x64x14x14xf32>
    %y = cpu.pack %1 lanes 16 : tensor<1x4x14x14x16xf32>
  becomes
    %0 = glow.reshape %x : tensor<1x196x4x16xf32>
    %1 = glow.transpose %0 permutation [0, 2, 1, 3] : tensor<1x4x196x16xf32>
    %y = glow.reshape %1 : tensor<1x4x14x14x16xf32>
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.node_builder import NodeBuilder

CHANNELS_FIRST = {3: (0, 2, 1), 4: (0, 3, 1, 2)}
"""The permutations by the number of axes: one for all places of an image, or two."""

SWAPPED = (0, 2, 1, 3)
"""Blocks and places, or the other way round, with images before and lanes behind."""

IMAGE_AXES = 4
"""Those of an image: number, channels, height, width."""


def permutation(op: NodeOp) -> tuple[int, ...]:
    """The order in which a transposition takes the axes."""
    return op.attributes_view().ints("permutation")


def blocks_of(builder: NodeBuilder, image: SSAValue, lanes: int) -> SSAValue | None:
    """An image in blocks that it fills, of rows of channels that were transposed to be one."""
    shape, before = shape_of(image), image.owner
    if isinstance(before, glow.ReshapeOp):
        before = before.input.owner
    if not isinstance(before, glow.TransposeOp) or len(shape) != IMAGE_AXES:
        return None
    turned = shape_of(before.result)
    is_first = permutation(before) == CHANNELS_FIRST.get(len(turned))
    if not is_first or turned[:2] != shape[:2] or shape[1] % lanes:
        return None
    images, channels, *plane = shape
    blocks = channels // lanes
    apart = builder.reshape(before.input, (images, prod(plane), blocks, lanes))
    turned = builder.transpose(apart, SWAPPED)
    return builder.reshape(turned, (images, blocks, *plane, lanes))
