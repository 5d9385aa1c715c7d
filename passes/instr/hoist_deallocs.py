"""Ends each buffer's life right after its last use (Glow's HoistDealloc).

instr.relu @out %b, @in %a               instr.relu @out %b, @in %a
instr.exp @out %y, @in %b          ->    instr.dealloc %a
instr.dealloc %a                         instr.exp @out %y, @in %b
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import functions_of
from glow.passes.instr.arrange import blocks_of
from glow.passes.instr.buffers import root_of


def last_uses(block: Block) -> dict[SSAValue, Operation]:
    """The last operation of a block that uses a buffer, also inside of a loop."""
    found: dict[SSAValue, Operation] = {}
    for op in block.ops:
        if not isinstance(op, instr.DeallocOp):
            for inner in op.walk():
                for operand in (*inner.operands, *inner.results):
                    found[root_of(operand)] = op
    return found


def hoist_deallocs(block: Block) -> None:
    """Move the deallocs of a block up."""
    last = last_uses(block)
    for op in list(block.ops):
        if isinstance(op, instr.DeallocOp) and op.buffer in last:
            after = last[op.buffer]
            if after.parent is block and after.next_op is not op:
                op.detach()
                block.insert_op_after(op, after)


@dataclass(frozen=True)
class HoistDeallocsPass(ModulePass):
    """Move each dealloc to right after the last use."""

    name = "hoist-deallocs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Hoist the deallocs of each function and its loops."""
        for function in functions_of(op):
            for block in blocks_of(function.body.block):
                hoist_deallocs(block)
