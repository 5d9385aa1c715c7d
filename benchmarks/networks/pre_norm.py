"""Transformers that normalise before each branch: ViT, the encoder of Whisper, GPT-2.

Dosovitskiy et al. 2021, "An image is worth 16 x 16 words"; Radford et al. 2022, "Robust speech
recognition"; Radford et al. 2019, "Language models are unsupervised multitask learners".
Attention is spelled as PyTorch's exporters spell `scaled_dot_product_attention`: the root of the
scale multiplies queries and transposed keys.
"""

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import conv, gelu, layer_norm, linear
from benchmarks.networks.weights import Shape, Weights, normal


@dataclass(frozen=True)
class Transformer:
    """The size of a stack of layers."""

    name: str
    hidden: int
    layers: int
    heads: int
    length: int
    """Of the sequence inside."""
    inputs: int = 3
    """Channels of an image or a spectrogram, words of a vocabulary."""


VIT = Transformer("vit", 384, 12, 6, 197)
WHISPER = Transformer("whisper_encoder", 512, 6, 8, 1500, inputs=80)
GPT2 = Transformer("gpt2_prefill", 768, 6, 12, 128, inputs=50257)
GPT2_DECODE = Transformer("gpt2_decode", 768, 6, 12, 512, inputs=50257)
TINY_VIT = Transformer("vit_tiny", 24, 2, 3, 10)
TINY_GPT2 = Transformer("gpt2_tiny", 16, 2, 2, 9, inputs=30)
TINY_DECODE = Transformer("gpt2_decode_tiny", 16, 2, 2, 9, inputs=30)
PATCH = 16
CLASSES = 1000


def build_vit(size: Transformer = VIT) -> ModelProto:
    """Returns a network from an image `[1, 3, H, W]` to logits `[1, 1000]`."""
    graph = GraphBuilder(size.name)
    side = int((size.length - 1) ** 0.5)
    shape = (1, size.inputs, PATCH * side, PATCH * side)
    image = graph.input("image", TensorProto.FLOAT, shape)
    weight = (size.hidden, size.inputs, PATCH, PATCH)
    value = conv(graph, "patches", image, weight, strides=[PATCH, PATCH])
    shape_ = graph.stored("patches.shape", [1, size.hidden, size.length - 1])
    value = graph.node("Reshape", "patches.flat", value, shape_)
    value = graph.node("Transpose", "patches.rows", value, perm=[0, 2, 1])
    token = graph.weight("class", _embedding, 1, 1, size.hidden)
    value = graph.node("Concat", "tokens", token, value, axis=1)
    value = _layers(graph, size, _positioned(graph, size, value))
    first = graph.stored("first", np.array(0, np.int64))
    value = graph.node("Gather", "class.state", value, first, axis=1)
    value = linear(graph, "logits", value, size.hidden, CLASSES)
    graph.output(value, (1, CLASSES))
    return graph.model()


def build_whisper(size: Transformer = WHISPER) -> ModelProto:
    """Returns a network from a spectrogram `[1, 80, 3000]` to states `[1, 1500, hidden]`."""
    graph = GraphBuilder(size.name)
    shape = (1, size.inputs, 2 * size.length)
    value = graph.input("mel", TensorProto.FLOAT, shape)
    hidden = size.hidden
    value = conv(graph, "conv1", value, (hidden, size.inputs, 3), pads=[1, 1])
    value = gelu(graph, "conv1.gelu", value)
    value = conv(graph, "conv2", value, (hidden, hidden, 3), pads=[1, 1], strides=[2])
    value = gelu(graph, "conv2.gelu", value)
    value = graph.node("Transpose", "rows", value, perm=[0, 2, 1])
    value = _layers(graph, size, _positioned(graph, size, value))
    graph.output(value, (1, size.length, hidden))
    return graph.model()


def build_gpt2(size: Transformer = GPT2) -> ModelProto:
    """Returns a network from ids `[1, length]` to states `[1, length, hidden]`."""
    graph = GraphBuilder(size.name)
    ids = graph.input("ids", TensorProto.INT64, (1, size.length))
    words = graph.weight("words", _embedding, size.inputs, size.hidden)
    value = graph.node("Gather", "words.taken", words, ids, axis=0)
    seen = np.tril(np.ones((1, 1, size.length, size.length), np.bool_))
    mask = graph.stored("causal", seen)
    value = _layers(graph, size, _positioned(graph, size, value), mask)
    graph.output(value, (1, size.length, size.hidden))
    return graph.model()


