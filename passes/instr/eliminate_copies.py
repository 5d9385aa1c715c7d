"""Removes copies by letting the producer write, or the consumer read, the other buffer.

Bufferization leaves a copy wherever two values must share memory: pieces of a concat,
results of the function, values carried by a loop. Two rewrites remove them:

- *forward the target*: the buffer that is copied from is an allocation of its own, and
  nobody touches the target between the allocation's first use and the copy; then the
  producer writes the target right away;
- *forward the source*: the target is an allocation that nobody else writes, and the
  source is not written while the target is read; then its readers read the source.

    %a = instr.alloc : memref<4xf32>
    instr.exp @out %a, @in %x              ->   %v = instr.tensorview %c offset 4
    %v = instr.tensorview %c offset 4           instr.exp @out %v, @in %x
    instr.copy @out %v, @in %a
    instr.dealloc %a
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import AccessTable, byte_range, functions_of
from glow.passes.instr.buffers import root_of


class CopyEliminator:
    """Removes the copies of one block, one after the other."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.table = AccessTable(block)

    def run(self) -> None:
        """Try each copy."""
        for op in self.table.ops:
            if isinstance(op, instr.CopyOp) and not self._forward_target(op):
                self._forward_source(op)

    # -- the producer writes the target

    def _forward_target(self, copy: instr.CopyOp) -> bool:
        source, target = copy.ins[0], copy.outs[0]
        alloc = whole_allocation(source)
        if alloc is None or root_of(target) is alloc.result:
            return False
        at = self.table.position[copy]
        uses = [access for access in self.table.of(source) if access.op is not copy]
        first = min((access.at for access in uses), default=at)
        last = max((access.at for access in uses), default=at)
        if any(access.writes and access.at > at for access in uses):
            return False
        if not self._untouched(copy, first, max(last, at)):
            return False
        if not self._make_available(target, alloc):
            return False
        self._replace(copy, alloc, target, alloc)
        return True

    def _untouched(self, copy: instr.CopyOp, first: int, last: int) -> bool:
        """Whether nothing but the copy needs the target's old or other contents.

        Before the copy nobody may touch the target; after it nobody may write it as
        long as the source is still read.
        """
        target, at = copy.outs[0], self.table.position[copy]
        start, end = byte_range(target)
        return not any(
            access.op is not copy
            and first <= access.at <= last
            and access.start < end
            and start < access.end
            and (access.at < at or access.writes)
            for access in self.table.of(target)
        )

    def _make_available(self, target: SSAValue, alloc: instr.AllocOp) -> bool:
        """Move the target's views and allocation above the producer's allocation."""
        chain: list[Operation] = []
        owner = target.owner
        while isinstance(owner, instr.TensorviewOp):
            chain.append(owner)
            owner = owner.source.owner
        if isinstance(owner, instr.AllocOp):
            chain.append(owner)
        elif not isinstance(owner, Block):
            return False
        if any(op.parent is not self.block for op in (*chain, alloc)):
            return False
        position = self.table.position
        for op in reversed(chain):
            if position[op] > position[alloc]:
                op.detach()
                self.block.insert_op_before(op, alloc)
                position[op] = position[alloc]
        return True

    # -- the consumer reads the source

    def _forward_source(self, copy: instr.CopyOp) -> bool:
        source, target = copy.ins[0], copy.outs[0]
        alloc = whole_allocation(target)
        if alloc is None or alloc.parent is not self.block:
            return False
        at = self.table.position[copy]
        uses = [access for access in self.table.of(target) if access.op is not copy]
        if any(access.writes or access.at < at for access in uses):
            return False
        last = max((access.at for access in uses), default=at)
        start, end = byte_range(source)
        for access in self.table.of(source):
            inside = access.start < end and start < access.end
            if access.writes and inside and at < access.at <= last:
                return False
        self._replace(copy, alloc, source, copy)
        return True

    # -- the change itself

    def _replace(
        self,
        copy: instr.CopyOp,
        alloc: instr.AllocOp,
        buffer: SSAValue,
        place: Operation,
    ) -> None:
        """Let `buffer` take the part of an allocation, from `place` on."""
        self.table.forget(copy)
        self.table.move(alloc.result, buffer)
        if buffer.type != alloc.result.type:
            view = instr.TensorviewOp.build_memory(
                [buffer], alloc.result.type, offset=0
            )
            self.block.insert_op_before(view, place)
            self.table.position[view] = self.table.position[place]
            buffer = view.result
        for use in list(alloc.result.uses):
            user = use.operation
            if isinstance(user, instr.DeallocOp):
                user.detach()
                user.erase()
            elif self._is_early_view(user, place):
                user.detach()
                self.block.insert_op_before(user, place)
                self.table.position[user] = self.table.position[place]
        copy_is_place = copy is place
        if not copy_is_place:
            copy.detach()
            copy.erase()
        alloc.result.replace_all_uses_with(buffer)
        if copy_is_place:
            copy.detach()
            copy.erase()
        self._extend_life(root_of(buffer))
        alloc.detach()
        alloc.erase()

    def _is_early_view(self, user: Operation, place: Operation) -> bool:
        """Whether a view of the allocation stands before the buffer that replaces it."""
        return (
            isinstance(user, instr.TensorviewOp)
            and user.parent is self.block
            and self.table.position[user] < self.table.position[place]
        )

    def _extend_life(self, root: SSAValue) -> None:
        """Move the root's dealloc behind its last access."""
        last = max((access.at for access in self.table.of(root)), default=-1)
        for use in root.uses:
            dealloc = use.operation
            if not isinstance(dealloc, instr.DeallocOp):
                continue
            if self.table.position[dealloc] < last:
                dealloc.detach()
                self.block.insert_op_after(dealloc, self.table.ops[last])
                self.table.position[dealloc] = last
            return


def whole_allocation(buffer: SSAValue) -> instr.AllocOp | None:
    """The allocation that a buffer names from the first to the last element."""
    root = root_of(buffer)
    if isinstance(root.owner, instr.AllocOp) and byte_range(buffer) == byte_range(root):
        return root.owner
    return None


@dataclass(frozen=True)
class EliminateCopiesPass(ModulePass):
    """Let producers and consumers share the buffers that copies connect."""

    name = "eliminate-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove what copies can be removed from each function."""
        for function in functions_of(op):
            CopyEliminator(function.body.block).run()
