"""Ends the life of each buffer: an `instr.dealloc` after the last operation that uses it.

    %a = instr.alloc : memref<4xf32>         %a = instr.alloc : memref<4xf32>
    instr.relu @out %a, @in %x               instr.relu @out %a, @in %x
    instr.copy @out %y, @in %a          ->   instr.copy @out %y, @in %a
    func.return                              instr.dealloc %a
                                             func.return

Views of a buffer, and loops that use it inside, count as its users.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from glow.dialects import instr


def insert_deallocations(block: Block) -> None:
    """End each buffer's life after the last top-level operation that uses it."""
    position = {op: number for number, op in enumerate(block.ops)}
    last_use: dict[Operation, list[instr.AllocOp]] = {}
    for op in block.ops:
        if isinstance(op, instr.AllocOp):
            users = [_ancestor_in(user, block) for user in alias_users(op.result)]
            last = max(users, key=position.__getitem__, default=op)
            last_use.setdefault(last, []).append(op)
    for op, allocations in last_use.items():
        builder = Builder(InsertPoint.after(op))
        for allocation in allocations:
            builder.insert(instr.DeallocOp.create(operands=[allocation.result]))


def alias_users(buffer: SSAValue) -> list[Operation]:
    """All operations that use a buffer or a view of it."""
    users: list[Operation] = []
    for use in buffer.uses:
        users.append(use.operation)
        if isinstance(use.operation, instr.TensorviewOp | instr.DynamicViewOp):
            users.extend(alias_users(use.operation.results[0]))
    return users


def _ancestor_in(op: Operation, block: Block) -> Operation:
    ancestor = block.find_ancestor_op_in_block(op)
    assert ancestor is not None
    return ancestor
