"""A network with a node of each family of kernels that can be configured."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS = 2 * 64
"""Rows of a product that Strassen's algorithm is for."""

INPUTS = {
    "image": (1, 16, 12, 13),
    "few": (1, 2, 9, 10),
    "wide": (1, 64, 16, 16),
    "bytes": (1, 16, 9, 9),
    "rows": (7, 32),
    "tall": (ROWS, 768),
    "left": (2, 9, 32),
    "right": (2, 32, 20),
    "queries": (2, 11, 32),
    "keys": (2, 70, 32),
    "steps": (3, 2, 8),
}

WEIGHTS = {
    "direct": (40, 16, 3, 3),
    "depthwise": (16, 1, 3, 3),
    "plain": (3, 2, 3, 3),
    "winograd": (64, 64, 3, 3),
    "int8": (32, 16, 3, 3),
    "matrix": (32, 50),
    "int8_matrix": (32, 40),
    "square": (768, 768),
    "w": (1, 4 * 32, 8),
    "r": (1, 4 * 32, 32),
    "b": (1, 8 * 32),
}

NODES = [
    ("Conv", ["image", "direct"], ["direct_y"], {"strides": [2, 1], "pads": [1] * 4}),
    ("Conv", ["image", "depthwise"], ["depthwise_y"], {"group": 16, "pads": [1] * 4}),
    ("Conv", ["few", "plain"], ["plain_y"], {"pads": [1] * 4}),
    ("Conv", ["wide", "winograd"], ["winograd_y"], {"pads": [1] * 4}),
    ("ConvInteger", ["bytes", "int8"], ["int8_y"], {"pads": [1] * 4}),
    ("MatMul", ["rows", "matrix"], ["matrix_y"], {}),
    ("MatMul", ["tall", "square"], ["strassen_y"], {}),
    ("MatMul", ["left", "right"], ["batch_y"], {}),
    ("Transpose", ["keys"], ["turned"], {"perm": [0, 2, 1]}),
    ("MatMul", ["queries", "turned"], ["scores"], {}),
    ("Softmax", ["scores"], ["shares"], {"axis": -1}),
    ("MatMul", ["shares", "keys"], ["attention_y"], {}),
    ("LSTM", ["steps", "w", "r", "b"], ["recurrence_y"], {"hidden_size": 32}),
]

EXACT = {"direct_y", "depthwise_y", "plain_y", "winograd_y", "int8_y"}
"""Sums whose order does not depend on a tile."""


def network() -> onnx.ModelProto:
    """A network with a node of each family of kernels."""
    generator = np.random.default_rng(1)

    def weights(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if name.startswith("int8"):
            return generator.integers(-100, 100, shape).astype(np.int8)
        return (generator.standard_normal(shape) / 8).astype(np.float32)

    types = {"bytes": TensorProto.UINT8, "int8_y": TensorProto.INT32}
    outputs = [node[2][0] for node in NODES if node[2][0].endswith("_y")]
    graph = helper.make_graph(
        [helper.make_node(kind, *names, **more) for kind, *names, more in NODES],
        "families",
        [
            helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), shape)
            for n, shape in INPUTS.items()
        ],
        [
            helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), None)
            for n in outputs
        ],
        [numpy_helper.from_array(weights(n, s), n) for n, s in WEIGHTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def make_inputs() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(2)
    inputs = {
        name: generator.standard_normal(shape).astype(np.float32)
        for name, shape in INPUTS.items()
    }
    inputs["bytes"] = generator.integers(0, 255, INPUTS["bytes"]).astype(np.uint8)
    return inputs
