"""The largest of many elements as the first of all in order."""

from __future__ import annotations

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder


def top_k(op: Operation) -> None:
    """Slices of the sorted rows; rows that are sorted whole stay."""
    assert isinstance(op, glow.TopKOp)
    *outer, extent = shape_of(op.input)
    k = op.attributes_view().int("k")
    if k == extent:
        return
    builder = NodeBuilder(op)
    smallest = op.attributes_view().has("smallest")
    sort = glow.TopKOp.build_node([op.input], k=extent, smallest=smallest)
    builder.insert(sort)
    rank = len(outer) + 1
    first = {"starts": [0] * rank, "sizes": [*outer, k], "steps": [1] * rank}
    builder.replace(
        *(builder.node(glow.SliceOp, result, **first) for result in sort.results)
    )


LOWERINGS = {glow.TopKOp: top_k}
