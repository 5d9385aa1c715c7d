"""What is computed from one number by way of a table is a table itself.

  %1 = glow.lookup_table %0, %sigmoid; %2 = glow.mul %0, %1
becomes
  %2 = glow.lookup_table %0, %swish

A network that comes quantized rounds between a sigmoid and the product with its input, so that
they are no function of one number until both are on integers. The table holds what the nodes
compute, roundings between them included, so that results are the same bits; one pass over memory
is left of two or more. Nodes merge only where one is a table already: arithmetic alone is done
where its operand is made.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value, stored_value
from glow.interpreter import evaluate_elements
from glow.interpreter.arrays import Array
from glow.passes.quantization.casts import element
from glow.passes.quantization.integer.lookup_tables import TABLE_BITS, look_up
from glow.passes.rewriting.contract import BITS
from glow.passes.rewriting.node_builder import NodeBuilder, erase_dead_nodes, name_of
from glow.passes.rewriting.operations import all_operations

ELEMENTWISE = (
    glow.LookupTableOp, glow.RescaleOp, glow.AddOp, glow.SubOp, glow.MulOp, glow.MaxOp,
    glow.MinOp, glow.ReluOp, glow.ClipOp,
)  # fmt: skip


def number_of(node: NodeOp, value: SSAValue) -> Array | None:
    """The constant that each element of a node's result is computed with, or None."""
    is_table = isinstance(node, glow.LookupTableOp)
    if not is_table and prod(shape_of(value)) != 1:
        return None
    stored = stored_value(value)
    found = constant_value(value) if stored is None else stored
    return found if found is None or is_table else found.reshape(())


def elements_read(node: NodeOp) -> list[SSAValue]:
    """The operands that differ from element to element, each once."""
    operands = dict.fromkeys(node.operands)
    return [value for value in operands if number_of(node, value) is None]


def is_stored(value: SSAValue) -> bool:
    """Whether a value has a table's kind of elements, all at one scale."""
    data = element(value)
    return data is not None and data.bits in TABLE_BITS and data.axis is None


def merged_into(node: NodeOp, value: SSAValue) -> NodeOp | None:
    """The elementwise node that computes an operand from one value, for this node alone."""
    owner = value.owner
    if not isinstance(owner, ELEMENTWISE) or len(elements_read(owner)) != 1:
        return None
    return owner if all(use.operation is node for use in value.uses) else None


def source_and_nodes(node: NodeOp) -> tuple[SSAValue, list[NodeOp]] | None:
    """The value of which a node's result is a function, and the nodes that it takes."""
    before = [merged_into(node, value) for value in elements_read(node)]
    nodes = [owner for owner in before if owner is not None]
    sources = {
        value if owner is None else elements_read(owner)[0]
        for value, owner in zip(elements_read(node), before, strict=True)
    }
    if len(sources) != 1 or not nodes:
        return None
    if not any(isinstance(owner, glow.LookupTableOp) for owner in (node, *nodes)):
        return None
    return sources.pop(), nodes


def evaluate(node: NodeOp, known: dict[SSAValue, Array]) -> Array:
    """What a node computes from these arrays and its constants."""
    operands = [
        known[value] if value in known else number_of(node, value)
        for value in node.operands
    ]
    return evaluate_elements(node, [array for array in operands if array is not None])


def merge_once(node: NodeOp) -> NodeOp | None:
    """Turn a node and those before it into a table; the table's node."""
    found = source_and_nodes(node)
    if found is None or not all(map(is_stored, (found[0], *node.results))):
        return None
    source, nodes = found
    if shape_of(source) != shape_of(node.results[0]):
        return None  # A constant of one element has more axes.
    data = element(source)
    assert data is not None
    low, high = data.full_range
    known: dict[SSAValue, Array] = {source: np.arange(low, high + 1)}
    for owner in nodes:
        known[owner.results[0]] = evaluate(owner, known)
    builder = NodeBuilder(node)
    old = node.results[0]
    result = look_up(builder, source, evaluate(node, known), old, name_of(old))
    builder.replace(result)
    merged = result.owner
    assert isinstance(merged, NodeOp)
    return merged


def merge_lookup_tables(module: ModuleOp) -> None:
    """Merge in program order, so that chains become one table."""
    changed = False
    for op in all_operations(module):
        node = op if isinstance(op, ELEMENTWISE) and op.parent is not None else None
        while node is not None:
            node = merge_once(node)
            changed |= node is not None
    if changed:
        erase_dead_nodes(module)


class MergeLookupTablesPass(ModulePass):
    """Make one table of nodes that compute from one number by way of a table."""

    name = "merge-lookup-tables"
    preserves = BITS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        merge_lookup_tables(op)
