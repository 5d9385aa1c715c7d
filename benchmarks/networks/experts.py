"""Layers of experts as Transformers exports them: the weights of each token's experts are picked,
and multiplied as a batch ("batched_mm"). Also as ONNX Runtime's `QMoE`, with weights of 4 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto, helper

from benchmarks.networks import few_bits
from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import linear
from benchmarks.networks.weights import Weights, normal


@dataclass(frozen=True)
class Experts:
    """The sizes of a network: `chosen` of the `experts` serve a token."""

    name: str
    tokens: int
    width: int
    hidden: int
    experts: int = 8
    chosen: int = 2
    layers: int = 2


PREFILL = Experts("experts_prefill", 128, 512, 1024)
DECODE = Experts("experts_decode", 1, 512, 1024)
TINY = Experts("experts_tiny", 5, 12, 20, 4, 2, 1)
TINY_FEW_BITS = Experts("experts_tiny_int4", 5, 32, 64, 4, 2, 1)


Layer = Callable[[GraphBuilder, str, Experts, str], str]


def build(size: Experts) -> ModelProto:
    """Returns residual layers of experts on `[tokens, width]`."""
    return _residual(size, _layer)


def build_few_bits(size: Experts) -> ModelProto:
    """Returns the same of weights of 4 bits with a scale for each block of 32."""
    model = _residual(size, _few_bits_layer)
    for node in model.graph.node:
        if node.op_type == "QMoE":
            node.domain = "com.microsoft"
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def _residual(size: Experts, layer: Layer) -> ModelProto:
    graph = GraphBuilder(size.name)
    shape = (size.tokens, size.width)
    value = graph.input("tokens", TensorProto.FLOAT, shape)
    for number in range(size.layers):
        name = f"layer{number}"
        mixed = layer(graph, name, size, value)
        value = graph.node("Add", f"{name}.residual", value, mixed)
    graph.output(value, shape)
    return graph.model()


def _layer(graph: GraphBuilder, name: str, size: Experts, value: str) -> str:
    """Returns the sum of what the best experts of each token make of it, by their weights."""
    first, end = graph.stored(f"{name}.first", [1]), graph.stored(f"{name}.end", [-1])
    shares, places = _best(graph, name, size, value)
    rows = graph.node("Unsqueeze", f"{name}.rows", value, first)
    rows = graph.node("Unsqueeze", f"{name}.columns", rows, end)
    wide = (size.experts, size.hidden, size.width)
    narrow = (size.experts, size.width, size.hidden)
    up = _product(graph, f"{name}.up", wide, places, rows)
    active = graph.node("Relu", f"{name}.active", up)
    down = _product(graph, f"{name}.down", narrow, places, active)
    weights = graph.node("Unsqueeze", f"{name}.weights", shares, end)
    flat = graph.node("Squeeze", f"{name}.flat", down, end)
    weighted = graph.node("Mul", f"{name}.weighted", flat, weights)
    return graph.node("ReduceSum", f"{name}.sum", weighted, first, keepdims=0)


def _few_bits_layer(graph: GraphBuilder, name: str, size: Experts, value: str) -> str:
    """Returns the same by one node."""
    logits = linear(graph, f"{name}.router", value, size.width, size.experts)
    wide, narrow = (size.width, size.hidden), (size.hidden, size.width)
    up, down = (
        _few_bits(graph, f"{name}.{part}", size.experts, *sizes)
        for part, sizes in (("up", wide), ("down", narrow))
    )
    return graph.node(
        "QMoE",
        f"{name}.experts",
        *(value, logits, *up, "", *down),
        k=size.chosen,
        activation_type="relu",
        expert_weight_bits=few_bits.BITS,
        block_size=few_bits.BLOCK,
    )


def _few_bits(
    graph: GraphBuilder, name: str, experts: int, depth: int, columns: int
) -> tuple[str, str]:
    """Returns codes [experts, outputs, inputs / 2] and scales [experts, outputs, blocks]."""
    matrices = _of_depth(name, (experts, columns, depth))
    pairs = [few_bits.quantized(matrix.T) for matrix in matrices]
    codes = np.stack([codes.reshape(columns, -1) for codes, _ in pairs])
    scales = np.stack([scales.reshape(columns, -1) for _, scales in pairs])
    return graph.stored(f"{name}.codes", codes), graph.stored(f"{name}.scales", scales)


def _best(graph: GraphBuilder, name: str, size: Experts, value: str) -> tuple[str, str]:
    """Returns the shares of the best experts of each token, and which they are."""
    logits = linear(graph, f"{name}.router", value, size.width, size.experts)
    shares = graph.node("Softmax", f"{name}.shares", logits, axis=-1)
    count = graph.stored(f"{name}.count", [size.chosen])
    best, places = graph.results("TopK", f"{name}.best", [shares, count], 2)
    return best, places


def _product(
    graph: GraphBuilder, name: str, shape: tuple[int, int, int], places: str, rows: str
) -> str:
    """Returns the products of the matrices at some places with columns."""
    weight = graph.weight(f"{name}.weight", _of_depth, *shape)
    picked = graph.node("Gather", f"{name}.picked", weight, places, axis=0)
    return graph.node("MatMul", f"{name}.product", picked, rows)


def _of_depth(name: str, shape: tuple[int, ...]) -> Weights:
    """Returns weights `[experts, outputs, inputs]` that keep the spread."""
    return normal(name, shape, shape[-1] ** -0.5)
