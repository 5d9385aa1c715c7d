"""How many nodes a model has once its functions are put in the place of their calls.

Functions that call others twice each double the nodes at every level: a file of two
kilobytes can stand for a billion. They are counted before anything is imported, each
function once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from glow.dialects.errors import GlowError
from glow.frontends.onnx.functions import Functions
from glow.frontends.onnx.messages import NodeProto
from glow.frontends.onnx.node_order import inner_nodes

MAX_NODES = 1 << 18
"""Larger programs would take hours to compile."""

MAX_DEPTH = 100
"""Functions inside each other; models that programs write have a dozen at most."""


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
        size = 1 + self.size_of(inner_nodes(node), depth)
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
