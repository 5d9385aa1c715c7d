"""The scalar function of a data-parallel instruction, as a block that ends in a yield."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, SSAValue

from glow.dialects import instr
from glow.dialects.node import element_of
from glow.passes.rewriting.scalar_bodies import emit_scalar, inline_body
from glow.passes.rewriting.scalar_builder import ScalarBuilder


def element_type(buffer: SSAValue) -> Attribute:
    """The element type of a buffer."""
    return element_of(buffer)


def emit_instruction(
    builder: ScalarBuilder, op: instr.InstructionOp, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Append what `op` does to one element of each operand; returns its results."""
    if isinstance(op, instr.StackedOp):
        return inline_body(builder, op.body.block, operands)
    if isinstance(op, instr.CopyOp):
        return operands
    if isinstance(op, instr.SplatOp):
        return [builder.number_attr(op.value)]
    node = op.node
    assert node is not None
    element = element_type(op.outs[0])
    return [emit_scalar(builder, node, operands, element, op.attributes_view())]


def scalar_block(op: instr.InstructionOp) -> Block:
    """The block of a data-parallel instruction: one argument for each `@in`."""
    block = Block(arg_types=[element_type(value) for value in op.ins])
    builder = ScalarBuilder(block)
    builder.yield_(*emit_instruction(builder, op, block.args))
    return block
