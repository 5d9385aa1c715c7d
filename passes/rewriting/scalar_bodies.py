"""What each data-parallel node does to one element, as `arith` and `math` operations.

The one source of scalar code: epilogues of convolutions and products, stacked
instructions and element-wise kernels all take their bodies from here. NaN passes through
maxima, minima and everything made of them, as the nodes say.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of
from glow.passes.rewriting.scalar_builder import CASTS, SCALAR_BODIES, ScalarBuilder


def emit_node(
    builder: ScalarBuilder, op: NodeOp, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Append the scalar form of a data-parallel node; returns its results' elements."""
    if isinstance(op, glow.FusedOp):
        return inline_body(builder, op.body.block, operands)
    if type(op) in CASTS:
        return [
            CASTS[type(op)](
                builder, operands[0], element_of(op.results[0]), op.attributes_view()
            )
        ]
    return [SCALAR_BODIES[type(op)](builder, operands, op.attributes_view())]


def has_scalar_body(op: Operation) -> bool:
    """Whether `emit_node` knows the node."""
    kind = type(op)
    return kind in SCALAR_BODIES or kind in CASTS or isinstance(op, glow.FusedOp)


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
