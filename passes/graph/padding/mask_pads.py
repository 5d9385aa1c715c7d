"""A padded axis is mirrored where what is kept of it ends, not where padding does.

[1, 2, 3 | 0], by one element at either end    ->    [2, 1, 2, 3, 2 | ...]
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.attributes import ints_attr
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder


def take_pads(op: glow.PadOp, axis: int) -> tuple[int, int]:
    """How much a node adds to both ends of an axis, which another node does from now on."""
    pads, rank = list(op.attributes_view().ints("pads")), len(shape_of(op.result))
    ends = pads[axis], pads[axis + rank]
    pads[axis] = pads[axis + rank] = 0
    op.pads = ints_attr(*pads)
    return ends


def mirrored(
    op: glow.PadOp, axis: int, ends: tuple[int, int], length: SSAValue
) -> SSAValue:
    """The operand of a node, mirrored at both ends of the `length` elements that are kept.

    Places go back and forth, every 2 (n - 1) of them.
    """
    builder, value = NodeBuilder(op), op.input
    size, (begin, end) = shape_of(value)[axis], ends
    numbers = np.arange(-begin, size + end, dtype=np.int64)
    one = builder.splat(1, i64)
    last = builder.node(glow.SubOp, length, one)
    twice = builder.node(glow.AddOp, last, last)
    period = builder.node(glow.MaxOp, twice, one)
    places = builder.node(glow.ModOp, builder.constant(numbers, "places"), period)
    back = builder.node(glow.SubOp, period, places)
    mirrored = builder.node(glow.MinOp, places, back)
    return builder.node(glow.GatherOp, value, mirrored, axis=axis)
