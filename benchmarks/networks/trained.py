"""Networks that are trained from scratch: the ones of `benchmarks/training.py`.

Weights are drawn as PyTorch's layers draw theirs (uniform within one over the square root of
a sum's length), and named as `benchmarks/peers/torch_networks.py` names them, so that both
sides start from the same numbers. Every network takes `x` and returns `logits`, one row of
them for each label.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.inputs import Array
from benchmarks.networks.weights import Shape, Weights, normal, uniform

BATCH = 32
CLASSES = 10


@dataclass(frozen=True)
class Decoder:
    """The size of a transformer that predicts the next token; `heads` divide `width`.

    Radford et al. 2019, "Language models are unsupervised multitask learners".
    """

    width: int = 384
    layers: int = 6
    heads: int = 6
    sequence: int = 64
    vocabulary: int = 65


TINY_DECODER = Decoder(width=16, layers=2, heads=2, sequence=6, vocabulary=11)


def digits_mlp(batch: int = BATCH) -> ModelProto:
    """Returns three linear layers, from `[batch, 1, 8, 8]`."""
    graph = GraphBuilder("digits_mlp")
    value = graph.input("x", TensorProto.FLOAT, (batch, 1, 8, 8))
    value = graph.node("Flatten", "flat", value, axis=1)
    value = _relu(graph, "relu1", _linear(graph, "fc1", value, 64, 128))
    value = _relu(graph, "relu2", _linear(graph, "fc2", value, 128, 64))
    return _finish(graph, _linear(graph, "fc3", value, 64, CLASSES), batch, CLASSES)


def digits_cnn(batch: int = BATCH) -> ModelProto:
    """Returns a residual network of about twenty thousand weights, from `[batch, 1, 8, 8]`."""
    graph = GraphBuilder("digits_cnn")
    value = graph.input("x", TensorProto.FLOAT, (batch, 1, 8, 8))
    value = _relu(graph, "relu", _normalized(graph, ("conv", "bn"), value, (1, 16)))
    value = _block(graph, "layer1", value, (16, 16))
    value = _block(graph, "layer2", value, (16, 32), stride=2)
    return _classify(graph, value, batch, 32)


def resnet18(
    batch: int = BATCH,
    size: int = 64,
    widths: tuple[int, ...] = (64, 128, 256, 512),
    blocks: int = 2,
) -> ModelProto:
    """Returns ResNet-18, from `[batch, 3, size, size]`.

    He et al. 2016, "Deep residual learning for image recognition", table 1.
    """
    graph = GraphBuilder("resnet18")
    value = graph.input("x", TensorProto.FLOAT, (batch, 3, size, size))
    value = _normalized(
        graph, ("conv", "bn"), value, (3, widths[0]), kernel=7, stride=2
    )
    value = _relu(graph, "relu", value)
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}
    value = graph.node("MaxPool", "pool", value, **window)
    channels = widths[0]
    for stage, width in enumerate(widths):
        for block in range(blocks):
            name = f"layers.{stage * blocks + block}"
            stride = 2 if stage and not block else 1
            value = _block(graph, name, value, (channels, width), stride=stride)
            channels = width
    return _classify(graph, value, batch, channels)


def transformer(batch: int = BATCH, size: Decoder | None = None) -> ModelProto:
    """Returns a decoder, from ids `[batch, sequence]` to `[batch * sequence, vocabulary]`."""
    size = size or Decoder()
    graph = GraphBuilder("transformer")
    ids = graph.input("x", TensorProto.INT64, (batch, size.sequence))
    tokens = graph.weight("tokens.weight", _embedding, size.vocabulary, size.width)
    positions = graph.weight("positions", _embedding, size.sequence, size.width)
    value = graph.node("Gather", "embedded", tokens, ids, axis=0)
    value = graph.node("Add", "placed", value, positions)
    rows = batch * size.sequence
    graph.stored("as_rows", [rows, size.width])
    graph.stored("as_heads", [batch, size.sequence, size.heads, -1])
    graph.stored("thirds", [size.width] * 3)
    hidden = np.triu(np.full((size.sequence,) * 2, -np.inf, np.float32), 1)
    graph.node("Constant", "mask", value=numpy_helper.from_array(hidden))
    value = graph.node("Reshape", "rows", value, "as_rows")
    for layer in range(size.layers):
        name = f"layers.{layer}"
        attended = _layer_norm(graph, f"{name}.ln1", value, size.width)
        attended = _attention(graph, size, name, attended)
        value = graph.node("Add", f"{name}.sum1", value, attended)
        inner = _layer_norm(graph, f"{name}.ln2", value, size.width)
        inner = _linear(graph, f"{name}.up", inner, size.width, 4 * size.width)
        inner = _gelu(graph, f"{name}.gelu", inner)
        inner = _linear(graph, f"{name}.down", inner, 4 * size.width, size.width)
        value = graph.node("Add", f"{name}.sum2", value, inner)
    value = _layer_norm(graph, "ln", value, size.width)
    value = _linear(graph, "head", value, size.width, size.vocabulary)
    return _finish(graph, value, rows, size.vocabulary)


TRAINED_NETWORKS: dict[str, Callable[[], ModelProto]] = {
    "digits_mlp": digits_mlp,
    "digits_cnn": digits_cnn,
    "resnet18": resnet18,
    "transformer": transformer,
}


def make_batch(model: ModelProto, seed: int = 0) -> tuple[Array, Array]:
    """Returns random `x` and a label for each row of logits."""
    rng = np.random.default_rng(seed)
    (value,) = model.graph.input
    kind = value.type.tensor_type
    shape = [dimension.dim_value for dimension in kind.shape.dim]
    logits = model.graph.output[0].type.tensor_type.shape.dim
    rows, classes = (dimension.dim_value for dimension in logits)
    labels = rng.integers(0, classes, rows)
    if kind.elem_type == TensorProto.INT64:
        return rng.integers(0, classes, shape), labels
    return rng.standard_normal(shape, np.float32), labels


def _uniform(length: int) -> Callable[[str, Shape], Weights]:
    """Returns a fill for weights of sums of so many products."""
    bound = length**-0.5
    return lambda name, shape: uniform(name, shape, -bound, bound)


def _embedding(name: str, shape: Shape) -> Weights:
    return normal(name, shape, 0.02)


def _ones(name: str, shape: Shape) -> Weights:
    return np.ones(shape, np.float32)


def _zeros(name: str, shape: Shape) -> Weights:
    return np.zeros(shape, np.float32)


def _relu(graph: GraphBuilder, name: str, value: str) -> str:
    return graph.node("Relu", name, value)


def _linear(
    graph: GraphBuilder, name: str, value: str, inputs: int, outputs: int
) -> str:
    """Returns rows `[N, inputs]` times a weight `[outputs, inputs]`, plus a bias."""
    fill = _uniform(inputs)
    weight = graph.weight(f"{name}.weight", fill, outputs, inputs)
    bias = graph.weight(f"{name}.bias", fill, outputs)
    return graph.node("Gemm", name, value, weight, bias, transB=1)


def _normalized(
    graph: GraphBuilder,
    names: tuple[str, str],
    value: str,
    channels: tuple[int, int],
    *,
    kernel: int = 3,
    stride: int = 1,
) -> str:
    """Returns a convolution without bias, and batch normalization; of the two names."""
    (convolution, norm), (inputs, outputs) = names, channels
    shape = outputs, inputs, kernel, kernel
    fill = _uniform(prod(shape[1:]))
    weight = graph.weight(f"{convolution}.weight", fill, *shape)
    window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2}
    value = graph.node(
        "Conv", convolution, value, weight, pads=[kernel // 2] * 4, **window
    )
    fills = {
        "weight": _ones,
        "bias": _zeros,
        "running_mean": _zeros,
        "running_var": _ones,
    }
    operands = [graph.weight(f"{norm}.{k}", fill, outputs) for k, fill in fills.items()]
    return graph.node("BatchNormalization", norm, value, *operands, epsilon=1e-5)


def _block(
    graph: GraphBuilder,
    name: str,
    value: str,
    channels: tuple[int, int],
    *,
    stride: int = 1,
) -> str:
    """Returns a residual block of two convolutions."""
    inputs, outputs = channels
    names = [(f"{name}.conv{i}", f"{name}.bn{i}") for i in range(3)]
    body = _normalized(graph, names[1], value, channels, stride=stride)
    body = _relu(graph, f"{name}.relu1", body)
    body = _normalized(graph, names[2], body, (outputs, outputs))
    if stride != 1 or inputs != outputs:
        value = _normalized(graph, names[0], value, channels, kernel=1, stride=stride)
    return _relu(graph, f"{name}.relu2", graph.node("Add", f"{name}.sum", body, value))


def _classify(graph: GraphBuilder, value: str, batch: int, channels: int) -> ModelProto:
    value = graph.node("GlobalAveragePool", "means", value)
    value = graph.node("Flatten", "features", value, axis=1)
    return _finish(
        graph, _linear(graph, "fc", value, channels, CLASSES), batch, CLASSES
    )


def _finish(graph: GraphBuilder, value: str, rows: int, classes: int) -> ModelProto:
    graph.output(graph.node("Identity", "logits", value), (rows, classes))
    return graph.model()


def _layer_norm(graph: GraphBuilder, name: str, value: str, width: int) -> str:
    scale = graph.weight(f"{name}.weight", _ones, width)
    bias = graph.weight(f"{name}.bias", _zeros, width)
    return graph.node("LayerNormalization", name, value, scale, bias, epsilon=1e-5)


def _attention(graph: GraphBuilder, size: Decoder, name: str, value: str) -> str:
    """Returns causal attention of rows `[N * sequence, width]`, projected."""
    value = _linear(graph, f"{name}.qkv", value, size.width, 3 * size.width)
    thirds = graph.results("Split", f"{name}.thirds", [value, "thirds"], 3, axis=1)
    query, keys, values = (
        graph.node(
            "Transpose",
            f"{third}.heads",
            graph.node("Reshape", f"{third}.split", third, "as_heads"),
            perm=order,
        )
        for third, order in zip(
            thirds, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True
        )
    )
    scores = graph.node("MatMul", f"{name}.scores", query, keys)
    factor = graph.scalar(f"{name}.factor", (size.width // size.heads) ** -0.5)
    scores = graph.node("Mul", f"{name}.scaled", scores, factor)
    scores = graph.node("Add", f"{name}.masked", scores, "mask")
    weights = graph.node("Softmax", f"{name}.weights", scores, axis=-1)
    context = graph.node("MatMul", f"{name}.context", weights, values)
    context = graph.node("Transpose", f"{name}.swap", context, perm=[0, 2, 1, 3])
    context = graph.node("Reshape", f"{name}.merged", context, "as_rows")
    return _linear(graph, f"{name}.out", context, size.width, size.width)


def _gelu(graph: GraphBuilder, name: str, value: str) -> str:
    """Returns x / 2 * (1 + erf(x / sqrt(2)))."""
    root, one, half = (
        graph.scalar(f"{name}.{key}", number)
        for key, number in (("root", 2**-0.5), ("one", 1.0), ("half", 0.5))
    )
    error = graph.node(
        "Erf", f"{name}.erf", graph.node("Mul", f"{name}.in", value, root)
    )
    shifted = graph.node("Add", f"{name}.shifted", error, one)
    product = graph.node("Mul", f"{name}.product", value, shifted)
    return graph.node("Mul", f"{name}.out", product, half)
