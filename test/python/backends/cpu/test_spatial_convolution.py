"""Volumes and transposed convolutions as ONNX writes them, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow
from glow import GlowError

onnxruntime = pytest.importorskip("onnxruntime")

CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("Conv", (2, 3, 5, 6, 7), (4, 3, 3, 3, 3), {"pads": [1] * 6}),
    ("Conv", (1, 4, 6, 5, 4), (6, 2, 2, 3, 1), {"group": 2, "auto_pad": "SAME_LOWER"}),
    ("Conv", (1, 3, 9, 9, 9), (5, 3, 3, 3, 3), {"strides": [2, 3, 1], "dilations": [2, 1, 3]}),
    ("ConvTranspose", (1, 6, 4, 5), (6, 2, 3, 2), {"strides": [3, 2], "group": 3}),
    ("ConvTranspose", (1, 3, 6, 6), (3, 4, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("ConvTranspose", (1, 3, 5, 6), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ("ConvTranspose", (1, 3, 5, 6), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    ("ConvTranspose", (1, 3, 5, 6), (3, 4, 3, 3), {"strides": [2, 2], "output_shape": [10, 13],
                                                  "output_padding": [1, 0]}),
    ("ConvTranspose", (2, 3, 9), (3, 2, 4), {"strides": [3], "pads": [1, 2],
                                             "output_padding": [1]}),
    ("ConvTranspose", (1, 33, 9, 11), (33, 17, 5, 3), {"strides": [2, 3], "pads": [2, 0, 1, 1],
                                                       "dilations": [2, 1]}),
    ("ConvTranspose", (1, 2, 3, 4, 2), (2, 3, 2, 1, 3), {}),
    ("ConvTranspose", (2, 4, 3, 4, 5), (4, 3, 3, 2, 4), {"strides": [2, 1, 3], "group": 2,
                                                         "pads": [1, 0, 2, 0, 1, 1],
                                                         "output_padding": [1, 0, 2]}),
    ("ConvTranspose", (1, 3, 2, 5, 4), (3, 2, 3, 3, 2), {"strides": [1, 2, 2],
                                                         "dilations": [2, 1, 3]}),
    ("ConvTranspose", (1, 3, 4, 3, 5), (3, 2, 3, 3, 3), {"strides": [2, 2, 2],
                                                         "auto_pad": "SAME_UPPER"}),
    ("ConvTranspose", (1, 3, 4, 3, 5), (3, 2, 2, 3, 4), {"strides": [2, 2, 2],
                                                         "auto_pad": "SAME_LOWER"}),
    ("ConvTranspose", (1, 3, 4, 3, 5), (3, 2, 3, 3, 3), {"strides": [2, 2, 2],
                                                         "output_shape": [10, 7, 8]}),
    ("ConvTranspose", (2, 3, 7), (3, 2, 4), {"strides": [2], "dilations": [3], "group": 1,
                                             "output_shape": [19]}),
    ("ConvTranspose", (1, 17, 4, 8, 8), (17, 16, 2, 2, 2), {"strides": [2, 2, 2]}),
]  # fmt: skip


def model(
    operator: str,
    image: tuple[int, ...],
    weights: tuple[int, ...],
    attributes: dict[str, Any],
) -> onnx.ModelProto:
    group = attributes.get("group", 1)
    outputs = weights[0] if operator == "Conv" else weights[1] * group
    random = np.random.default_rng(0)
    values = {
        "w": random.standard_normal(weights, np.float32),
        "b": random.standard_normal(outputs, np.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node(
                operator, ["x", "w", "b"], ["y"], name="layer", **attributes
            )
        ],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_layer(case: Any, backend: str) -> None:
    network = model(*case)
    image = np.random.default_rng(1).standard_normal(case[1], np.float32)
    session = onnxruntime.InferenceSession(
        network.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (expected,) = session.run(None, {"x": image})
    actual = glow.compile(network, backend=backend, threads=1)(image)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, atol=1e-5 * scale, rtol=1e-5)


def residual_volumes(batch: int, channels: int) -> onnx.ModelProto:
    """Three convolutions over volumes, a sum and activations between them."""
    random = np.random.default_rng(batch)
    shapes = {
        "u": (channels, 3, 3, 3, 3),
        "v": (channels, channels, 3, 1, 3),
        "w": (channels, channels, 1, 3, 1),
    }
    nodes = [
        helper.make_node("Conv", ["x", "u"], ["p"], pads=[1] * 6, strides=[2, 1, 1]),
        helper.make_node("Relu", ["p"], ["q"]),
        helper.make_node("Conv", ["q", "v"], ["r"], pads=[1, 0, 1, 1, 0, 1]),
        helper.make_node("Add", ["r", "q"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["t"]),
        helper.make_node("Mul", ["t", "half"], ["h"]),
        helper.make_node("Conv", ["h", "w"], ["y"], pads=[0, 1, 0, 0, 1, 0]),
    ]
    weights = {k: random.standard_normal(s, np.float32) for k, s in shapes.items()}
    weights["half"] = np.full((1, 1), 0.5, np.float32)
    graph = helper.make_graph(
        nodes,
        "volumes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (batch, 3, 6, 7, 9))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(("batch", "channels"), [(1, 16), (2, 16), (1, 5), (3, 9)])
def test_volumes_between_convolutions(batch: int, channels: int) -> None:
    network = residual_volumes(batch, channels)
    x = np.random.default_rng(1).standard_normal((batch, 3, 6, 7, 9), np.float32)
    session = onnxruntime.InferenceSession(
        network.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (expected,) = session.run(None, {"x": x})
    actual = glow.compile(network, threads=1)(x)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, atol=1e-5 * scale, rtol=1e-5)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            ("ConvTranspose", (1, 3, 4, 4, 4, 4), (3, 2, 3, 3, 3, 3), {}),
            "4 spatial axes",
        ),
        (
            (
                "ConvTranspose",
                (1, 3, 4, 4, 4),
                (3, 2, 3, 3, 3),
                {"pads": [2, 0, 0, 9, 0, 0]},
            ),
            "cut off more than the output's 6",
        ),
        (
            ("ConvTranspose", (1, 3, 4, 4), (3, 2, 3, 3), {"output_padding": [2, 0]}),
            "output_padding must be less than the stride or the dilation",
        ),
        (
            ("ConvTranspose", (1, 4, 4, 4), (3, 2, 3, 3), {}),
            "4 input channels do not suit weights for 3",
        ),
        (
            ("Conv", (1, 3, 2, 2, 2), (3, 3, 3, 3, 3), {}),
            "the window of 3 is larger than the padded input of 2",
        ),
    ],
)
def test_bad_layers_are_refused(case: Any, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        glow.compile(model(*case))
