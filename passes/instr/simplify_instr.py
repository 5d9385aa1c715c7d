"""Small rewrites of single instructions and views (Glow's PeepholeOptimizations).

| rewrite                | example                                                  |
|------------------------|----------------------------------------------------------|
| a view as it was       | `tensorview %a : T` of `%a : T` is `%a`                  |
| a copy to itself       | `copy @out %a, @in %a` goes                              |
| a copy of one number   | a copy of what a splat fills alone is a splat            |
| moved, but all alike   | a transpose of what a splat fills alone is a splat       |

A maximum with a constant second, and a pool whose positions nobody reads, need no rewrite:
constants are last since `canonicalize`, and there is no pool with positions.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import AccessTable, functions_of
from glow.passes.instr.arrange import arrange, blocks_of
from glow.passes.rewriting.operations import all_operations

MOVING = ("instr.copy", "instr.transpose")


def drop_view(op: Operation) -> None:
    """Use the source of a view that changes nothing."""
    assert isinstance(op, instr.TensorviewOp)
    if op.source.type == op.result.type and not op.offset.value.data:
        op.result.replace_all_uses_with(op.source)


def drop_copy(op: instr.InstructionOp, table: AccessTable) -> bool:
    """Remove a copy whose source is its target."""
    (target, source) = (table.place(op.outs[0]), table.place(op.ins[0]))
    if target != source:
        return False
    op.detach()
    op.erase()
    return True


def splat_for(op: instr.InstructionOp, table: AccessTable) -> None:
    """Fill the target where the source is filled and never written otherwise."""
    writers = [access for access in table.of(op.ins[0]) if access.writes]
    if len(writers) != 1 or not isinstance(writers[0].op, instr.SplatOp):
        return
    (writer,) = writers
    is_before = writer.at < table.position.get(op, -1)
    if is_before and writer.place.covers(table.place(op.ins[0])):
        splat = _splat(op.outs[0], writer.op)
        assert op.parent is not None
        op.parent.insert_op_before(splat, op)
        op.detach()
        op.erase()


def _splat(target: SSAValue, like: Operation) -> instr.SplatOp:
    assert isinstance(like, instr.SplatOp)
    splat = instr.SplatOp.build_instruction([target], [], value=like.value)
    splat.location = like.location
    return splat


@dataclass(frozen=True)
class SimplifyInstrPass(ModulePass):
    """Simplify single instructions and views."""

    name = "simplify-instr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Simplify each function."""
        for function in functions_of(op):
            for child in all_operations(function):
                if isinstance(child, instr.TensorviewOp):
                    drop_view(child)
            table = AccessTable(function.body.block)
            for child in all_operations(function):
                if isinstance(child, instr.InstructionOp) and child.name in MOVING:
                    is_copy = isinstance(child, instr.CopyOp)
                    if not (is_copy and drop_copy(child, table)):
                        splat_for(child, table)
            for block in reversed(list(blocks_of(function.body.block))):
                arrange(block)
