"""Indices into a padded axis: those from its end, and those beyond it, go on as if it were shorter.

table [8 of 12], index -1   ->  -5: the last of 8
index 9    ->  13: none of 12, which a call says
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder


def move_indices(
    op: NodeOp, size: int, length: SSAValue, column: int | None = None
) -> None:
    """Let a node's indices into an axis of `size` be of the first `length`, tensor<1xi64>.

    With a `column` only the indices of that place along their last axis are meant.
    """
    builder, indices = NodeBuilder(op), op.inputs[1]
    if element_of(indices) != i64:
        types = [tensor_type(shape_of(indices), i64)]
        indices = builder.create(glow.ConvertOp, [indices], {}, types=types)
    added = builder.node(glow.SubOp, builder.splat(size, i64), length)
    if not shape_of(indices):
        added, length = (builder.reshape(one, ()) for one in (added, length))
    is_negative = builder.node(glow.LessOp, indices, builder.splat(0, i64))
    is_inside = builder.node(glow.LessOp, indices, length)
    further = builder.node(glow.AddOp, indices, added)
    other = builder.node(glow.SelectOp, is_inside, indices, further)
    before = builder.node(glow.SubOp, indices, added)
    moved = builder.node(glow.SelectOp, is_negative, before, other)
    columns = shape_of(indices)[-1] if column is not None else 1
    if columns > 1:
        is_meant = builder.constant(np.arange(columns) == column, "column")
        moved = builder.node(glow.SelectOp, is_meant, moved, indices)
    op.operands[1] = moved
