"""Which operations of a block must stay in which order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from glow.dialects import instr
from glow.dialects.node import shape_of
from glow.passes.instr.accesses import Access, AccessTable
from glow.passes.instr.buffers import aligned
from glow.passes.rewriting.regions import CONTROL_FLOW, TERMINATORS


@dataclass
class Dependencies:
    """A graph over the numbers of some operations; every order that it allows is right.

    `before[n]` and `after[n]` are the operations that must come before and after n;
    `uses[n]` are the allocations that n touches, numbers too, of `sizes` bytes.
    """

    before: list[set[int]]
    after: list[set[int]]
    uses: list[list[int]]
    sizes: list[int]


def dependencies_of(table: AccessTable) -> Dependencies:
    """The dependencies of a table's operations: what is written, read and overwritten."""
    count = len(table.ops)
    before: list[set[int]] = [set() for _ in range(count)]
    for accesses in table.by_root.values():
        if any(access.writes for access in accesses):
            _order_accesses(accesses, before)
    _keep_in_place(table.ops, before)
    after: list[set[int]] = [set() for _ in range(count)]
    for number, needed in enumerate(before):
        for other in needed:
            after[other].add(number)
    _, uses, sizes = allocations(table)
    return Dependencies(before, after, uses, sizes)


def _order_accesses(accesses: list[Access], before: list[set[int]]) -> None:
    """Order the conflicting accesses to one root; what only reads is no reader's concern."""
    readers: list[Access] = []
    writers: list[Access] = []
    for access in accesses:
        others = chain(writers, readers) if access.writes else writers
        for other in others:
            if other.at != access.at and _is_ordered(other, access):
                before[access.at].add(other.at)
        if access.writes and not access.reads:
            # Whoever comes later is ordered after this one, hence after the others.
            readers, writers = (
                [
                    o
                    for o in kind
                    if o.at == access.at or not access.place.covers(o.place)
                ]
                for kind in (readers, writers)
            )
        (writers if access.writes else readers).append(access)


def _is_ordered(first: Access, second: Access) -> bool:
    return first.conflicts(second) and not _are_apart(first, second)


def _are_apart(first: Access, second: Access) -> bool:
    """Whether two inserts write different boxes of one buffer."""
    one, other = first.op, second.op
    if (
        not isinstance(one, instr.InsertOp)
        or not isinstance(other, instr.InsertOp)
        or not (first.value is second.value is one.inouts[0] is other.inouts[0])
    ):
        return False
    return any(
        start >= other_start + other_size or other_start >= start + size
        for (start, size), (other_start, other_size) in zip(
            _box(one), _box(other), strict=True
        )
    )


def _box(op: instr.InsertOp) -> list[tuple[int, int]]:
    """Start and size of each axis of what an insert writes."""
    offsets = op.attributes_view().ints("offsets")
    return list(zip(offsets, shape_of(op.ins[0]), strict=True))


def _keep_in_place(ops: list[Operation], before: list[set[int]]) -> None:
    """The return stays last; what has unknown effects is passed by nobody."""
    fence: int | None = None
    for number, op in enumerate(ops):
        if fence is not None:
            before[number].add(fence)
        if not isinstance(op, (instr.InstructionOp, *CONTROL_FLOW)):
            before[number].update(range(number))
            if not isinstance(op, (func.ReturnOp, *TERMINATORS)):
                fence = number


def allocations(
    table: AccessTable,
) -> tuple[dict[SSAValue, int], list[list[int]], list[int]]:
    """The number of each allocation, which ones each operation uses, and their bytes."""
    numbers: dict[SSAValue, int] = {}
    sizes: list[int] = []
    uses: list[list[int]] = []
    for op in table.ops:
        used: dict[int, None] = {}
        for access in table.by_op.get(op, ()):
            root = access.place.root
            if not isinstance(root.owner, instr.AllocOp):
                continue
            if root not in numbers:
                numbers[root] = len(sizes)
                sizes.append(aligned(table.place(root).end))
            used[numbers[root]] = None
        uses.append(list(used))
    return numbers, uses, sizes
