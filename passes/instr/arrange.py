"""Puts what names memory next to its uses, which is what most passes end with.

An allocation stands before the first operation that touches its buffer, its dealloc
after the last one; weights, views and index arithmetic stand before their first use.
A view of a view is one view, and what nobody uses goes. Variables, used or not, come first in
the order that they have. Passes therefore only move and
remove instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import arith, instr
from glow.dialects.attributes import int_attr
from glow.passes.rewriting.regions import regions_run_by

DEFINITIONS: tuple[type[Operation], ...] = (
    instr.AllocOp,
    instr.VariableOp,
    instr.WeightOp,
    instr.TensorviewOp,
    instr.DynamicViewOp,
    arith.ConstantOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.IndexCastOp,
)
"""Operations that only name something: their place is wherever they are needed."""


def working_ops(block: Block) -> list[Operation]:
    """The operations of a block that do something, in order."""
    passive = (*DEFINITIONS, instr.DeallocOp)
    return [op for op in block.ops if not isinstance(op, passive)]


def blocks_of(block: Block) -> Iterator[Block]:
    """A block and those of all branches and loops in it."""
    yield block
    for op in block.ops:
        for inner in regions_run_by(op):
            yield from blocks_of(inner.block)


def arrange(block: Block, order: Sequence[Operation] | None = None) -> None:
    """Put the working operations in this order, and all others where they belong."""
    sequence = Arrangement(block).sequence(
        working_ops(block) if order is None else order
    )
    erase_all(block, set(sequence))
    _reorder(block, sequence)


class Arrangement:
    """Finds the places of one block's definitions and deallocs."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.sequence_so_far: list[Operation] = [
            op for op in block.ops if isinstance(op, instr.VariableOp)
        ]
        self.defined: set[Operation] = set(self.sequence_so_far)
        self.allocs_of: dict[SSAValue, instr.AllocOp | None] = {}
        self.last_use: dict[instr.AllocOp, Operation] = {}

    def sequence(self, order: Sequence[Operation]) -> list[Operation]:
        """All operations to keep, in order."""
        for op in order:
            for value in _used_values(op):
                self._define(value)
                alloc = self._alloc_of(value)
                if alloc is not None:
                    self.last_use[alloc] = op
            self.sequence_so_far.append(op)
        ended: dict[Operation, list[Operation]] = {}
        for alloc, op in self.last_use.items():
            ended.setdefault(op, []).extend(_deallocs(alloc))
        return [
            kept for op in self.sequence_so_far for kept in (op, *ended.get(op, ()))
        ]

    def _define(self, value: SSAValue) -> None:
        owner = value.owner
        if (
            not isinstance(owner, DEFINITIONS)
            or owner in self.defined
            or owner.parent is not self.block
        ):
            return
        self.defined.add(owner)
        if isinstance(owner, instr.TensorviewOp):
            _look_through(owner)
        for operand in owner.operands:
            self._define(operand)
        self.sequence_so_far.append(owner)

    def _alloc_of(self, value: SSAValue) -> instr.AllocOp | None:
        """This block's allocation behind a buffer."""
        if value not in self.allocs_of:
            owner, found = value.owner, None
            if isinstance(owner, instr.TensorviewOp | instr.DynamicViewOp):
                found = self._alloc_of(owner.source)
            elif isinstance(owner, instr.AllocOp) and owner.parent is self.block:
                found = owner
            self.allocs_of[value] = found
        return self.allocs_of[value]


def _look_through(view: instr.TensorviewOp) -> None:
    """Make a view of a view one of what lies behind."""
    source, offset = view.source, view.offset.value.data
    while isinstance(source.owner, instr.TensorviewOp):
        offset += source.owner.offset.value.data
        source = source.owner.source
    if source is not view.source:
        view.properties["offset"] = int_attr(offset)
        view.operands[0] = source


def _used_values(op: Operation) -> Iterable[SSAValue]:
    if not op.regions or isinstance(op, instr.InstructionOp):
        return op.operands
    return [operand for inner in op.walk() for operand in inner.operands]


def _deallocs(alloc: instr.AllocOp) -> list[Operation]:
    """The dealloc of a buffer that stands in the buffer's block."""
    return [
        use.operation
        for use in alloc.result.uses
        if isinstance(use.operation, instr.DeallocOp)
        and use.operation.parent is alloc.parent
    ]


def erase_all(block: Block, kept: set[Operation]) -> None:
    """Remove all operations of a block but those, which may stand before what they use."""
    removed = [op for op in block.ops if op not in kept]
    for op in removed:
        op.detach()
        op.drop_all_references()
    for op in removed:
        op.erase(drop_references=False)


def _reorder(block: Block, sequence: Sequence[Operation]) -> None:
    """Put the block's operations in this order; those in place are not touched."""
    cursor = block.first_op
    for op in sequence:
        if cursor is not None and op is cursor.next_op:
            cursor.detach()  # comes back when it is its turn
            cursor = op
        if op is cursor:
            cursor = op.next_op
            continue
        if op.parent is not None:
            op.detach()
        if cursor is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, cursor)
