"""Removes instructions whose results nobody reads (Glow's dead-store elimination).

One walk backwards keeps, for each buffer, the bytes that are read later; the caller reads
all arguments, and the next call all variables. An instruction that writes none of these bytes
is dead, and what it would have read is not read either. A write of all the bytes ends their
earlier life. In a loop every read of the body counts after every write, until nothing changes.

    instr.exp @out %a, @in %x        (nobody reads %a)
    instr.relu @out %b, @in %x  ->   instr.relu @out %b, @in %x
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import (
    Access,
    AccessTable,
    BufferRange,
    functions_of,
    place_of,
)
from glow.passes.instr.arrange import arrange, blocks_of
from glow.passes.rewriting.regions import Inner, is_empty, regions_run_by


def is_memory(value: SSAValue) -> bool:
    """Whether a value is a buffer."""
    return isinstance(value.type, MemRefType)


class DeadStores:
    """Finds the dead instructions of one function."""

    def __init__(self, block: Block) -> None:
        table = AccessTable(block)
        self.accesses: dict[Operation, list[Access]] = {}
        for group in table.by_op.values():
            for access in group:
                self.accesses.setdefault(access.op, []).append(access)
        outside: list[SSAValue] = [
            *(argument for argument in block.args if is_memory(argument)),
            *(op.result for op in block.ops if isinstance(op, instr.VariableOp)),
        ]
        self.read_later: dict[SSAValue, set[BufferRange]] = {
            buffer: {place_of(buffer)} for buffer in outside
        }
        self.dead: list[Operation] = []
        self.is_final = True

    def visit(self, block: Block) -> None:
        """Walk a block backwards and collect the dead instructions."""
        for op in reversed(list(block.ops)):
            if inner := regions_run_by(op):
                self._visit_regions(inner)
            elif isinstance(op, instr.InstructionOp):
                self._visit_instruction(op)
            else:
                self._read(op)

    def _visit_regions(self, inner: Sequence[Inner]) -> None:
        """Add the reads of the regions until they stay the same, then judge them.

        A write in a region that may not run, or runs again, ends no life.
        """
        outer, self.is_final = self.is_final, False
        before = -1
        while before < (before := self._count()):
            for each in reversed(inner):
                self.visit(each.block)
        self.is_final = outer
        if outer:
            for each in inner:
                self._judge(each.block)

    def _judge(self, block: Block) -> None:
        """All reads of a region are known."""
        for op in block.walk(reverse=True):
            if isinstance(op, instr.InstructionOp) and not self._is_needed(op):
                self.dead.append(op)

    def _count(self) -> int:
        return sum(map(len, self.read_later.values()))

    def _visit_instruction(self, op: instr.InstructionOp) -> None:
        accesses = self.accesses.get(op, [])
        if not self._is_needed(op):
            if self.is_final:
                self.dead.append(op)
            return
        if self.is_final:
            for access in accesses:
                if access.writes and not access.reads:
                    self._end_life(access.place)
        self._read(op)

    def _read(self, op: Operation) -> None:
        for access in self.accesses.get(op, []):
            # An insert keeps the rest of its target, which is not what reading is.
            if access.reads and not (access.writes and isinstance(op, instr.InsertOp)):
                self.read_later.setdefault(access.place.root, set()).add(access.place)

    def _end_life(self, written: BufferRange) -> None:
        reads = self.read_later.get(written.root)
        if reads:
            self.read_later[written.root] = {
                read for read in reads if not written.covers(read)
            }

    def _is_needed(self, op: instr.InstructionOp) -> bool:
        written = [access for access in self.accesses.get(op, []) if access.writes]
        return not written or any(
            access.place.overlaps(read) or read == access.place  # of no bytes
            for access in written
            for read in self.read_later.get(access.place.root, ())
        )


def eliminate_dead_stores(function: func.FuncOp) -> None:
    """Remove dead instructions, empty loops, and memory that nobody uses."""
    block = function.body.block
    dead_stores = DeadStores(block)
    dead_stores.visit(block)
    for op in dead_stores.dead:
        op.detach()
        op.erase()
    blocks = list(blocks_of(block))
    for inner in reversed(blocks):
        parent = inner.parent_op()
        arrange(inner)
        if parent is not None and parent.parent is not None and is_empty(parent):
            parent.detach()
            parent.erase()


@dataclass(frozen=True)
class EliminateDeadStoresPass(ModulePass):
    """Remove instructions whose results nobody reads."""

    name = "eliminate-dead-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Clean each function."""
        for function in functions_of(op):
            eliminate_dead_stores(function)
