"""Images in blocks as tokens: rows of channels, one for each place.

To unpack and to transpose moves each number twice. Where channels fill their blocks, one
transposition moves whole registers. `blocks_of_tokens.py` is the way back.

    %0 = cpu.unpack %b channels 64 : tensor<1x64x14x14xf32>      // %b: tensor<1x4x14x14x16xf32>
    %1 = glow.reshape %0 : tensor<1x64x196xf32>
    %y = glow.transpose %1 permutation [0, 2, 1] : tensor<1x196x64xf32>
  becomes
    %0 = glow.reshape %b : tensor<1x4x196x16xf32>
    %1 = glow.transpose %0 permutation [0, 2, 1, 3] : tensor<1x196x4x16xf32>
    %y = glow.reshape %1 : tensor<1x196x64xf32>
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu.layout.blocks_of_tokens import (
    IMAGE_AXES,
    SWAPPED,
    permutation,
)
from glow.backends.cpu.layout.layout import blocked_source
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.node_builder import NodeBuilder

CHANNELS_LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1)}
"""The permutations by the number of axes: one for all places of an image, or two."""


def channels_last(op: NodeOp) -> None:
    """Replace a transposition of an image in blocks that makes channels the last axis."""
    shape, builder = shape_of(op.results[0]), NodeBuilder(op)
    if permutation(op) == CHANNELS_LAST.get(len(shape)):
        tokens = tokens_of(builder, op.inputs[0])
        if tokens is not None:
            builder.replace(builder.reshape(tokens, shape))


def tokens_of(builder: NodeBuilder, rows: SSAValue) -> SSAValue | None:
    """[N, places, C] of an image in blocks that its channels fill, or of it as [N, C, places]."""
    is_merged = len(shape_of(rows)) < IMAGE_AXES
    before = rows.owner
    image = before.input if is_merged and isinstance(before, glow.ReshapeOp) else rows
    blocked = blocked_source(image)
    if blocked is None or shape_of(rows)[:2] != shape_of(image)[:2]:
        return None
    images, blocks, *plane, lanes = shape_of(blocked)
    channels, places = blocks * lanes, prod(plane)
    if shape_of(image)[1] != channels:
        return None
    apart = builder.reshape(blocked, (images, blocks, places, lanes))
    turned = builder.transpose(apart, SWAPPED)
    return builder.reshape(turned, (images, places, channels))
