"""Common subexpressions among nodes, weights by content, and reads of one variable.

Networks repeat constants under several names: shared embeddings, the zeros of a bias, the
same epsilon in every layer. Weights of one type are compared by a sample of elements, and
in full only where the samples agree, so that the pass costs next to nothing. Equal nodes
are merged too, where their operands became equal.

    %v = glow.constant @v : tensor<64xf32>      // both full of the same numbers
    %w = glow.constant @w : tensor<64xf32>
  becomes
    %v = glow.constant @v : tensor<64xf32>
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import Pure

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import Array, DeferredArray
from glow.dialects.weights import weights_of
from glow.passes.rewriting.contract import NODES, GraphPass
from glow.passes.rewriting.node_builder import erase, replace_value
from glow.passes.rewriting.operations import all_operations

SAMPLES = 16


def sample(array: Array) -> bytes:
    """Elements at the beginning, in the middle and at the end of an array.

    No more than three places, since each may be a page of a file not read so far.
    """
    starts = (0, array.size // 2, max(array.size - SAMPLES, 0))
    return b"".join(array.flat[start : start + SAMPLES].tobytes() for start in starts)


def same_bits(one: Array, other: Array) -> bool:
    """Whether two arrays of one type hold the same bits."""
    if one is other:
        return True
    bits = np.dtype(f"u{one.dtype.itemsize}")
    return bool(np.array_equal(one.view(bits), other.view(bits)))


class Merger:
    """Finds the first of equal constants and nodes of a block."""

    def __init__(self, module: ModuleOp) -> None:
        self.table = weights_of(module)
        self.weights: dict[Hashable, list[NodeOp]] = {}
        self.nodes: dict[Hashable, NodeOp] = {}
        self.reads: dict[str, glow.VariableOp] = {}

    def merge(self, block: Block) -> None:
        """Replace each node of a block by an equal one before it."""
        for op in list(block.ops):
            if isinstance(op, glow.VariableOp):
                first = self.reads.setdefault(op.variable_name, op)
                if first is not op:
                    replace_value(op.result, first.result)
                    erase(op)
            if not isinstance(op, NodeOp) or op.regions or not op.has_trait(Pure):
                continue
            found = self.first_weight(op) or self.first_node(op)
            if found is not None:
                for old, new in zip(op.results, found.results, strict=True):
                    replace_value(old, new)
                erase(op)

    def first_weight(self, op: Operation) -> NodeOp | None:
        """The first constant of the same content, for an entry of the weight table."""
        if not isinstance(op, glow.ConstantOp) or (name := op.weight_name) is None:
            return None
        entry = self.table.entry(name) if name in self.table else None
        if entry is None or isinstance(entry, DeferredArray):
            return None
        known = self.weights.setdefault((op.result.type, sample(entry)), [])
        for other in known:
            assert isinstance(other, glow.ConstantOp)
            assert other.weight_name is not None
            if same_bits(self.table[other.weight_name], entry):
                return other
        known.append(op)
        return None

    def first_node(self, op: NodeOp) -> NodeOp | None:
        """The first node of the same kind, operands and attributes."""
        properties = frozenset(op.properties.items())
        shapes = tuple(map(shape_of, op.results))
        found = self.nodes.setdefault((type(op), *op.operands, shapes, properties), op)
        if found is op or list(found.result_types) != list(op.result_types):
            return None
        return found


class MergeWeightsPass(GraphPass):
    """Merge equal nodes, and constants of equal content."""

    name = "merge-weights"
    requires = ensures = (NODES,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for parent in [op, *all_operations(op)]:
            for region in parent.regions:
                for block in region.blocks:
                    Merger(op).merge(block)
