"""Nodes behind the values of a call that are worth a program, whatever the number of rows.

A detector looks closer at each of the regions that it has found. How many there are is another
number in each image, but each of them is computed by itself, from the same weights. So these
nodes are compiled for a few numbers of rows, while those around them are evaluated:

    x [n, 12544]              n regions
    a = Gemm(x, w1, b1)       |
    b = Relu(a)               | a chain: [n, 12544] -> [n, 1024]
    c = Gemm(b, w2, b2)       |

A chain begins with a product; each node of it reads the result of the one before, which nobody
else reads, and weights.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from glow.dialects.weight_table import Array
from glow.frontends.onnx.frame import names_read
from glow.frontends.onnx.loader import LoadedModel
from glow.frontends.onnx.messages import (
    GraphProto,
    ModelProto,
    NodeProto,
)
from glow.frontends.onnx.registry import DEFAULT_DOMAINS

FIRST_INPUT = (0,)
PRODUCTS: Mapping[str, Sequence[int]] = {
    "Conv": FIRST_INPUT,
    "ConvTranspose": FIRST_INPUT,
    "Gemm": FIRST_INPUT,
    "MatMul": FIRST_INPUT,
    "RoiAlign": (1, 2),
}
"""What a chain begins with, and which of its inputs have a row for each of the result."""

LINKS = frozenset(
    """
    AveragePool BatchNormalization Clip Elu Flatten GlobalAveragePool HardSigmoid HardSwish
    Identity LeakyRelu MaxPool Relu Selu Sigmoid Softplus Tanh
    """.split()
)
"""What may stand behind a product in a chain: it computes row by row of its first input."""

SUMS = frozenset(("Add", "Mul", "Sub", "Div"))
"""What does so if the other input is a number for each column."""

OF_WEIGHTS = frozenset(("Cast", "Identity"))
"""What of weights gives weights of the same sizes."""

Weights = Mapping[str, tuple[int, ...]]
"""The sizes of weights by name."""


@dataclass(frozen=True)
class Chain:
    """Nodes of the main graph, by number, that compute row by row."""

    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    """What is no weight."""
    by_rows: tuple[int, ...]
    """Which of the inputs have a row for each of the result."""
    output: str


Runner = Callable[[Chain, Sequence[Array]], Array | None]
"""Computes the output of a chain; None where that is not done row by row."""


def chains_of(
    graph: GraphProto, nodes: Sequence[NodeProto], given: Container[str] = ()
) -> list[Chain]:
    """The chains of a graph, longest ones, by their first nodes.

    Initializers that are `given` by a call, or for good, are no weights.
    """
    weights = _weights(graph, nodes, given)
    readers = _readers(graph, nodes)
    found: list[Chain] = []
    taken: set[int] = set()
    for index, node in enumerate(nodes):
        if index not in taken and _is_row_wise(node, weights):
            members = _members(index, nodes, weights, readers)
            taken.update(members)
            found.append(_chain(nodes, members, weights))
    return found


def _chain(nodes: Sequence[NodeProto], members: list[int], weights: Weights) -> Chain:
    """The chain of some nodes, the first of which is a product."""
    first, last = nodes[members[0]], nodes[members[-1]]
    inputs = [name for name in first.input if name not in weights]
    rows = [first.input[number] for number in PRODUCTS[first.op_type]]
    by_rows = tuple(map(inputs.index, rows))
    return Chain(tuple(members), tuple(inputs), by_rows, last.output[0])


def _weights(
    graph: GraphProto, nodes: Sequence[NodeProto], given: Container[str]
) -> Weights:
    """The sizes of initializers, and of what nodes make of them alone."""
    weights = {
        tensor.name: tuple(tensor.dims)
        for tensor in graph.initializer
        if tensor.name not in given
    }
    for node in nodes:
        if node.op_type in OF_WEIGHTS and node.input[0] in weights:
            weights[node.output[0]] = weights[node.input[0]]
        elif node.op_type == "Constant":
            for one in node.attribute:
                if one.HasField("t"):
                    weights[node.output[0]] = tuple(one.t.dims)
    return weights


def _readers(graph: GraphProto, nodes: Sequence[NodeProto]) -> dict[str, list[int]]:
    """The nodes that read each name; -1 for an output of the graph and an inner graph."""
    readers: dict[str, list[int]] = {output.name: [-1] for output in graph.output}
    for index, node in enumerate(nodes):
        for name in node.input:
            readers.setdefault(name, []).append(index)
        if any(attribute.HasField("g") for attribute in node.attribute):
            for name in names_read([node]):
                readers.setdefault(name, []).append(-1)
    return readers


def _members(
    first: int,
    nodes: Sequence[NodeProto],
    weights: Weights,
    readers: Mapping[str, Sequence[int]],
) -> list[int]:
    members = [first]
    while True:
        (result,) = nodes[members[-1]].output
        following = readers.get(result, ())
        if len(following) != 1 or following[0] < 0:
            return members
        node = nodes[following[0]]
        if not (_is_link(node, result, weights) and len(node.output) == 1):
            return members
        members.append(following[0])


def _is_link(node: NodeProto, result: str, weights: Weights) -> bool:
    """Whether a node that reads the result of a chain may continue it."""
    if node.domain not in DEFAULT_DOMAINS:
        return False
    others = [name for name in node.input if name and name != result]
    if len(others) + 1 < sum(map(bool, node.input)) or not all(
        name in weights for name in others
    ):
        return False
    if node.op_type in SUMS:
        return all(len(weights[name]) < 2 for name in others)
    if node.input[0] != result or node.op_type == "RoiAlign":
        return False
    if node.op_type == "Flatten":
        return _number(node, "axis", 1) > 0
    return node.op_type in LINKS or _is_row_wise(node, weights)


def _is_row_wise(node: NodeProto, weights: Weights) -> bool:
    """Whether a product's rows are those of some inputs, and the others are weights."""
    if node.domain not in DEFAULT_DOMAINS or len(node.output) != 1:
        return False
    if node.op_type == "RoiAlign":
        # Without a number it has as many samples as a region is large.
        is_fixed = _number(node, "sampling_ratio", 0) > 0
        return is_fixed and not any(name in weights for name in node.input)
    if node.op_type not in PRODUCTS or node.input[0] in weights:
        return False
    others = [name for name in node.input[1:] if name]
    dims = [weights[name] for name in others if name in weights]
    if len(dims) < len(others) or not dims:
        return False
    if node.op_type == "MatMul":
        return len(dims[0]) == 2
    if node.op_type == "Gemm":
        is_row = all(len(one) < 2 or one[0] == 1 for one in dims[1:])
        return is_row and not _number(node, "transA", 0)
    return True


