"""Element-wise nodes as their formulas say, on whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.glow.formulas import Lowering
from glow.dialects.node import NodeOp
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.tensor_builder import Tensors


def lower(op: Operation, formula: Lowering) -> None:
    """Put what the formula writes in the place of a node."""
    assert isinstance(op, NodeOp)
    builder = NodeBuilder(op)
    builder.replace(formula(Tensors(builder), op.inputs, op.attributes_view()))


LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    node: partial(lower, formula=facts.lowering)
    for node, facts in glow.FACTS.items()
    if facts.lowering is not None
}
