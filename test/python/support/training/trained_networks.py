"""Small networks to train, and data that they can learn."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder

CLASSES = 3


def weights(graph: GraphBuilder, name: str, *shape: int) -> str:
    seed = sum(name.encode())
    values = np.random.default_rng(seed).standard_normal(shape) * 0.5
    return graph.stored(name, values.astype(np.float32))


def mlp(batch: int | str = 1, inputs: int = 4, hidden: int = 8) -> ModelProto:
    """Two linear layers, from `x` [batch, inputs] to `logits` [batch, 3]."""
    graph = GraphBuilder("mlp")
    value = graph.input("x", TensorProto.FLOAT, (batch, inputs))
    for layer, shape in enumerate([(hidden, inputs), (CLASSES, hidden)]):
        name = f"fc{layer}"
        operands = [
            weights(graph, f"{name}.weight", *shape),
            weights(graph, f"{name}.bias", shape[0]),
        ]
        value = graph.node("Gemm", name, value, *operands, transB=1)
        if not layer:
            value = graph.node("Relu", "relu", value)
    graph.output(graph.node("Identity", "logits", value), (batch, CLASSES))
    return graph.model()


def cnn(batch: int = 1) -> ModelProto:
    """A convolution with batch normalization, from `x` [batch, 1, 4, 4] to [batch, 3]."""
    graph = GraphBuilder("cnn")
    value = graph.input("x", TensorProto.FLOAT, (batch, 1, 4, 4))
    weight = weights(graph, "conv.weight", 4, 1, 3, 3)
    value = graph.node("Conv", "conv", value, weight, pads=[1] * 4)
    start = {"weight": 1, "bias": 0, "running_mean": 0, "running_var": 1}
    operands = [
        graph.stored(f"bn.{key}", np.full(4, number, np.float32))
        for key, number in start.items()
    ]
    value = graph.node("BatchNormalization", "bn", value, *operands)
    value = graph.node("Relu", "relu", value)
    value = graph.node("GlobalAveragePool", "pool", value)
    value = graph.node("Flatten", "flat", value)
    operands = [weights(graph, "fc.weight", CLASSES, 4), weights(graph, "fc.bias", 3)]
    value = graph.node("Gemm", "fc", value, *operands, transB=1)
    graph.output(graph.node("Identity", "logits", value), (batch, CLASSES))
    return graph.model()


def samples(
    count: int, shape: tuple[int, ...] = (4,), seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Samples whose largest of three sums is their class."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, *shape)).astype(np.float32)
    sums = x.reshape(count, -1) @ np.random.default_rng(1).standard_normal(
        (int(np.prod(shape)), CLASSES)
    )
    return x, sums.argmax(1)


def recurrent(
    kind: str, batch: int = 2, sequence: int = 5, letters: int = 7, hidden: int = 6
) -> ModelProto:
    """Ids `x` [batch, sequence] through an embedding and an LSTM or GRU to logits a letter."""
    graph = GraphBuilder("recurrent")
    gates = {"LSTM": 4, "GRU": 3}[kind] * hidden
    ids = graph.input("x", TensorProto.INT64, (batch, sequence))
    table = weights(graph, "letters.weight", letters, hidden)
    value = graph.node("Gather", "embedded", table, ids, axis=0)
    value = graph.node("Transpose", "steps", value, perm=[1, 0, 2])
    operands = [
        weights(graph, "rnn.weight", 1, gates, hidden),
        weights(graph, "rnn.recurrence", 1, gates, hidden),
        weights(graph, "rnn.bias", 1, 2 * gates),
    ]
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    results = graph.results(
        kind, "rnn", [value, *operands], 1, hidden_size=hidden, **more
    )
    graph.stored("direction", [1])
    graph.stored("rows", [-1, hidden])
    value = graph.node("Squeeze", "squeezed", results[0], "direction")
    value = graph.node("Transpose", "batches", value, perm=[1, 0, 2])
    value = graph.node("Reshape", "rows.value", value, "rows")
    operands = [
        weights(graph, "fc.weight", letters, hidden),
        weights(graph, "fc.bias", letters),
    ]
    value = graph.node("Gemm", "fc", value, *operands, transB=1)
    graph.output(graph.node("Identity", "logits", value), (batch * sequence, letters))
    return graph.model()
