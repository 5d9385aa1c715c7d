"""Lets a data-parallel instruction write over an operand that dies there.

Both buffers are whole allocations of one type, the operand's last use is the
instruction, and the result's first use is too: then the result takes the operand's
buffer. An element depends on its own position only, so nothing is read after it is
overwritten. A scatter takes over its data in the same way. Other instructions never share: a
convolution reads its input, and the residual of its epilogue, long after it wrote the first
results.

    instr.relu @out %b, @in %a         ->   instr.relu @out %a, @in %a
    instr.dealloc %a
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import Access, AccessTable, functions_of
from glow.passes.instr.arrange import arrange, blocks_of


class BufferSharer:
    """Shares buffers between the instructions of one block, from first to last."""

    def __init__(self, table: AccessTable, outer: AccessTable) -> None:
        self.table = table
        self.outer = outer

    def run(self) -> bool:
        """Whether some buffers are shared now."""
        shared = [
            self._share(op)
            for op in self.table.by_op
            if isinstance(op, instr.InstructionOp)
        ]
        return any(shared)

    def _share(self, op: instr.InstructionOp) -> bool:
        changed = False
        for out in op.outs:
            source = next(
                (value for value in op.ins if self._fits(op, out, value)), None
            )
            if source is not None:
                self._unite(source, out)
                changed = True
        return changed

    def _fits(self, op: instr.InstructionOp, out: SSAValue, source: SSAValue) -> bool:
        """Whether `out` may take the buffer of `source`."""
        if (
            not isinstance(out.owner, instr.AllocOp)
            or not isinstance(source.owner, instr.AllocOp)
            or source.type != out.type
            or source in op.outs
            or not op.may_overwrite(source)
        ):
            return False
        dying, born = self.table.of(source), self.table.of(out)
        at = self.table.position[op]
        return (
            self._is_local(dying, source)
            and self._is_local(born, out)
            and max(access.at for access in dying) == at
            and min(access.at for access in born) == at
            and not dying[0].reads
            and dying[0].place == self.table.place(source)
            and all(access.value is source for access in dying if access.op is op)
            and all(access.value is out for access in born if access.op is op)
        )

    def _is_local(self, accesses: list[Access], root: SSAValue) -> bool:
        """Whether a buffer is used in this block only, not around a loop."""
        return len(accesses) == len(self.outer.of(root))

    def _unite(self, source: SSAValue, out: SSAValue) -> None:
        """Let the result's allocation be the operand's."""
        alloc = out.owner
        assert isinstance(alloc, instr.AllocOp)
        for use in list(source.uses):
            if isinstance(use.operation, instr.DeallocOp):
                use.operation.detach()
                use.operation.erase()
        self.table.move(out, self.table.place(source))
        if self.outer is not self.table:
            self.outer.move(out, self.outer.place(source))
        out.replace_all_uses_with(source)
        alloc.detach()
        alloc.erase()


def share_buffers(block: Block) -> bool:
    """Share buffers in a block and its loops; returns whether some are shared now."""
    outer = AccessTable(block)
    tables = [
        outer if inner is block else AccessTable(inner) for inner in blocks_of(block)
    ]
    return any([BufferSharer(table, outer).run() for table in tables])


@dataclass(frozen=True)
class ShareBuffersPass(ModulePass):
    """Let data-parallel instructions write over operands that die there."""

    name = "share-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Share buffers in each function."""
        for function in functions_of(op):
            block = function.body.block
            if share_buffers(block):
                arrange(block)
