"""Networks of any number of nodes, each as cheap as can be: they measure the compiler.

Long chains show a step that looks at all nodes for each node; the fan shows one that looks at
all users or all values that are alive.
"""

from collections.abc import Callable
from functools import partial

from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.weights import Shape, he, lecun

Link = Callable[[GraphBuilder, str, str, str], str]
"""Appends a node of the given name to a chain: its weight's name, its operand, its result."""


def functions(graph: GraphBuilder, name: str, value: str, _: str) -> str:
    """Tanh and sigmoid in turns: long element-wise kernels with expensive bodies."""
    kind = ("Tanh", "Sigmoid")[int(name[1:]) % 2]
    return graph.node(kind, name, value)


def sums(graph: GraphBuilder, name: str, value: str, start: str) -> str:
    """Sums and products with the network's input, which is alive all the time."""
    kind = ("Add", "Mul", "Sub")[int(name[1:]) % 3]
    return graph.node(kind, name, value, start)


def products(graph: GraphBuilder, name: str, value: str, _: str) -> str:
    """Matrix products with one matrix, and functions between them."""
    if int(name[1:]) % 2:
        return graph.node("Tanh", name, value)
    return graph.node("MatMul", name, value, "matrix")


def convolutions(graph: GraphBuilder, name: str, value: str, _: str) -> str:
    """Convolutions of 3 x 3, and functions between them."""
    if int(name[1:]) % 2:
        return graph.node("Relu", name, value)
    return graph.node("Conv", name, value, "kernel", pads=[1, 1, 1, 1])


def mixed(graph: GraphBuilder, name: str, value: str, start: str) -> str:
    """Sums, functions, softmax, and products."""
    kinds = (sums, functions, products, softmax, sums)
    return kinds[int(name[1:]) % len(kinds)](graph, name, value, start)


def softmax(graph: GraphBuilder, name: str, value: str, _: str) -> str:
    """A row at a time."""
    return graph.node("Softmax", name, value, axis=-1)


def chain(link: Link, shape: Shape, count: int) -> ModelProto:
    """Returns a network in which each node reads the one before it."""
    graph = GraphBuilder("chain")
    start = value = graph.input("x", TensorProto.FLOAT, shape)
    graph.weight("matrix", lecun, shape[-1], shape[-1])
    graph.weight("kernel", he, min(shape[1], 8), min(shape[1], 8), 3, 3)
    for index in range(count):
        value = link(graph, f"n{index}", value, start)
    graph.output(value, shape)
    return _used(graph)


def fan(count: int) -> ModelProto:
    """Returns a network in which half of the nodes read the input, and sums add them up."""
    shape = (1, 64)
    graph = GraphBuilder("fan")
    start = graph.input("x", TensorProto.FLOAT, shape)
    values = [graph.node("Softmax", f"s{i}", start, axis=-1) for i in range(count // 2)]
    total = values[0]
    for index, value in enumerate(values[1:]):
        total = graph.node("Add", f"a{index}", total, value)
    graph.output(total, shape)
    return graph.model()


def _used(graph: GraphBuilder) -> ModelProto:
    """Returns the network without weights that nothing reads."""
    read = {value for node in graph.nodes for value in node.input}
    graph.weights = [weight for weight in graph.weights if weight.name in read]
    return graph.model()


SCALING_NETWORKS: dict[str, Callable[[int], ModelProto]] = {
    "functions": partial(chain, functions, (1, 64)),
    "sums": partial(chain, sums, (1, 64)),
    "products": partial(chain, products, (1, 64)),
    "convolutions": partial(chain, convolutions, (1, 8, 8, 8)),
    "mixed": partial(chain, mixed, (1, 64)),
    "fan": fan,
}
"""By name, each built from a number of nodes."""
