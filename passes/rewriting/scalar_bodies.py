"""What each data-parallel node does to one element, as `arith` and `math` operations.

The one source of scalar code: epilogues of convolutions and products, stacked
instructions and element-wise kernels all take their bodies from here. NaN passes through
maxima, minima and everything made of them, as the nodes say.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, element_of
from glow.passes.rewriting.scalar_builder import CASTS, SCALAR_BODIES, ScalarBuilder


def emit_node(
    builder: ScalarBuilder, op: NodeOp, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Append the scalar form of a data-parallel node; returns its results' elements."""
    if isinstance(op, glow.FusedOp):
        return inline_body(builder, op.body.block, operands)
    return [
        emit_scalar(
            builder, type(op), operands, element_of(op.results[0]), op.attributes_view()
        )
    ]


def emit_scalar(
    builder: ScalarBuilder,
    node: type[NodeOp],
    operands: Sequence[SSAValue],
    element: Attribute,
    attributes: Attributes,
) -> SSAValue:
    """Append what a node, or its instruction, does to one element of each operand."""
    if node in CASTS:
        return CASTS[node](builder, operands[0], element, attributes)
    if issubclass(node, glow.ScalarNode):
        return node.scalar(builder, operands, element, attributes)
    return SCALAR_BODIES[node](builder, operands, attributes)


def has_scalar_body(op: Operation) -> bool:
    """Whether `emit_node` knows the node."""
    return is_scalar_node(type(op)) or isinstance(op, glow.FusedOp)


def is_scalar_node(node: type[Operation]) -> bool:
    """Whether `emit_scalar` knows what nodes of a class do to one element."""
    return node in SCALAR_BODIES or node in CASTS or issubclass(node, glow.ScalarNode)


def inline_body(
    builder: ScalarBuilder, body: Block, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Append a copy of a scalar block; returns what it yields."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, operands, strict=True))
    for op in body.ops:
        if op is body.last_op:
            return [mapping[value] for value in op.operands]
        builder.block.add_op(op.clone(mapping))
    return []
