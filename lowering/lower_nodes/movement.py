"""Repetition as concatenation."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from glow.dialects import glow
from glow.passes.graph.node_builder import NodeBuilder


def tile(op: Operation) -> None:
    """Each repeated axis becomes a concatenation; the innermost axis comes first,
    so that the later, larger copies are of contiguous runs.
    """
    assert isinstance(op, glow.TileOp)
    repeats = op.attributes_view().ints("repeats")
    builder, value = NodeBuilder(op), op.input
    if 0 in repeats:
        assert isinstance(op.result.type, TensorType)
        value = builder.insert(glow.SplatOp.from_number(0, op.result.type)).results[0]
        repeats = ()
    for axis in reversed(range(len(repeats))):
        if repeats[axis] > 1:
            value = builder.node(glow.ConcatOp, *[value] * repeats[axis], axis=axis)
    builder.replace(value)


LOWERINGS = {glow.TileOp: tile}