def build_gpt2_decode(size: Transformer = GPT2_DECODE) -> ModelProto:
    """Returns a network from one id, and keys and values of the words before it, to its state.

    It returns the keys and values with those of the word, too: `length` counts it.
    """
    graph = GraphBuilder(size.name)
    ids = graph.input("ids", TensorProto.INT64, (1, 1))
    words = graph.weight("words", _embedding, size.inputs, size.hidden)
    value = graph.node("Gather", "words.taken", words, ids, axis=0)
    place = graph.weight("position", _embedding, 1, 1, size.hidden)
    value = _layers(
        graph, size, graph.node("Add", "positioned", value, place), past=True
    )
    graph.output(value, (1, 1, size.hidden))
    return graph.model()


def _embedding(name: str, shape: Shape) -> Weights:
    return normal(name, shape, 0.02)


def _positioned(graph: GraphBuilder, size: Transformer, value: str) -> str:
    positions = graph.weight("positions", _embedding, 1, size.length, size.hidden)
    return graph.node("Add", "positioned", value, positions)


def _layers(
    graph: GraphBuilder,
    size: Transformer,
    value: str,
    mask: str = "",
    past: bool = False,
) -> str:
    """Returns all layers, and a last normalisation; one word where the others are past."""
    head, words = size.hidden // size.heads, 1 if past else size.length
    graph.stored("split_heads", [1, words, size.heads, head])
    graph.stored("merge_heads", [1, words, size.hidden])
    for number in range(size.layers):
        name = f"layer{number}"
        normal_ = layer_norm(graph, size.hidden, f"{name}.norm1", value, 1e-5)
        branch = _attention(graph, size, f"{name}.attention", normal_, mask, past)
        value = graph.node("Add", f"{name}.sum1", value, branch)
        normal_ = layer_norm(graph, size.hidden, f"{name}.norm2", value, 1e-5)
        widths = size.hidden, 4 * size.hidden
        branch = linear(graph, f"{name}.inner", normal_, *widths)
        branch = gelu(graph, f"{name}.gelu", branch)
        branch = linear(graph, f"{name}.outer", branch, *reversed(widths))
        value = graph.node("Add", f"{name}.sum2", value, branch)
    return layer_norm(graph, size.hidden, "norm", value, 1e-5)


def _with_past(graph: GraphBuilder, size: Transformer, name: str, value: str) -> str:
    """Returns keys or values of the words before, an input, and this one's: an output."""
    head = size.hidden // size.heads
    shape = (1, size.heads, size.length - 1, head)
    before = graph.input(f"{name}.past", TensorProto.FLOAT, shape)
    value = graph.node("Concat", f"{name}.present", before, value, axis=2)
    graph.output(value, (1, size.heads, size.length, head))
    return value


def _attention(
    graph: GraphBuilder,
    size: Transformer,
    name: str,
    value: str,
    mask: str,
    past: bool,
) -> str:
    """Returns attention of heads, merged and projected."""
    root = graph.scalar(f"{name}.root", (size.hidden / size.heads) ** -0.25)
    query, keys, values = (
        _heads(graph, size, f"{name}.{kind}", value)
        for kind in ("query", "key", "value")
    )
    if past:
        keys = _with_past(graph, size, f"{name}.key", keys)
        values = _with_past(graph, size, f"{name}.value", values)
    keys = graph.node("Transpose", f"{name}.turned", keys, perm=[0, 1, 3, 2])
    query = graph.node("Mul", f"{name}.query.scaled", query, root)
    keys = graph.node("Mul", f"{name}.key.scaled", keys, root)
    scores = graph.node("MatMul", f"{name}.scores", query, keys)
    if mask:
        low = graph.scalar(f"{name}.low", float(np.finfo(np.float32).min))
        scores = graph.node("Where", f"{name}.masked", mask, scores, low)
    shares = graph.node("Softmax", f"{name}.shares", scores, axis=-1)
    context = graph.node("MatMul", f"{name}.context", shares, values)
    context = graph.node("Transpose", f"{name}.swap", context, perm=[0, 2, 1, 3])
    merged = graph.node("Reshape", f"{name}.merged", context, "merge_heads")
    return linear(graph, f"{name}.output", merged, size.hidden, size.hidden)


def _heads(graph: GraphBuilder, size: Transformer, name: str, value: str) -> str:
    """Returns a projection, `[1, heads, length, head]`."""
    value = linear(graph, name, value, size.hidden, size.hidden)
    value = graph.node("Reshape", f"{name}.split", value, "split_heads")
    return graph.node("Transpose", f"{name}.transposed", value, perm=[0, 2, 1, 3])
