"""MobileNetV2: depthwise convolutions, ReLU6 and linear bottlenecks.

Sandler et al. 2018, "MobileNetV2: Inverted residuals and linear bottlenecks", table 2.
"""

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.weights import he, near_one, near_zero

Stage = tuple[int, int, int, int]
"""Expansion, channels, number of blocks and stride of the first block."""


@dataclass(frozen=True)
class MobileNet:
    """The size of a network."""

    image_size: int = 224
    stem: int = 32
    stages: tuple[Stage, ...] = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    head: int = 1280
    classes: int = 1000


@dataclass(frozen=True)
class Window:
    """What a convolution sees of its input."""

    kernel: int = 1
    stride: int = 1
    group: int = 1


POINTWISE = Window()

TINY = MobileNet(32, 8, ((1, 8, 1, 1), (3, 16, 2, 2), (3, 24, 1, 2)), 40, 10)


def build(size: MobileNet | None = None) -> ModelProto:
    """Returns a network from an image `[1, 3, H, W]` to logits `[1, classes]`."""
    size = size or MobileNet()
    graph = GraphBuilder("mobilenet_v2")
    shape = (1, 3, size.image_size, size.image_size)
    value = graph.input("image", TensorProto.FLOAT, shape)
    graph.stored("zero", np.array(0, np.float32))
    graph.stored("six", np.array(6, np.float32))
    value = _conv_relu6(graph, "stem", value, (3, size.stem), Window(3, 2))
    value, channels = _stages(graph, value, size)
    value = _conv_relu6(graph, "head", value, (channels, size.head))
    value = graph.node("GlobalAveragePool", "pool", value)
    value = graph.node("Flatten", "features", value, axis=1)
    weight = graph.weight("classifier.weight", he, size.classes, size.head)
    bias = graph.weight("classifier.bias", near_zero, size.classes)
    value = graph.node(
        "Gemm", "logits", value, weight, bias, alpha=1.0, beta=1.0, transB=1
    )
    graph.output(value, (1, size.classes))
    return graph.model()


def _stages(graph: GraphBuilder, value: str, size: MobileNet) -> tuple[str, int]:
    """Append all blocks; returns the last one's value and its channels."""
    channels = size.stem
    for stage, (expansion, outputs, blocks, stride) in enumerate(size.stages):
        for block in range(blocks):
            name = f"stage{stage}.{block}"
            hidden = channels * expansion
            step = stride if block == 0 else 1
            branch = _inverted_bottleneck(
                graph, name, value, (channels, hidden, outputs), step
            )
            residual = step == 1 and channels == outputs
            value = (
                graph.node("Add", f"{name}.sum", value, branch) if residual else branch
            )
            channels = outputs
    return value, channels


def _inverted_bottleneck(
    graph: GraphBuilder,
    name: str,
    value: str,
    widths: tuple[int, int, int],
    stride: int,
) -> str:
    """Returns expand, depthwise, project; the last without an activation."""
    inputs, hidden, outputs = widths
    if hidden != inputs:
        value = _conv_relu6(graph, f"{name}.expand", value, (inputs, hidden))
    window = Window(3, stride, group=hidden)
    value = _conv_relu6(graph, f"{name}.depthwise", value, (1, hidden), window)
    return _conv(graph, f"{name}.project", value, (hidden, outputs))


def _conv_relu6(
    graph: GraphBuilder,
    name: str,
    value: str,
    channels: tuple[int, int],
    window: Window = POINTWISE,
) -> str:
    value = _conv(graph, name, value, channels, window)
    return graph.node("Clip", f"{name}.relu6", value, "zero", "six")


def _conv(
    graph: GraphBuilder,
    name: str,
    value: str,
    channels: tuple[int, int],
    window: Window = POINTWISE,
) -> str:
    """Returns the normalised convolution by a weight `[outputs, inputs, kernel, kernel]`."""
    inputs, outputs = channels
    kernel, stride, group = window.kernel, window.stride, window.group
    weight = graph.weight(f"{name}.weight", he, outputs, inputs, kernel, kernel)
    value = graph.node(
        "Conv",
        f"{name}.conv",
        value,
        weight,
        dilations=[1, 1],
        group=group,
        kernel_shape=[kernel, kernel],
        pads=[kernel // 2] * 4,
        strides=[stride, stride],
    )
    fills = {
        "scale": near_one,
        "bias": near_zero,
        "mean": near_zero,
        "variance": near_one,
    }
    statistics = [
        graph.weight(f"{name}.{k}", fill, outputs) for k, fill in fills.items()
    ]
    return graph.node(
        "BatchNormalization",
        f"{name}.norm",
        value,
        *statistics,
        epsilon=1e-5,
        momentum=0.9,
    )
