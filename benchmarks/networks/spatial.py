"""Windows over planes with dilations, over volumes in two factors, and sums along edges.

Chen et al. 2017, "Rethinking atrous convolution"; Tran et al. 2018, "A closer look at
spatiotemporal convolutions" (R(2+1)D); Hamilton et al. 2017, "Inductive representation learning"
(GraphSAGE).
"""

from dataclasses import dataclass

from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import conv, linear
from benchmarks.networks.weights import lecun


@dataclass(frozen=True)
class Spatial:
    """The size of a network: channels, layers, and the extents of its input."""

    name: str
    channels: int
    layers: int
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """The size of a network over a graph."""

    name: str
    nodes: int
    edges: int
    channels: int
    layers: int


DILATED = Spatial("dilated", 64, 4, (65, 65))
VIDEO = Spatial("video", 32, 3, (8, 56, 56))
SAGE = Graph("graph_sage", 500, 3000, 64, 3)
TINY_DILATED = Spatial("dilated_tiny", 16, 2, (9, 8))
TINY_VIDEO = Spatial("video_tiny", 8, 2, (4, 6, 6))
TINY_SAGE = Graph("graph_sage_tiny", 7, 20, 6, 2)


def build_dilated(size: Spatial = DILATED) -> ModelProto:
    """Returns a network of residual layers, layer k with dilation 2**(k / 2), on one plane."""
    graph, channels = GraphBuilder(size.name), size.channels
    shape = (1, channels, *size.extents)
    value = graph.input("image", TensorProto.FLOAT, shape)
    for layer in range(size.layers):
        name, step, branch = f"layer{layer}", 2 ** (1 + layer // 2), value
        for number in (0, 1):
            attributes = {"pads": [step] * 4, "dilations": [step] * 2}
            weight = (channels, channels, 3, 3)
            branch = conv(graph, f"{name}.conv{number}", branch, weight, **attributes)
            if number == 0:
                branch = graph.node("Relu", f"{name}.relu0", branch)
        value = graph.node("Add", f"{name}.sum", value, branch)
        value = graph.node("Relu", f"{name}.relu", value)
    graph.output(value, shape)
    return graph.model()


def build_video(size: Spatial = VIDEO) -> ModelProto:
    """Returns a network of windows over planes, then along time, and pools of both."""
    graph, inputs, outputs = GraphBuilder(size.name), 3, size.channels
    extents = list(size.extents)
    value = graph.input("clip", TensorProto.FLOAT, (1, inputs, *extents))
    for layer in range(size.layers):
        name = f"layer{layer}"
        plane = (outputs, inputs, 1, 3, 3)
        value = conv(graph, f"{name}.plane", value, plane, pads=[0, 1, 1] * 2)
        value = graph.node("Relu", f"{name}.relu0", value)
        time = (outputs, outputs, 3, 1, 1)
        value = conv(graph, f"{name}.time", value, time, pads=[1, 0, 0] * 2)
        value = graph.node("Relu", f"{name}.relu1", value)
        if layer:
            steps = [2 if extent > 1 else 1 for extent in extents]
            extents = [
                extent // step for extent, step in zip(extents, steps, strict=True)
            ]
            value = graph.node(
                "MaxPool", f"{name}.pool", value, kernel_shape=steps, strides=steps
            )
        inputs, outputs = outputs, 2 * outputs
    mean = graph.node("GlobalAveragePool", "mean", value)
    flat = graph.node("Flatten", "flat", mean)
    graph.output(linear(graph, "head", flat, inputs, 10), (1, 10))
    return graph.model()


def build_sage(size: Graph = SAGE) -> ModelProto:
    """Returns a network over features of nodes that are weights; edges are its inputs.

    Each edge adds the difference of its nodes' features to those of its second.
    """
    graph, channels = GraphBuilder(size.name), size.channels
    value = graph.weight("features", lecun, size.nodes, channels)
    sources = graph.input("sources", TensorProto.INT64, (size.edges,))
    targets = graph.input("targets", TensorProto.INT64, (size.edges,))
    last = graph.stored("last", [1])
    rows = graph.node("Unsqueeze", "rows", targets, last)
    widths = graph.stored("widths", [size.edges, channels])
    places = graph.node("Expand", "places", rows, widths)
    zeros = graph.node("Sub", "zeros", value, value)
    for layer in range(size.layers):
        name = f"layer{layer}"
        there = graph.node("Gather", f"{name}.there", value, sources)
        here = graph.node("Gather", f"{name}.here", value, targets)
        messages = graph.node("Sub", f"{name}.messages", there, here)
        sums = graph.node(
            "ScatterElements", f"{name}.sums", zeros, places, messages,
            axis=0, reduction="add",
        )  # fmt: skip
        mixed = linear(graph, f"{name}.neighbours", sums, channels, channels)
        kept = linear(graph, f"{name}.self", value, channels, channels)
        value = graph.node("Add", f"{name}.sum", mixed, kept)
        value = graph.node("Relu", f"{name}.relu", value)
    graph.output(value, (size.nodes, channels))
    return graph.model()
