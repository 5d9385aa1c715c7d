"""A function of one 8- or 16-bit number between casts is a table of its results.

It has 256 entries, or 65,536, as Glow's. The function itself in vectors of floats would take a
tenth less time than a table of 16 bits, but a number in a thousand then rounds to another step
than the function does in double precision, and no integer-only target has it.

  %1 = quant.dcast %0; %2 = glow.sigmoid %1; %3 = quant.qcast %2
becomes
  %3 = glow.lookup_table %0, %table

So does what exporters write as several nodes, such as a swish or the error function of a GELU, if
nothing else reads what is between them and one of them is more than arithmetic.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import Quantization, QuantizeCastOp
from glow.dialects.weight_table import dtype_of
from glow.interpreter import evaluate_elements
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import dequantize, quantize
from glow.passes.quantization.casts import (
    common_target,
    dequantized,
    element,
    replace_casts,
    tensor_of,
)
from glow.passes.quantization.constants import constant_floats, has_floats
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, name_of

TABLE_BITS = (8, 16)

FUNCTIONS: tuple[type[NodeOp], ...] = tuple(
    node for node, facts in glow.FACTS.items() if facts.table
)
"""Functions of one number; the others are in scalar regions."""


CHEAP = (
    glow.AbsOp, glow.CeilOp, glow.ClipOp, glow.FloorOp, glow.LeakyReluOp, glow.NegOp,
    glow.ReluOp, glow.RoundOp,
)  # fmt: skip
"""Of these, those that are arithmetic where more nodes are."""

ELEMENTWISE: tuple[type[NodeOp], ...] = tuple(glow.FACTS)


MOST_NODES = 32
"""What an exporter writes as one function has fewer."""


@dataclass
class Graph:
    """The elementwise nodes that compute a value from one stored number."""

    nodes: dict[NodeOp, None] = field(default_factory=dict[NodeOp, None])
    """In order."""
    leaves: dict[SSAValue, Array | None] = field(
        default_factory=dict[SSAValue, "Array | None"]
    )
    """The numbers of constants; None for the number itself."""
    sources: set[SSAValue] = field(default_factory=set[SSAValue])
    """The values whose number it is, of which there shall be one."""
    entered: int = 0

    def add(self, node: NodeOp) -> bool:
        """Add a node behind all that it reads; False where that is more than one number."""
        self.entered += 1
        if self.entered > MOST_NODES:
            return False
        for value in node.operands:
            if not self._add_operand(value):
                return False
        self.nodes[node] = None
        return True

    def _add_operand(self, value: SSAValue) -> bool:
        owner, source = value.owner, dequantized(value)
        if has_floats(value):
            array = constant_floats(value)
            if array is None or array.size != 1:
                return False
            self.leaves[value] = array.reshape(())
        elif source is not None:
            self.leaves[value] = None
            self.sources.add(source)
        elif owner not in self.nodes:
            return isinstance(owner, ELEMENTWISE) and self.add(owner)
        return len(self.sources) <= 1

    def is_read_within(self) -> bool:
        """Whether nothing else reads what is between the number and the last node."""
        *inner, _ = self.nodes
        return all(
            use.operation in self.nodes
            for node in inner
            for use in node.results[0].uses
        )

    def values(self, numbers: Array) -> Array:
        """The results where the number is each of these."""
        known = {
            leaf: numbers.astype(dtype_of(element_type(leaf)))
            if array is None
            else array
            for leaf, array in self.leaves.items()
        }
        result = numbers
        for node in self.nodes:
            operands = [known[value] for value in node.operands]
            result = known[node.results[0]] = evaluate_elements(node, operands)
        return result


def graph_of(node: Operation | object) -> Graph | None:
    """What computes a node's result, if that is a function of one number worth a table."""
    graph = Graph()
    if not isinstance(node, ELEMENTWISE) or not graph.add(node):
        return None
    found = graph.sources and _is_worth_a_table(graph.nodes) and graph.is_read_within()
    return graph if found else None


def _is_worth_a_table(nodes: Collection[NodeOp]) -> bool:
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    return len(nodes) == len(functions) == 1 or any(
        not isinstance(node, CHEAP) for node in functions
    )


def table_of(graph: Graph, source: Quantization, target: Quantization) -> Array:
    """The stored result for each stored value, from the smallest on."""
    low, high = source.full_range
    numbers = dequantize(np.arange(low, high + 1), source)
    return quantize(graph.values(numbers), target)


def form_lookup_table(op: QuantizeCastOp) -> bool:
    """Turn a function between casts into a table."""
    target, graph = common_target(op.input), graph_of(op.input.owner)
    if target is None or graph is None:
        return False
    (source,) = graph.sources
    data = element(source)
    if shape_of(source) != shape_of(op.input):
        return False  # A constant of one element has more axes.
    if data is None or data.bits not in TABLE_BITS or data.axis is not None:
        return False
    if target.axis is not None:
        return False
    builder = NodeBuilder(op)
    table = table_of(graph, data, target)
    replace_casts(
        op.input, look_up(builder, source, table, op.result, name_of(op.input))
    )
    return True


def look_up(
    builder: NodeBuilder, source: SSAValue, table: Array, old: SSAValue, name: str
) -> SSAValue:
    """A lookup in a table of stored numbers, of the type of the value that it stands for."""
    entries = builder.constant(table, f"{name}.table")
    kinds = [tensor_of(old)]
    return builder.create(glow.LookupTableOp, [source, entries], {}, types=kinds)
