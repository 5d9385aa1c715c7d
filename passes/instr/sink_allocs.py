"""Starts each buffer's life right before its first use (Glow's SinkAllocas).

Views and weights, which only name memory, go along.

    %a = instr.alloc : memref<4xf32>         instr.exp @out %b, @in %x
    instr.exp @out %b, @in %x          ->    %a = instr.alloc : memref<4xf32>
    instr.relu @out %a, @in %b               instr.relu @out %a, @in %b
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import functions_of
from glow.passes.instr.arrange import blocks_of

SINKING = (instr.AllocOp, instr.WeightOp, instr.TensorviewOp, instr.DynamicViewOp)


def sink_allocs(block: Block) -> None:
    """Move what names memory down to its first use, users before what they use."""
    for op in reversed(list(block.ops)):
        if isinstance(op, SINKING):
            first = _first_user(op, block)
            if first is not None and op.next_op is not first:
                op.detach()
                block.insert_op_before(op, first)


def _first_user(op: Operation, block: Block) -> Operation | None:
    """The first operation of the block that uses a result, also inside of a loop."""
    users = {
        block.find_ancestor_op_in_block(use.operation)
        for result in op.results
        for use in result.uses
    }
    following = op.next_op
    while following is not None and following not in users:
        following = following.next_op
    return following


@dataclass(frozen=True)
class SinkAllocsPass(ModulePass):
    """Move each alloc and view to right before its first use."""

    name = "sink-allocs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Sink the allocations of each function and its loops."""
        for function in functions_of(op):
            for block in blocks_of(function.body.block):
                sink_allocs(block)
