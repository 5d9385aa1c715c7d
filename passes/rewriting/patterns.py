"""Rewrites as data: tables from node class to functions, run until nothing changes.

A rewrite returns the value that takes the place of the node's result, or None where it
does not apply; it builds nodes only once it is sure. Tables compose with `combined`, so
that one walk serves the rewrites of many themes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects.node import NodeOp
from glow.passes.rewriting.contract import GraphPass
from glow.passes.rewriting.node_builder import NodeBuilder, erase
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.trace import rewrote

Rewrite = Callable[[NodeOp, NodeBuilder], SSAValue | None]
Rewrites = Mapping[type[Operation], Sequence[Rewrite]]

MAX_SWEEPS = 64
"""Far more than any network needs; ends a pair of rewrites that undo each other."""


def combined(*tables: Rewrites) -> Rewrites:
    """One table with the rewrites of several, tried in order."""
    merged: dict[type[Operation], tuple[Rewrite, ...]] = {}
    for table in tables:
        for op_class, rewrites in table.items():
            merged[op_class] = (*merged.get(op_class, ()), *rewrites)
    return merged


def rewrite_until_stable(module: ModuleOp, table: Rewrites) -> None:
    """Sweep over the module in program order until no rewrite applies."""
    for _ in range(MAX_SWEEPS):
        if not _sweep(module, table):
            return


def _sweep(module: ModuleOp, table: Rewrites) -> bool:
    changed = False
    for op in all_operations(module):
        rewrites = table.get(type(op))
        if rewrites is None or op.parent is None:
            continue
        assert isinstance(op, NodeOp)
        if not any(result.uses for result in op.results):
            erase_with_operands(op)
            continue
        changed |= any(_apply(rewrite, op) for rewrite in rewrites)
    return changed


def _apply(rewrite: Rewrite, op: NodeOp) -> bool:
    """Whether a rewrite replaced the node (or it is gone already)."""
    if op.parent is None:
        return False
    builder = NodeBuilder(op)
    value = rewrite(op, builder)
    if value is None:
        return False
    rewrote(rewrite.__name__)
    operands = list(op.operands)
    builder.replace(value)
    for operand in operands:
        erase_unused(operand)
    return True


def erase_unused(value: SSAValue) -> None:
    """Erase the node that makes a value, if nothing reads it, and what only it read.

    What a rewrite leaves behind must not look like a second reader to the next one.
    """
    owner = value.owner
    if isinstance(owner, NodeOp) and owner.parent is not None:
        if not any(result.uses for result in owner.results):
            erase_with_operands(owner)


def erase_with_operands(op: NodeOp) -> None:
    """Erase a node that nothing reads, and what only it read."""
    operands = list(op.operands)
    erase(op)
    for operand in operands:
        erase_unused(operand)


class RewritePass(GraphPass):
    """A pass that is nothing but a table of rewrites."""

    rewrites: ClassVar[Rewrites] = {}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_until_stable(op, self.rewrites)
