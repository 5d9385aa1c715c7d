"""Convolutions over time: a temporal convolutional network, WaveNet's gated layers, and words.

Bai et al. 2018, "An empirical evaluation of generic convolutional and recurrent networks"; van den
Oord et al. 2016, "WaveNet".
"""

from dataclasses import dataclass

from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import conv, linear
from benchmarks.networks.weights import Shape, Weights, normal


@dataclass(frozen=True)
class Temporal:
    """The size of a network; layer k of one in layers has dilation 2**k."""

    name: str
    inputs: int
    channels: int
    layers: int
    length: int


TCN = Temporal("tcn", 64, 128, 8, 512)
WAVENET = Temporal("wavenet", 1, 64, 10, 2048)
TEXT = Temporal("text_cnn", 300, 100, 2, 56)
TEXT_WIDTHS = (3, 4, 5)
TINY_TEXT = Temporal("text_cnn_tiny", 6, 20, 2, 11)
TINY_TCN = Temporal("tcn_tiny", 3, 20, 2, 17)
TINY_WAVENET = Temporal("wavenet_tiny", 1, 16, 2, 20)


def build_tcn(size: Temporal = TCN) -> ModelProto:
    """Returns a network `[1, inputs, length]` to `[1, channels, length]`."""
    graph = GraphBuilder(size.name)
    shape = (1, size.inputs, size.length)
    value, channels = graph.input("steps", TensorProto.FLOAT, shape), size.inputs
    for layer in range(size.layers):
        name, dilation, branch = f"layer{layer}", 2**layer, value
        for number, inputs in enumerate((channels, size.channels)):
            weight = (size.channels, inputs, 3)
            branch = _causal(graph, f"{name}.conv{number}", branch, weight, dilation)
            branch = graph.node("Relu", f"{name}.relu{number}", branch)
        if channels != size.channels:
            weight = (size.channels, channels, 1)
            value = conv(graph, f"{name}.shortcut", value, weight)
        value = graph.node("Add", f"{name}.sum", value, branch)
        value = graph.node("Relu", f"{name}.relu", value)
        channels = size.channels
    graph.output(value, (1, size.channels, size.length))
    return graph.model()


def build_wavenet(size: Temporal = WAVENET) -> ModelProto:
    """Returns a network `[1, inputs, length]` to the sum of all layers' skips."""
    graph = GraphBuilder(size.name)
    channels = size.channels
    shape = (1, size.inputs, size.length)
    value = graph.input("wave", TensorProto.FLOAT, shape)
    value = conv(graph, "stem", value, (channels, size.inputs, 1))
    skips = ""
    for layer in range(size.layers):
        name = f"layer{layer}"
        both = _causal(
            graph, f"{name}.conv", value, (2 * channels, channels, 2), 2**layer
        )
        half, gate = graph.results("Split", f"{name}.split", [both], 2, axis=1)
        half = graph.node("Tanh", f"{name}.tanh", half)
        gate = graph.node("Sigmoid", f"{name}.gate", gate)
        gated = graph.node("Mul", f"{name}.gated", half, gate)
        skip = conv(graph, f"{name}.skip", gated, (channels, channels, 1))
        skips = graph.node("Add", f"{name}.skips", skips, skip) if skips else skip
        branch = conv(graph, f"{name}.residual", gated, (channels, channels, 1))
        value = graph.node("Add", f"{name}.sum", value, branch)
    value = graph.node("Relu", "relu", skips)
    graph.output(value, (1, channels, size.length))
    return graph.model()


def _embedding(name: str, shape: Shape) -> Weights:
    return normal(name, shape, 1.0)


def build_text(size: Temporal = TEXT, words: int = 20_000) -> ModelProto:
    """Returns a network from ids `[1, length]` to logits `[1, layers]` of convolutions of
    three to five words (Kim 2014, "Convolutional neural networks for sentence classification").
    """
    graph = GraphBuilder(size.name)
    ids = graph.input("ids", TensorProto.INT64, (1, size.length))
    table = graph.weight("words", _embedding, words, size.inputs)
    value = graph.node("Gather", "words.taken", table, ids, axis=0)
    value = graph.node("Transpose", "steps", value, perm=[0, 2, 1])
    features = [_widest(graph, size, value, width) for width in TEXT_WIDTHS]
    value = graph.node("Concat", "features", *features, axis=1)
    channels = len(TEXT_WIDTHS) * size.channels
    value = linear(graph, "logits", value, channels, size.layers)
    graph.output(value, (1, size.layers))
    return graph.model()


def _widest(graph: GraphBuilder, size: Temporal, value: str, width: int) -> str:
    """Returns the largest result over time of each filter of so many steps."""
    weight = (size.channels, size.inputs, width)
    value = conv(graph, f"width{width}", value, weight)
    value = graph.node("Relu", f"width{width}.relu", value)
    return graph.node("ReduceMax", f"width{width}.max", value, axes=[2], keepdims=0)


def _causal(
    graph: GraphBuilder, name: str, value: str, weight: tuple[int, ...], dilation: int
) -> str:
    """Returns a convolution that reads no later step."""
    pads = [dilation * (weight[-1] - 1), 0]
    return conv(graph, name, value, weight, pads=pads, dilations=[dilation])
