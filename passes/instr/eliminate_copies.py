"""Removes copies by letting the producer write, or the consumer read, the other buffer.

Bufferization leaves a copy wherever two values must share memory: pieces of a concat,
results of the function, values carried by a loop. Two rewrites remove them:

- *forward the target*: the buffer that is copied from is an allocation of its own, and
  nobody touches the target between the allocation's first use and the copy; then the
  producer writes the target right away. An element-wise producer may read the target, too:
  so the new value of a variable overwrites the old one where that is read last;
- *forward the source*: the target is an allocation that only copies write, all from one
  run of memory, which does not change while the target is read; then its readers read
  the source.

    %a = instr.alloc : memref<4xf32>
    instr.exp @out %a, @in %x              ->   %v = instr.tensorview %c offset 4
    %v = instr.tensorview %c offset 4           instr.exp @out %v, @in %x
    instr.copy @out %v, @in %a
    instr.dealloc %a

The last copy is tried first: where a network joins the same values again and again
(DenseNet), they then live in the last and largest concat, and each earlier one is a run
of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import Access, AccessTable, BufferRange, functions_of
from glow.passes.instr.arrange import arrange, blocks_of
from glow.passes.instr.buffers import item_size


class CopyEliminator:
    """Removes the copies of one block; `outer` is the table of the whole function."""

    def __init__(self, table: AccessTable, outer: AccessTable) -> None:
        self.table = table
        self.outer = outer

    def run(self) -> None:
        """Try each copy, the last one first."""
        for op in reversed(self.table.ops):
            if (
                isinstance(op, instr.CopyOp)
                and op in self.table.by_op
                and not self._forward_target(op)
            ):
                self._forward_source(op)

    def _own_allocation(self, root: SSAValue) -> instr.AllocOp | None:
        """The allocation of a root that is used in this block only."""
        accesses = self.table.by_root.get(root, ())
        is_own = len(accesses) == len(self.outer.by_root.get(root, ()))
        return root.owner if is_own and isinstance(root.owner, instr.AllocOp) else None

    def _remove_copy(self, copy: instr.CopyOp) -> None:
        self.table.forget(copy)
        if self.outer is not self.table:
            self.outer.forget(copy)
        copy.detach()
        copy.erase()

    def _replace(
        self, alloc: instr.AllocOp, buffer: SSAValue, into: BufferRange
    ) -> None:
        """Let `buffer`, which is the place `into`, take the part of an allocation."""
        self.table.move(alloc.result, into)
        if self.outer is not self.table:
            self.outer.move(alloc.result, into)
        for use in list(alloc.result.uses):
            if isinstance(use.operation, instr.DeallocOp):
                use.operation.detach()
                use.operation.erase()
        alloc.result.replace_all_uses_with(buffer)
        alloc.detach()
        alloc.erase()

    # -- the producer writes the target

    def _forward_target(self, copy: instr.CopyOp) -> bool:
        source, target = self.table.place(copy.ins[0]), copy.outs[0]
        into = self.table.place(target)
        alloc = self._own_allocation(source.root)
        if alloc is None or source != self.table.place(alloc.result):
            return False
        if into.root is source.root or not self._may_write_target(copy, source, into):
            return False
        self._remove_copy(copy)
        buffer = viewed_as(target, alloc.result, 0)
        self._replace(alloc, buffer, into)
        return True

    def _may_write_target(
        self, copy: instr.CopyOp, source: BufferRange, into: BufferRange
    ) -> bool:
        """Whether nothing but the copy needs the target's old or other contents.

        Before the copy nobody may touch the target; after it nobody may write it as
        long as the source is still read.
        """
        at = self.table.position[copy]
        uses = [u for u in self.table.by_root[source.root] if u.op is not copy]
        if not uses or any(use.writes and use.at > at for use in uses):
            return False
        first = min(uses, key=lambda use: use.at)
        if not is_written_first(first, source):
            return False  # in a loop: its content comes from the step before
        last = max(at, *(use.at for use in uses))
        in_place = first.op if works_in_place(first, copy) else None
        return not any(
            access.op is not copy
            and not (access.op is in_place and access.place == into)
            and first.at <= access.at <= last
            and access.place.overlaps(into)
            and (access.at < at or access.writes)
            for access in self.table.by_root.get(into.root, ())
        )

    # -- the consumer reads the source

    def _forward_source(self, copy: instr.CopyOp) -> bool:
        root = self.table.place(copy.outs[0]).root
        alloc = self._own_allocation(root)
        if alloc is None:
            return False
        accesses = self.table.by_root[root]
        copies = {access.op for access in accesses if access.writes}
        run = self._source_run(alloc, copies)
        if run is None or not all(self._is_stable(op, accesses) for op in copies):
            return False
        start = run.start // item_size(alloc.result)
        for op in copies:
            self._remove_copy(cast("instr.CopyOp", op))
        self._replace(alloc, viewed_as(run.root, alloc.result, start), run)
        return True

    def _source_run(
        self, alloc: instr.AllocOp, copies: set[Operation]
    ) -> BufferRange | None:
        """The run of memory from which all copies take what they put in a buffer."""
        runs: set[BufferRange] = set()
        size = self.table.place(alloc.result).end
        for copy in copies:
            if not isinstance(copy, instr.CopyOp) or copy not in self.table.position:
                return None
            source, target = map(self.table.place, (copy.ins[0], copy.outs[0]))
            if source.path or target.path or source.root is alloc.result:
                return None
            start = source.start - target.start
            runs.add(BufferRange(source.root, start, start + size))
        if len(runs) != 1:
            return None
        (run,) = runs
        return (
            run if self.table.place(run.root).covers(run) and run.start >= 0 else None
        )

    def _is_stable(self, copy: Operation, accesses: list[Access]) -> bool:
        """Whether the source keeps what was copied as long as the copy is read."""
        assert isinstance(copy, instr.CopyOp)
        at = self.table.position[copy]
        source, target = map(self.table.place, (copy.ins[0], copy.outs[0]))
        reads = [r for r in accesses if r.reads and r.place.overlaps(target)]
        last = max((read.at for read in reads), default=at)
        return all(read.at > at for read in reads) and not any(
            access.writes and access.place.overlaps(source) and at < access.at <= last
            for access in self.table.by_root.get(source.root, ())
        )


def works_in_place(access: Access, copy: instr.CopyOp) -> bool:
    """Whether who writes a buffer reads each element of another before it writes there.

    It stands in the block of the copy, since in a loop it would read what it wrote.
    """
    op = access.op
    return (
        isinstance(op, instr.InstructionOp)
        and op.is_data_parallel
        and access.writes
        and op.parent is copy.parent
    )


def is_written_first(access: Access, whole: BufferRange) -> bool:
    """Whether the first access to a buffer sets all of it, or it is not in a loop."""
    owner = whole.root.owner
    if isinstance(owner, Operation) and owner.parent is access.op.parent:
        return True
    return access.writes and not access.reads and access.place == whole


def viewed_as(buffer: SSAValue, like: SSAValue, offset: int) -> SSAValue:
    """The buffer from an element on, with the type of `like`."""
    if buffer.type == like.type and not offset:
        return buffer
    view_type = cast("MemRefType[Attribute]", like.type)
    view = instr.TensorviewOp.build_memory([buffer], view_type, offset=offset)
    view.result.name_hint = like.name_hint
    owner = buffer.owner
    if isinstance(owner, Block):
        owner.insert_op_before(view, cast("Operation", owner.first_op))
    else:
        assert owner.parent is not None
        owner.parent.insert_op_after(view, owner)
    return view.result


def eliminate_copies(block: Block) -> None:
    """Remove what copies can be removed from a block and from its loops."""
    outer = AccessTable(block)
    blocks = list(blocks_of(block))
    for inner in blocks:
        table = outer if inner is block else AccessTable(inner)
        CopyEliminator(table, outer).run()
    for inner in reversed(blocks):
        arrange(inner)


@dataclass(frozen=True)
class EliminateCopiesPass(ModulePass):
    """Let producers and consumers share the buffers that copies connect."""

    name = "eliminate-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove what copies can be removed from each function."""
        for function in functions_of(op):
            eliminate_copies(function.body.block)
