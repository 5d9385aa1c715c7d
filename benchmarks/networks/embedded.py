"""The networks of microcontrollers and phones: two of MLPerf Tiny's, MobileNetV2, the digits.

Banbury et al. 2021, "MLPerf Tiny benchmark": keyword spotting is the small DS-CNN of Zhang et
al. 2017 ("Hello edge"), anomaly detection an auto-encoder of dense layers. Weights are seeded by
their names; those of the digits network are trained.

    model = embedded.NETWORKS["keyword_spotting"]()
    profile = embedded.profile_of(model)          # for quantize=
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto

import glow
from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.mobilenet_v2 import MobileNet
from benchmarks.networks.mobilenet_v2 import build as build_mobilenet
from benchmarks.networks.weights import he, near_one, near_zero

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"

KEYWORDS, CHANNELS, BLOCKS = 12, 64, 4
"""Of keyword spotting: classes, filters of each layer, depthwise-separable blocks."""

FEATURES, HIDDEN, CODE = 640, 128, 8
"""Of the anomaly detector: 5 frames of 128 bands, the width of layers, the narrowest."""

QUARTER_WIDTH = MobileNet(
    96,
    8,
    (
        (1, 8, 1, 1),
        (6, 8, 2, 2),
        (6, 8, 3, 2),
        (6, 16, 4, 2),
        (6, 24, 3, 1),
        (6, 40, 3, 2),
        (6, 80, 1, 1),
    ),
    1280,
    2,
)
"""A quarter of the channels, rounded to eights, for two classes (visual wake words)."""


def digits() -> ModelProto:
    """From an image `[1, 1, 8, 8]` to logits `[1, 10]`, trained."""
    return onnx.load(DIGITS)


def keyword_spotting() -> ModelProto:
    """From 49 frames of 10 coefficients `[1, 1, 49, 10]` to logits `[1, 12]`."""
    graph = GraphBuilder("keyword_spotting")
    value = graph.input("frames", TensorProto.FLOAT, (1, 1, 49, 10))
    value = _convolution(
        graph, "stem", value, (CHANNELS, 1, 10, 4), pads=[4, 1, 5, 1], strides=[2, 2]
    )
    for block in range(BLOCKS):
        name, window = f"depthwise{block}", {"pads": [1] * 4, "group": CHANNELS}
        value = _convolution(graph, name, value, (CHANNELS, 1, 3, 3), **window)
        shape = CHANNELS, CHANNELS, 1, 1
        value = _convolution(graph, f"pointwise{block}", value, shape)
    value = graph.node("GlobalAveragePool", "pool", value)
    value = graph.node("Flatten", "features", value, axis=1)
    value = _dense(graph, "logits", value, CHANNELS, KEYWORDS)
    graph.output(value, (1, KEYWORDS))
    return graph.model()


def anomaly_detector() -> ModelProto:
    """From a window of a spectrogram `[1, 640]` to its reconstruction `[1, 640]`."""
    graph = GraphBuilder("anomaly_detector")
    value = graph.input("window", TensorProto.FLOAT, (1, FEATURES))
    widths = [FEATURES, *[HIDDEN] * 4, CODE, *[HIDDEN] * 4]
    for layer, (inputs, outputs) in enumerate(pairwise(widths)):
        value = _dense(graph, f"layer{layer}", value, inputs, outputs)
        value = graph.node("Relu", f"layer{layer}.relu", value)
    value = _dense(graph, "reconstruction", value, HIDDEN, FEATURES)
    graph.output(value, (1, FEATURES))
    return graph.model()


def mobilenet_v2_quarter() -> ModelProto:
    """From an image `[1, 3, 96, 96]` to logits `[1, 2]`."""
    return build_mobilenet(QUARTER_WIDTH)


NETWORKS: Mapping[str, Callable[[], ModelProto]] = {
    "digits": digits,
    "keyword_spotting": keyword_spotting,
    "mobilenet_v2_quarter": mobilenet_v2_quarter,
    "anomaly_detector": anomaly_detector,
}


def sample_inputs(model: ModelProto, seed: int = 0) -> dict[str, np.ndarray]:
    """Standard normal numbers for each input of a model."""
    random = np.random.default_rng(seed)
    return {
        each.name: random.standard_normal(
            [size.dim_value for size in each.type.tensor_type.shape.dim], np.float32
        )
        for each in model.graph.input
    }


def profile_of(model: ModelProto, batches: int = 4) -> "glow.Profile":
    """What ranges the values of a model take on random inputs."""
    return glow.profile(model, [sample_inputs(model, 1 + n) for n in range(batches)])


def _convolution(
    graph: GraphBuilder,
    name: str,
    value: str,
    shape: tuple[int, int, int, int],
    **window: int | list[int],
) -> str:
    """A convolution, batch normalization and ReLU, as they are trained."""
    weight = graph.weight(f"{name}.weight", he, *shape)
    kernel_shape = list(shape[2:])
    value = graph.node("Conv", name, value, weight, kernel_shape=kernel_shape, **window)
    fills = {
        "scale": near_one,
        "bias": near_zero,
        "mean": near_zero,
        "variance": near_one,
    }
    statistics = [
        graph.weight(f"{name}.{key}", fill, shape[0]) for key, fill in fills.items()
    ]
    value = graph.node(
        "BatchNormalization", f"{name}.norm", value, *statistics, epsilon=1e-5
    )
    return graph.node("Relu", f"{name}.relu", value)


def _dense(
    graph: GraphBuilder, name: str, value: str, inputs: int, outputs: int
) -> str:
    weight = graph.weight(f"{name}.weight", he, outputs, inputs)
    bias = graph.weight(f"{name}.bias", near_zero, outputs)
    return graph.node("Gemm", name, value, weight, bias, transB=1)
