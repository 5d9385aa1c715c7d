"""BERT encoders: one sequence of token ids to the last hidden state.

Devlin et al. 2019, "BERT: Pre-training of deep bidirectional transformers". The nodes are
those that exporters write at opset 17: LayerNormalization is one node, GELU is five around
`Erf`, a linear layer is MatMul then Add. `build` has no padding mask: the sequence is full;
`build_open` leaves batch and length open, and takes a mask.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import gelu, layer_norm, linear
from benchmarks.networks.weights import Shape, Weights, normal


@dataclass(frozen=True)
class Encoder:
    """The size of an encoder."""

    name: str
    hidden: int
    layers: int
    heads: int
    feed_forward: int
    sequence: int = 128
    vocabulary: int = 30522


MASK = "mask.added"
"""What `build_open` adds to scores."""

BERT_BASE = Encoder("bert_base", 768, 12, 12, 3072)
MINILM = Encoder("minilm", 384, 6, 12, 1536)
TINY = Encoder("bert_tiny", 32, 2, 4, 64, sequence=12, vocabulary=50)


def build(size: Encoder = BERT_BASE) -> ModelProto:
    """Returns a network from ids `[1, sequence]` to states `[1, sequence, hidden]`."""
    graph = GraphBuilder(size.name)
    ids = graph.input("ids", TensorProto.INT64, (1, size.sequence))
    _shared_constants(graph, size)
    value = _embed(graph, size, ids)
    for layer in range(size.layers):
        value = _layer(graph, size, f"layer{layer}", value)
    hidden = graph.node("Identity", "hidden", value)
    graph.output(hidden, (1, size.sequence, size.hidden))
    return graph.model()


def build_open(size: Encoder = BERT_BASE) -> ModelProto:
    """Returns a network from ids and mask `[batch, length]` to `[batch, length, hidden]`.

    The mask is 1 for words and 0 for padding, whose scores become the lowest float.
    """
    graph = GraphBuilder(size.name)
    shape = "batch", "length"
    ids = graph.input("ids", TensorProto.INT64, shape)
    mask = graph.input("attention_mask", TensorProto.INT64, shape)
    head = size.hidden // size.heads
    graph.stored("split_heads", [0, 0, size.heads, head])
    graph.stored("merge_heads", [0, 0, size.hidden])
    for name, numbers in {"first": [0], "second": [1], "inner": [1, 2]}.items():
        graph.stored(name, numbers)
    mask = graph.node("Unsqueeze", "mask.row", mask, "inner")
    mask = graph.node("Cast", "mask.float", mask, to=TensorProto.FLOAT)
    mask = graph.node("Sub", "mask.hidden", graph.scalar("mask.one", 1.0), mask)
    lowest = graph.scalar("mask.lowest", float(np.finfo(np.float32).min))
    graph.node("Mul", MASK, mask, lowest)
    value = _embed(graph, size, ids, is_open=True)
    for layer in range(size.layers):
        value = _layer(graph, size, f"layer{layer}", value, MASK)
    hidden = graph.node("Identity", "hidden", value)
    graph.output(hidden, (*shape, size.hidden))
    return graph.model()


def _shared_constants(graph: GraphBuilder, size: Encoder) -> None:
    head = size.hidden // size.heads
    graph.stored("split_heads", [1, size.sequence, size.heads, head])
    graph.stored("merge_heads", [1, size.sequence, size.hidden])


def _embed(
    graph: GraphBuilder, size: Encoder, ids: str, *, is_open: bool = False
) -> str:
    """Returns the sum of word, position and segment embeddings, normalised."""
    words = graph.weight("words", _embedding, size.vocabulary, size.hidden)
    positions = graph.weight("positions", _embedding, 1, size.sequence, size.hidden)
    if is_open:
        shape = graph.node("Shape", "embedding.shape", ids)
        length = graph.node("Gather", "embedding.length", shape, "second", axis=0)
        positions = graph.node(
            "Slice", "embedding.first", positions, "first", length, "second"
        )
    segment = graph.weight("segment", _embedding, size.hidden)
    value = graph.node("Gather", "embedding.words", words, ids, axis=0)
    value = graph.node("Add", "embedding.segment", value, segment)
    value = graph.node("Add", "embedding.position", value, positions)
    return layer_norm(graph, size.hidden, "embedding.norm", value)


def _embedding(name: str, shape: Shape) -> Weights:
    return normal(name, shape, 0.02)


def _layer(
    graph: GraphBuilder, size: Encoder, name: str, value: str, mask: str = ""
) -> str:
    """Returns one encoder layer, normalised after each residual sum."""
    attended = _attention(graph, size, f"{name}.attention", value, mask)
    value = graph.node("Add", f"{name}.attention.sum", attended, value)
    value = layer_norm(graph, size.hidden, f"{name}.attention.norm", value)
    widths = size.hidden, size.feed_forward
    inner = gelu(graph, f"{name}.gelu", linear(graph, f"{name}.inner", value, *widths))
    outer = linear(graph, f"{name}.outer", inner, *reversed(widths))
    value = graph.node("Add", f"{name}.sum", outer, value)
    return layer_norm(graph, size.hidden, f"{name}.norm", value)


def _attention(
    graph: GraphBuilder, size: Encoder, name: str, value: str, mask: str
) -> str:
    """Returns softmax(query x keys / sqrt(head)) x values, heads merged and projected."""
    query = _heads(graph, size, f"{name}.query", value, [0, 2, 1, 3])
    keys = _heads(graph, size, f"{name}.key", value, [0, 2, 3, 1])
    values = _heads(graph, size, f"{name}.value", value, [0, 2, 1, 3])
    scores = graph.node("MatMul", f"{name}.scores", query, keys)
    root = graph.scalar(f"{name}.root", sqrt(size.hidden / size.heads))
    scores = graph.node("Div", f"{name}.scaled", scores, root)
    if mask:
        scores = graph.node("Add", f"{name}.masked", scores, mask)
    shares = graph.node("Softmax", f"{name}.shares", scores, axis=-1)
    context = graph.node("MatMul", f"{name}.context", shares, values)
    context = graph.node("Transpose", f"{name}.swap", context, perm=[0, 2, 1, 3])
    merged = graph.node("Reshape", f"{name}.merged", context, "merge_heads")
    return linear(graph, f"{name}.output", merged, size.hidden, size.hidden)


def _heads(
    graph: GraphBuilder, size: Encoder, name: str, value: str, permutation: list[int]
) -> str:
    """Returns a projection `[1, sequence, heads, head]`, transposed."""
    value = linear(graph, name, value, size.hidden, size.hidden)
    value = graph.node("Reshape", f"{name}.split", value, "split_heads")
    return graph.node("Transpose", f"{name}.transposed", value, perm=permutation)