def _makers(
    members: Sequence[NodeProto], nodes: Sequence[NodeProto], chain: Chain
) -> list[NodeProto]:
    """The nodes that make the weights of a chain, in order."""
    wanted = names_read(members) - set(chain.inputs)
    found: list[NodeProto] = []
    for node in reversed(nodes[: chain.nodes[0]]):
        if wanted.intersection(node.output):
            found.append(node)
            wanted.update(node.input)
    return found[::-1]


def _number(node: NodeProto, name: str, default: int) -> int:
    return next((one.i for one in node.attribute if one.name == name), default)


def chain_model(
    loaded: LoadedModel,
    nodes: Sequence[NodeProto],
    chain: Chain,
    inputs: Iterable[tuple[Sequence[int], object]],
) -> LoadedModel:
    """The model of a chain for inputs of some shapes and NumPy types."""
    from onnx.helper import make_tensor_value_info, np_dtype_to_tensor_dtype

    model, whole = ModelProto(), loaded.proto
    model.ir_version = whole.ir_version
    model.opset_import.extend(whole.opset_import)
    graph = model.graph
    members = [nodes[index] for index in chain.nodes]
    graph.node.extend([*_makers(members, nodes, chain), *members])
    read = names_read(graph.node)
    graph.initializer.extend(one for one in whole.graph.initializer if one.name in read)
    for name, (shape, dtype) in zip(chain.inputs, inputs, strict=True):
        element = np_dtype_to_tensor_dtype(dtype)
        graph.input.append(make_tensor_value_info(name, element, shape))
    graph.output.add().name = chain.output
    weights = {name: one for name, one in loaded.weights.items() if name in read}
    return LoadedModel(model, loaded.folders, weights)
