"""Repetition as concatenation."""

from __future__ import annotations

from xdsl.ir import Operation

from glow.dialects import glow
from glow.passes.graph.node_builder import NodeBuilder


def tile(op: Operation) -> None:
    """Each repeated axis becomes a concatenation; the innermost axis comes first,
    so that the later, larger copies are of contiguous runs.
    """
    assert isinstance(op, glow.TileOp)
    repeats = op.attributes_view().ints("repeats")
    if 0 in repeats:
        return
    builder, value = NodeBuilder(op), op.input
    for axis in reversed(range(len(repeats))):
        if repeats[axis] > 1:
            value = builder.node(glow.ConcatOp, *[value] * repeats[axis], axis=axis)
    builder.replace(value)


LOWERINGS = {glow.TileOp: tile}
