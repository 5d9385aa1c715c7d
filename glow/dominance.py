"""Finds a use of a value that its definition does not dominate; xDSL has no such check.

A region's blocks are visited in the order of their dominator tree, together with the
values that are defined on the way: linear in operations and operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

Use = tuple[Operation, int]
"""An operation and the number of one of its operands."""

UNORDERED = (ModuleOp, UnregisteredOp)
"""Operations whose regions may hold graphs: there, uses may come before definitions."""


def undominated_use(operation: Operation) -> Use | None:
    """The first use inside an operation that is not dominated by the definition."""
    return _in_regions(operation, set())


def _in_regions(operation: Operation, visible: set[SSAValue]) -> Use | None:
    if operation.has_trait(IsolatedFromAbove, value_if_unregistered=False):
        visible = set()
    for region in operation.regions:
        if isinstance(operation, UNORDERED):
            visible = visible | _defined(
                op for block in region.blocks for op in block.ops
            )
        if found := _in_region(region, visible):
            return found
    return None


def _in_region(region: Region, visible: set[SSAValue]) -> Use | None:
    """The first wrong use in a region; `visible` is as before afterwards."""
    children = dominator_tree(region)
    # Below a block's children stand its values, which are no longer seen after them.
    entry = region.blocks.first
    stack: list[Block | set[SSAValue]] = [entry] if entry is not None else []
    while stack:
        block = stack.pop()
        if isinstance(block, set):
            visible -= block
            continue
        added = set[SSAValue](block.args)
        stack.append(added)
        stack.extend(children.get(block, ()))
        visible |= added
        for op in block.ops:
            if found := _in_operation(op, visible):
                return found
            new = set(op.results) - visible
            added |= new
            visible |= new
    return None


def _in_operation(op: Operation, visible: set[SSAValue]) -> Use | None:
    for number, operand in enumerate(op.operands):
        if operand not in visible:
            return op, number
    return _in_regions(op, visible) if op.regions else None


def _defined(operations: Iterable[Operation]) -> set[SSAValue]:
    return {result for op in operations for result in op.results}


def dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """The blocks that each block of a region dominates immediately.

    Blocks that nothing leads to count as dominated by the entry. The algorithm is that of
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    """
    blocks = tuple(region.blocks)
    if len(blocks) < 2:
        return {}
    order = _reverse_postorder(blocks[0])
    number = {block: index for index, block in enumerate(order)}
    predecessors: dict[Block, list[int]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            predecessors[successor].append(number[block])
    parents = _immediate_dominators([predecessors[block] for block in order])
    children: dict[Block, list[Block]] = {}
    for block in blocks[1:]:
        parent = order[parents[number[block]]] if block in number else blocks[0]
        children.setdefault(parent, []).append(block)
    return children


def _immediate_dominators(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """The immediate dominator of each block, which are numbered in reverse postorder."""
    parents = [0] + [-1] * (len(predecessors) - 1)
    changed = True
    while changed:
        changed = False
        for block, sources in enumerate(predecessors[1:], 1):
            known = [source for source in sources if parents[source] >= 0]
            parent = known[0]
            for source in known[1:]:
                parent = _common(parents, parent, source)
            changed |= parents[block] != parent
            parents[block] = parent
    return parents


def _common(parents: Sequence[int], one: int, other: int) -> int:
    """The nearest block that dominates two."""
    while one != other:
        if one < other:
            one, other = other, one
        one = parents[one]
    return one


def _successors(block: Block) -> Sequence[Block]:
    return block.last_op.successors if block.last_op is not None else ()


def _reverse_postorder(entry: Block) -> list[Block]:
    seen, order = {entry}, list[Block]()
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        following = next(successors, None)
        if following is None:
            order.append(block)
            stack.pop()
        elif following not in seen:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return order[::-1]
