"""Nodes in the order in which they can be computed, and how deep they are.

ONNX wants them sorted. Tools that add nodes at the end, such as converters to 16-bit floats,
leave them as they are, and ONNX Runtime sorts what it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from glow.dialects.errors import GlowError
from glow.frontends.onnx.frame import names_read
from glow.frontends.onnx.messages import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
)

MAX_NESTED = 30
"""Graphs inside each other, which is what a parser of files takes too."""

TOO_DEEP = f"its graphs are more than {MAX_NESTED} deep inside each other"


def check_nesting(nodes: Iterable[NodeProto]) -> None:
    """Raise GlowError where branches and loops are too deep inside each other."""
    inside = [iter(nodes)]
    while inside:
        node = next(inside[-1], None)
        if node is None:
            inside.pop()
            continue
        if any(a.type == AttributeProto.GRAPH for a in node.attribute):
            inside.append(inner_nodes(node))
            if len(inside) > MAX_NESTED + 1:
                raise GlowError(f"the model cannot be imported: {TOO_DEEP}")


def inner_nodes(node: NodeProto) -> Iterator[NodeProto]:
    """The nodes of a node's bodies."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from attribute.g.node


def in_order(model: ModelProto) -> ModelProto:
    """The model, or a copy with a sorted graph where nodes read what comes later.

    Nodes that read each other stay where they are: whoever imports them says so. Bodies are
    as they are in ONNX Runtime. Raises GlowError for graphs too deep inside each other.
    """
    check_nesting(model.graph.node)
    if _is_sorted(model.graph.node):
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    _sort(copy.graph)
    return copy


def _reads(node: NodeProto) -> Collection[str]:
    return names_read([node]) if node.attribute else node.input


def _is_sorted(nodes: Sequence[NodeProto]) -> bool:
    """Whether no node reads the result of a later one."""
    later = {name for node in nodes for name in node.output if name}
    for node in nodes:
        if not later.isdisjoint(_reads(node)):
            return False
        later.difference_update(node.output)
    return True


def _sort(graph: GraphProto) -> None:
    """Sorts nodes; those that may be anywhere keep their order as far as it goes."""
    nodes = list(graph.node)
    makers = {name: k for k, node in enumerate(nodes) for name in node.output if name}
    before = {
        k: {makers[name] for name in _reads(node) if name in makers}
        for k, node in enumerate(nodes)
    }
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError:
        return
    del graph.node[:]
    graph.node.extend(nodes[k] for k in order)
