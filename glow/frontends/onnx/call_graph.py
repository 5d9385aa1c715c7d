"""How many nodes a model has once its functions are put in the place of their calls.

Functions that call others twice each double the nodes at every level: a file of two
kilobytes can stand for a billion. They are counted before anything is imported, each
function once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from glow.dialects.errors import GlowError
from glow.frontends.onnx.functions import Functions
from glow.frontends.onnx.messages import AttributeProto, NodeProto

MAX_NODES = 1 << 18
"""Larger programs would take hours to compile."""

MAX_DEPTH = 100
"""Functions inside each other; models that programs write have a dozen at most."""


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
            inside.append(_inner_nodes(node))
            if len(inside) > MAX_NESTED + 1:
                raise GlowError(f"the model cannot be imported: {TOO_DEEP}")


def check_calls(nodes: Sequence[NodeProto], functions: Functions) -> None:
    """Raise GlowError where functions call themselves, or stand for too many nodes."""
    if not functions:
        return
    count, plain = CallGraph(functions).size_of(nodes, 0), len(nodes)
    if count - plain > MAX_NODES:
        raise GlowError(
            f"the functions of the model stand for more than {MAX_NODES} nodes, which is "
            "not supported"
        )


class CallGraph:
    """The functions of a model and how many nodes each stands for."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.sizes: dict[tuple[str, str], int] = {}
        self.open: set[tuple[str, str]] = set()

    def size_of(self, nodes: Iterable[NodeProto], depth: int) -> int:
        """The nodes after all calls are replaced."""
        return sum(self._size_of_node(node, depth) for node in nodes)

    def _size_of_node(self, node: NodeProto, depth: int) -> int:
        key = (node.domain, node.op_type)
        size = 1 + self.size_of(_inner_nodes(node), depth)
        if key in self.functions:
            size += self._size_of_function(key, depth + 1)
        return size

    def _size_of_function(self, key: tuple[str, str], depth: int) -> int:
        if key in self.open or depth > MAX_DEPTH:
            raise GlowError(
                f"the function '{key[1]}' calls itself: recursion is not supported"
                if key in self.open
                else f"more than {MAX_DEPTH} functions call each other in a row"
            )
        if key not in self.sizes:
            self.open.add(key)
            self.sizes[key] = self.size_of(self.functions[key].node, depth)
            self.open.remove(key)
        return self.sizes[key]


def _inner_nodes(node: NodeProto) -> Iterator[NodeProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from attribute.g.node
