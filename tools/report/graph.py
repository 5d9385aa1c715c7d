"""The nodes and edges of a function: of tensors, or of instructions on buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects import instr
from glow.dialects.node import SEGMENTS, node_name
from glow.passes.instr.accesses import Access, AccessTable
from glow.passes.instr.arrange import working_ops

Details = dict[str, str]


@dataclass
class Node:
    """A box of a picture."""

    title: str
    name: str = ""
    """The network's own name."""
    details: Details = field(default_factory=Details)
    kind: str = "node"
    """The class of its style: node, value, new, gone."""


@dataclass
class Graph:
    """Nodes, and edges as pairs of their numbers."""

    nodes: list[Node] = field(default_factory=list[Node])
    edges: dict[tuple[int, int], str] = field(
        default_factory=dict[tuple[int, int], str]
    )
    """What flows along each edge: a type."""
    number: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def add(self, node: Node) -> int:
        """Add a node; returns its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1


QUIET = ("glow.constant", "glow.splat", "instr.weight", "instr.alloc", "arith.constant")
"""What would only crowd a picture."""


def graph_of(module: ModuleOp) -> Graph:
    """All functions of a module as one graph."""
    graph = Graph()
    for op in module.ops:
        if isinstance(op, func.FuncOp) and op.body.blocks:
            block = op.body.block
            on_memory = any(isinstance(arg.type, MemRefType) for arg in block.args)
            (_add_instructions if on_memory else _add_tensors)(graph, block)
    return graph


def operation_node(op: Operation) -> Node:
    """The node of an operation, with its attributes as details."""
    details = {
        "result" if number == 0 else f"result {number}": str(result.type)
        for number, result in enumerate(op.results)
    }
    for name, attribute in {**op.properties, **op.attributes}.items():
        text = _attribute_text(attribute)
        if name != SEGMENTS and text:
            details[name] = text
    fused = [inner.name for region in op.regions for inner in region.walk()]
    if fused:
        details["inside"] = ", ".join(fused)
    title = op.name.removeprefix("instr.").removeprefix("glow.")
    return Node(title, node_name(op) or "", details)


def _attribute_text(attribute: Attribute) -> str:
    """Short attributes as they read; nothing for large ones."""
    match attribute:
        case IntegerAttr() | FloatAttr():
            return str(attribute.value.data)
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return str(attribute).partition(":")[2].strip(" >")
        case _:
            return ""


def _arguments(graph: Graph, block: Block) -> dict[SSAValue, int]:
    return {
        argument: graph.add(
            Node(
                argument.name_hint or f"argument {argument.index}",
                kind="value",
                details={"type": str(argument.type)},
            )
        )
        for argument in block.args
    }


def _add_tensors(graph: Graph, block: Block) -> None:
    """Nodes that use each other's results."""
    source = _arguments(graph, block)
    for op in block.ops:
        if op.name in QUIET:
            continue
        node = operation_node(op)
        if isinstance(op, func.ReturnOp):
            node = Node("results", kind="value")
        graph.number[op] = number = graph.add(node)
        for inner in op.walk() if op.regions else (op,):
            for operand in inner.operands:
                if operand in source:
                    graph.edges.setdefault((source[operand], number), str(operand.type))
        source.update(dict.fromkeys(op.results, number))


def _add_instructions(graph: Graph, block: Block) -> None:
    """Instructions that read what others wrote last."""
    arguments = _arguments(graph, block)
    ops = [op for op in working_ops(block) if not isinstance(op, func.ReturnOp)]
    table = AccessTable(block, ops)
    for op in ops:
        graph.number[op] = graph.add(operation_node(op))
    for root, accesses in table.by_root.items():
        if isinstance(root.owner, instr.WeightOp):
            continue
        for writer, reader in _flows(accesses):
            edge = (graph.number[table.ops[writer]], graph.number[table.ops[reader.at]])
            graph.edges.setdefault(edge, str(reader.value.type))
        if root in arguments:
            _add_argument(graph, table, arguments[root], accesses)
    _drop_unused(graph, set(arguments.values()))


def _flows(accesses: list[Access]) -> Iterator[tuple[int, Access]]:
    """Positions of the last writers, with each access that reads from them."""
    written: list[Access] = []
    for access in accesses:
        if access.reads:
            for writer in written:
                if writer.at != access.at and writer.place.overlaps(access.place):
                    yield writer.at, access
        if access.writes:
            written = [w for w in written if not access.place.covers(w.place)]
            written.append(access)


def _add_argument(
    graph: Graph, table: AccessTable, number: int, accesses: list[Access]
) -> None:
    """An input flows to its readers, an output comes from its writers."""
    is_written = any(access.writes for access in accesses)
    for access in accesses:
        other = graph.number[table.ops[access.at]]
        edge = (other, number) if access.writes else (number, other)
        if access.writes or not is_written:
            graph.edges.setdefault(edge, str(access.value.type))


def _drop_unused(graph: Graph, numbers: set[int]) -> None:
    """Mark arguments that nothing touches as hidden."""
    touched = {number for edge in graph.edges for number in edge}
    for number in numbers - touched:
        graph.nodes[number].kind = "hidden"


def map_nodes(graph: Graph, change: Callable[[Operation, Node], None]) -> None:
    """Change each operation's node."""
    for op, number in graph.number.items():
        change(op, graph.nodes[number])
