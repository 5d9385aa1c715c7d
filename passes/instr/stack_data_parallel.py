"""Merges chains of data-parallel instructions into one loop (Glow's operator stacking).

Glow stacks independent instructions only, since its kernels forbid aliasing. Here a
stack is a region of scalar operations, so a producer hands its element to the consumer
in a register, and a buffer that only the stack uses vanishes. Instructions join a stack
when one reads what another wrote, or when both read the same; they need not be adjacent,
as long as nothing in between minds that earlier members run later. Operands may
broadcast, but what a member writes is read by others whole; filled buffers and inline
weights of one number become constants.

    instr.add @out %a, @in %x, @in %y       instr.stacked @out %b, @in %x, @in %y {
    instr.relu @out %b, @in %a         ->   ^bb0(%0: f32, %1: f32):
                                              %2 = arith.addf %0, %1 : f32
                                              ...
                                              glow.yield %3
                                            }

One scan does it: a group of members is open until an instruction conflicts with it. The
time is linear: a stack has a bounded length, which generating code for it needs too, and
of the open groups that touch one buffer the oldest is closed where there are many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.dialects.node import shape_of
from glow.passes.instr.accesses import Access, AccessTable, BufferRange, functions_of
from glow.passes.instr.arrange import blocks_of
from glow.passes.instr.eliminate_dead_stores import eliminate_dead_stores
from glow.passes.instr.scalar_block import element_type
from glow.passes.instr.stack_group import Group, Relation
from glow.passes.instr.stack_region import (
    Member,
    Number,
    StackBuilder,
    has_body,
)
from glow.passes.rewriting.trace import fused

MOST_BUFFERS = 16
"""A stack of more streams than the processor prefetches would be slower than two. What
vanishes in the stack is none."""

MOST_MEMBERS = 32
"""LLVM takes more than linear time for a long body. A buffer more for so many functions is
little work."""

MOST_OPEN = 64
"""So many open groups may touch one buffer, all of which each user of it looks at."""


class Stacker:
    """Finds the groups of one block; `table` holds the accesses of its operations."""

    def __init__(self, table: AccessTable) -> None:
        self.table = table
        self.groups: dict[Group, None] = {}
        self.touching: dict[SSAValue, dict[Group, None]] = {}
        """The open groups that touch some memory."""
        self.numbers: dict[SSAValue, dict[BufferRange, Number]] = {}
        """Filled buffers, by root."""

    def run(self) -> Iterable[Group]:
        """The groups worth a stack."""
        for op, accesses in self.table.by_op.items():
            self._visit(op, accesses)
        return [group for group in self.groups if is_worthwhile(group)]

    def _visit(self, op: Operation, accesses: Sequence[Access]) -> None:
        group = self._group_of(op, accesses)
        if group is None:
            self._close_conflicting(accesses)
        else:
            self._join(group)
        for access in accesses:
            if access.writes:
                self.numbers.pop(access.place.root, None)
        if isinstance(op, instr.SplatOp):
            (filled,) = accesses
            self.numbers[filled.place.root] = {filled.place: op.value}

    def _group_of(self, op: Operation, accesses: Sequence[Access]) -> Group | None:
        """The group of one stackable instruction, or None."""
        if not is_stackable(op):
            return None
        assert isinstance(op, instr.InstructionOp)
        numbers = {
            value: number
            for value in op.ins
            if (number := self._number(value)) is not None
        }
        if len(numbers) == len(set(op.ins)):
            numbers = {}
        kept = [
            access
            for access in accesses
            if access.writes or access.value not in numbers
        ]
        shape = shape_of(op.outs[0])
        sizes = {prod(shape_of(access.value)) for access in kept}
        return Group(
            [Member(self.table.position[op], op, numbers)],
            by_root(kept),
            shape,
            bool(sizes - {1, prod(shape)}),
            {access.place for access in kept},
            len(op.body.block.ops) if isinstance(op, instr.StackedOp) else 1,
        )

    def _number(self, value: SSAValue) -> Number | None:
        owner = value.owner
        if isinstance(owner, instr.WeightOp):
            return _number_of_weight(owner)
        place = self.table.place(value)
        for filled, number in self.numbers.get(place.root, {}).items():
            if filled.covers(place):
                return number
        return None

    def _related(self, roots: Iterable[SSAValue]) -> list[Group]:
        found: dict[Group, None] = {}
        for root in roots:
            found.update(self.touching.get(root, {}))
        return [group for group in found if group.is_open]

    def _close_conflicting(self, accesses: Sequence[Access]) -> None:
        for group in self._related(by_root(accesses)):
            if any(
                mine.conflicts(theirs)
                for mine in accesses
                for theirs in group.accesses.get(mine.place.root, ())
            ):
                self._close(group)

    def _join(self, group: Group) -> None:
        """Unite a new member with the groups that it continues."""
        is_copy = isinstance(group.members[0].op, instr.CopyOp)
        joins: list[tuple[Group, Relation]] = []
        for other in self._related(group.accesses):
            relation = group.relation(other)
            if relation == Relation.CONFLICTS or (
                relation == Relation.DEPENDS and not self._fits(group, other)
            ):
                self._refuse(other, group, relation)
                self._close(other)
            elif relation != Relation.NONE:
                joins.append((other, relation))
        if is_copy and all(relation != Relation.DEPENDS for _, relation in joins):
            return
        for other, relation in joins:
            if self._fits(group, other):
                self._close(other)
                self.groups.pop(other)
                group = group.joined(other)
            elif relation == Relation.DEPENDS:
                self._close(other)
        self._open(group)

    def _fits(self, group: Group, other: Group) -> bool:
        """Whether both iterate alike and stay small enough together."""
        if group.length + other.length > MOST_MEMBERS or not group.is_like(other):
            return False
        places = group.places | other.places
        return (
            len(places) <= MOST_BUFFERS
            or len(places) - self._vanishing(group, other) <= MOST_BUFFERS
        )

    def _vanishing(self, group: Group, other: Group) -> int:
        """The number of buffers that nothing but these groups touches."""
        uses = Counter(
            {root: len(accesses) for root, accesses in group.accesses.items()}
        )
        uses.update({root: len(accesses) for root, accesses in other.accesses.items()})
        return sum(
            isinstance(root.owner, instr.AllocOp)
            and root.owner.parent is self.table.ops[0].parent
            and count == len(self.table.by_root[root])
            for root, count in uses.items()
        )

    def _refuse(self, other: Group, group: Group, relation: Relation) -> None:
        """Tell why two groups stay two loops."""
        reason = (
            "one overwrites what the other needs at other positions"
            if relation == Relation.CONFLICTS
            else f"shapes differ, or together they use over {MOST_BUFFERS} buffers "
            f"or have over {MOST_MEMBERS} members"
        )
        last = max(other.members, key=lambda member: member.at)
        fused(last.op, group.members[0].op, reason)

    def _open(self, group: Group) -> None:
        self.groups[group] = None
        for root in group.accesses:
            touching = self.touching.setdefault(root, {})
            touching[group] = None
            if len(touching) > MOST_OPEN:
                self._close(next(iter(touching)))

    def _close(self, group: Group) -> None:
        group.is_open = False
        for root in group.accesses:
            self.touching[root].pop(group, None)


def _number_of_weight(op: instr.WeightOp) -> Number | None:
    value = op.value
    if (
        not isinstance(value, DenseIntOrFPElementsAttr)
        or prod(shape_of(op.result)) != 1
    ):
        return None
    (number,) = value.get_attrs()
    return number


def by_root(accesses: Iterable[Access]) -> dict[SSAValue, list[Access]]:
    """The accesses to each memory."""
    found: dict[SSAValue, list[Access]] = {}
    for access in accesses:
        found.setdefault(access.place.root, []).append(access)
    return found


def is_stackable(op: Operation) -> bool:
    """Whether an instruction works element by element and its work is known."""
    if not isinstance(op, instr.InstructionOp) or not has_body(op):
        return False
    elements = [element_type(value) for value in op.operands]
    sizes = {prod(shape_of(value)) for value in op.outs}
    return (
        len(sizes) == 1
        and not op.inouts
        and all(
            isinstance(element, IntegerType) or isinstance(element, AnyFloat)
            for element in elements
        )
    )


def is_worthwhile(group: Group) -> bool:
    """Whether a stack does better than the instructions by themselves."""
    return len(group.members) > 1 or bool(group.members[0].numbers)


def replace_by_stack(group: Group, inner: AccessTable, outer: AccessTable) -> None:
    """Put the stack in the place of its last member."""
    members = group.in_order()
    for member in members[:-1]:
        fused(member.op, members[-1].op)
    builder = StackBuilder(group.shape, inner.place)
    for member in members:
        builder.add(member)
    builder.finish(_needed_places(group, outer), members[-1].op)
    for member in members:
        member.op.detach()
        member.op.erase()


def _needed_places(group: Group, outer: AccessTable) -> set[BufferRange]:
    """The places whose content somebody but the members reads."""
    members = {member.op for member in group.members}
    return {
        access.place
        for accesses in group.accesses.values()
        for access in accesses
        if access.writes and _is_needed(access.place, members, group, outer)
    }


def _is_needed(
    place: BufferRange,
    members: set[instr.InstructionOp],
    group: Group,
    outer: AccessTable,
) -> bool:
    if not isinstance(place.root.owner, instr.AllocOp):
        return True
    others = (
        access
        for access in outer.by_root.get(place.root, ())
        if access.op not in members
    )
    if any(other.reads and other.place.overlaps(place) for other in others):
        return True
    return _is_read_first(place, group.accesses[place.root])


def _is_read_first(place: BufferRange, accesses: Sequence[Access]) -> bool:
    """Whether a member may read the place before one writes it: a loop's old value."""
    for access in sorted(accesses, key=lambda access: (access.at, access.writes)):
        if access.place.overlaps(place):
            return access.reads
    return False


def stack_data_parallel(function: func.FuncOp) -> None:
    """Stack the instructions of a function and of its loops."""
    outer = AccessTable(function.body.block)
    for block in list(blocks_of(function.body.block)):
        stacker = Stacker(outer if block is function.body.block else AccessTable(block))
        for group in stacker.run():
            replace_by_stack(group, stacker.table, outer)
    eliminate_dead_stores(function)


@dataclass(frozen=True)
class StackDataParallelPass(ModulePass):
    """Merge chains of data-parallel instructions into one loop."""

    name = "stack-data-parallel"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Stack the instructions of each function."""
        for function in functions_of(op):
            stack_data_parallel(function)
