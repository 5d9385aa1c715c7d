"""Random networks on graphs: rows [N, 4] of nodes, and edges [2, E] between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper
from padding.networks import Network

MOST_STEPS = 8
COLUMNS = 4
REDUCTIONS = ("add", "mul", "max", "min")


def random_graph(
    random: np.random.Generator, nodes: int, edges: int
) -> list[np.ndarray]:
    """Rows of nodes, and edges, whose ends may be told from the last node on."""
    rows = random.standard_normal((nodes, COLUMNS), np.float32)
    return [rows, random.integers(-nodes, nodes, (2, edges))]


class GraphNetwork(Network):
    """A network under construction: each step takes the last rows of nodes, or of edges."""

    def __init__(self, random: np.random.Generator) -> None:
        super().__init__(random)
        self.ends = [
            self.node("Gather", "e", self.table(np.int64(end), "i8"), axis=0)
            for end in range(2)
        ]
        self.last = self.ints(-1)
        self.rows = ["x"]
        """Of nodes."""
        self.messages = [self.node("Gather", "x", self.ends[0], axis=0)]
        """Of edges."""
        for _ in range(int(random.integers(2, MOST_STEPS + 1))):
            STEPS[int(random.integers(len(STEPS)))](self)

    def model(self) -> bytes:
        """The network as an ONNX model."""
        mean = self.node("ReduceMean", self.rows[-1], self.ints(0), keepdims=0)
        rows = self.node("Identity", self.rows[-1])
        outputs = [rows, self.messages[-1], mean]
        inputs = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", COLUMNS]),
            helper.make_tensor_value_info("e", TensorProto.INT64, [2, "E"]),
        ]
        results = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            for name in outputs
        ]
        graph = helper.make_graph(self.nodes, "graph", inputs, results, self.tables)
        opset = helper.make_opsetid("", 18)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
        return model.SerializeToString()

    def function(self) -> str:
        """The name of a function of elements."""
        return self.one_of("Relu", "Tanh", "Neg", "Sigmoid", "Abs")


def product(net: GraphNetwork) -> None:
    """New features of nodes."""
    net.rows.append(net.node("MatMul", net.rows[-1], net.weights(COLUMNS, COLUMNS)))


def lookup(net: GraphNetwork) -> None:
    """The rows of one end of each edge."""
    end = net.one_of(*net.ends)
    net.messages.append(net.node("Gather", net.rows[-1], end, axis=0))


def function_of_nodes(net: GraphNetwork) -> None:
    """A function of elements."""
    net.rows.append(net.node(net.function(), net.rows[-1]))


def function_of_edges(net: GraphNetwork) -> None:
    """A function of elements, or of those of two messages."""
    name = net.function()
    if net.below(2):
        net.messages.append(net.node(name, net.messages[-1]))
    else:
        other = net.one_of(*net.messages)
        name = net.one_of("Add", "Mul", "Max")
        net.messages.append(net.node(name, net.messages[-1], other))


def scatter(net: GraphNetwork) -> None:
    """What edges add to their nodes, by two operators."""
    message, reduction = net.node("Tanh", net.messages[-1]), net.one_of(*REDUCTIONS)
    nothing = net.node("Mul", net.rows[-1], net.table(np.float32(0)))
    data, places = (
        net.one_of(net.rows[-1], nothing),
        net.node("Unsqueeze", net.ends[1], net.last),
    )
    if net.below(2):
        found = net.node("ScatterND", data, places, message, reduction=reduction)
    else:
        places = net.node("Expand", places, net.node("Shape", message))
        inputs = data, places, message
        found = net.node("ScatterElements", *inputs, axis=0, reduction=reduction)
    net.rows.append(found)


def reduction(net: GraphNetwork) -> None:
    """What all nodes have in common, or a mean of each."""
    name, axis = net.one_of("ReduceSum", "ReduceMean", "ReduceMax"), net.below(2)
    common = net.node(name, net.rows[-1], net.ints(axis), keepdims=1)
    net.rows.append(net.node("Add", net.rows[-1], common))


STEPS: list[Callable[[GraphNetwork], None]] = [
    product,
    lookup,
    lookup,
    function_of_nodes,
    function_of_edges,
    scatter,
    scatter,
    reduction,
]
