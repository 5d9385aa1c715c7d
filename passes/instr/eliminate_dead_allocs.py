"""Removes memory that no instruction touches (Glow's DeleteDeadAllocs).

%a = instr.alloc : memref<4xf32>
%v = instr.tensorview %a : memref<2x2xf32>
instr.dealloc %a                              ->
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import functions_of
from glow.passes.rewriting.operations import all_operations

NAMES = (instr.AllocOp, instr.WeightOp, instr.TensorviewOp, instr.DynamicViewOp)


def eliminate_dead_alloc(op: Operation) -> None:
    """Remove an alloc or view that only deallocs use, with them."""
    users = [use.operation for result in op.results for use in result.uses]
    if all(isinstance(user, instr.DeallocOp) for user in users):
        for dead in (*users, op):
            dead.detach()
            dead.erase()


@dataclass(frozen=True)
class EliminateDeadAllocsPass(ModulePass):
    """Remove allocations, weights and views that no instruction uses."""

    name = "eliminate-dead-allocs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Clean each function, users before what they use."""
        for function in functions_of(op):
            for child in reversed(all_operations(function)):
                if isinstance(child, NAMES):
                    eliminate_dead_alloc(child)
