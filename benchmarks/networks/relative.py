"""The encoder of T5: relative positions as a bias of the scores, no scale, root mean squares.

Raffel et al. 2020, "Exploring the limits of transfer learning with a unified text-to-text
transformer", as PyTorch's exporter leaves the one of Hugging Face.
"""

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.weights import Fill, Shape, Weights, lecun, near_one, normal

BUCKETS, FARTHEST = 32, 128


@dataclass(frozen=True)
class Encoder:
    """The size of an encoder."""

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int
    length: int
    words: int

    @property
    def depth(self) -> int:
        """The channels of a head."""
        return self.hidden // self.heads


T5 = Encoder("t5_encoder", 512, 2048, 6, 8, 128, 32128)
TINY = Encoder("t5_tiny", 16, 24, 2, 2, 9, 30)


def build(size: Encoder = T5) -> ModelProto:
    """Returns a network from ids and a mask `[1, length]` to states `[1, length, hidden]`."""
    graph = GraphBuilder(size.name)
    ids = graph.input("ids", TensorProto.INT64, (1, size.length))
    seen = graph.input("attention_mask", TensorProto.INT64, (1, size.length))
    words = graph.weight("words", _embedding, size.words, size.hidden)
    value = graph.node("Gather", "words.taken", words, ids, axis=0)
    bias = _bias(graph, size, seen)
    graph.stored("split_heads", [1, size.length, size.heads, size.depth])
    graph.stored("merge_heads", [1, size.length, size.hidden])
    for number in range(size.layers):
        value = _layer(graph, size, f"layer{number}", value, bias)
    graph.output(_norm(graph, size, "norm", value), (1, size.length, size.hidden))
    return graph.model()


def _layer(graph: GraphBuilder, size: Encoder, name: str, value: str, bias: str) -> str:
    branch = _norm(graph, size, f"{name}.norm1", value)
    branch = _attention(graph, size, f"{name}.attention", branch, bias)
    value = graph.node("Add", f"{name}.sum1", value, branch)
    branch = _norm(graph, size, f"{name}.norm2", value)
    branch = _linear(graph, f"{name}.inner", branch, size.hidden, size.inner)
    branch = graph.node("Relu", f"{name}.relu", branch)
    branch = _linear(graph, f"{name}.outer", branch, size.inner, size.hidden)
    return graph.node("Add", f"{name}.sum2", value, branch)


def buckets(length: int) -> np.ndarray:
    """Returns the row of the table for each pair of places, in both directions."""
    apart = np.arange(length)[None, :] - np.arange(length)[:, None]
    count, exact = BUCKETS // 2, BUCKETS // 4
    far = np.abs(apart)
    scale = np.log(np.maximum(far, 1) / exact) / np.log(FARTHEST / exact)
    large = np.minimum(exact + (scale * (count - exact)).astype(int), count - 1)
    return np.where(apart > 0, count, 0) + np.where(far < exact, far, large)


def _embedding(name: str, shape: Shape) -> Weights:
    return normal(name, shape, 1.0)


def _bias(graph: GraphBuilder, size: Encoder, seen: str) -> str:
    """Returns what is added to all scores: relative places, and a low number for padding."""
    table = graph.weight("places", _embedding, BUCKETS, size.heads)
    rows = graph.stored("buckets", buckets(size.length).astype(np.int64))
    value = graph.node("Gather", "places.taken", table, rows, axis=0)
    value = graph.node("Transpose", "places.heads", value, perm=[2, 0, 1])
    value = graph.node("Unsqueeze", "places.bias", value, graph.stored("front", [0]))
    middle = graph.stored("middle", [1, 2])
    mask = graph.node("Unsqueeze", "mask.keys", seen, middle)
    mask = graph.node("Cast", "mask.floats", mask, to=TensorProto.FLOAT)
    mask = graph.node("Sub", "mask.hidden", graph.scalar("one", 1.0), mask)
    low = graph.scalar("lowest", float(np.finfo(np.float32).min))
    mask = graph.node("Mul", "mask.low", mask, low)
    return graph.node("Add", "bias", value, mask)


def _norm(graph: GraphBuilder, size: Encoder, name: str, value: str) -> str:
    """Returns the values over the root of their mean square."""
    square = graph.node(
        "Pow", f"{name}.square", value, graph.scalar(f"{name}.two", 2.0)
    )
    mean = graph.node("ReduceMean", f"{name}.mean", square, axes=[-1], keepdims=1)
    mean = graph.node(
        "Add", f"{name}.safe", mean, graph.scalar(f"{name}.epsilon", 1e-6)
    )
    root = graph.node("Sqrt", f"{name}.root", mean)
    share = graph.node("Div", f"{name}.share", graph.scalar(f"{name}.one", 1.0), root)
    value = graph.node("Mul", f"{name}.normal", value, share)
    return graph.node(
        "Mul", name, graph.weight(f"{name}.scale", near_one, size.hidden), value
    )


def _linear(
    graph: GraphBuilder, name: str, value: str, inputs: int, outputs: int
) -> str:
    return graph.product(name, value, lecun, inputs, outputs)


def _attention(
    graph: GraphBuilder, size: Encoder, name: str, value: str, bias: str
) -> str:
    """Returns attention of heads, merged and projected; queries are small from the start."""

    def small(name: str, shape: Shape) -> Weights:
        return normal(name, shape, (size.hidden * size.depth) ** -0.5)

    query = _heads(graph, size, f"{name}.query", value, small)
    keys = _heads(graph, size, f"{name}.key", value, lecun, (0, 2, 3, 1))
    values = _heads(graph, size, f"{name}.value", value, lecun)
    scores = graph.node("MatMul", f"{name}.scores", query, keys)
    scores = graph.node("Add", f"{name}.biased", scores, bias)
    shares = graph.node("Softmax", f"{name}.shares", scores, axis=-1)
    context = graph.node("MatMul", f"{name}.context", shares, values)
    context = graph.node("Transpose", f"{name}.swap", context, perm=[0, 2, 1, 3])
    merged = graph.node("Reshape", f"{name}.merged", context, "merge_heads")
    return _linear(graph, f"{name}.output", merged, size.hidden, size.hidden)


def _heads(
    graph: GraphBuilder,
    size: Encoder,
    name: str,
    value: str,
    fill: Fill,
    order: tuple[int, ...] = (0, 2, 1, 3),
) -> str:
    """Returns a projection, `[1, heads, length, depth]` unless the order is another."""
    value = graph.product(name, value, fill, size.hidden, size.hidden)
    value = graph.node("Reshape", f"{name}.split", value, "split_heads")
    return graph.node("Transpose", f"{name}.transposed", value, perm=[*order])
