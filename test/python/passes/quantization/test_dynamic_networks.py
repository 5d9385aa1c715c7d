"""What ONNX Runtime's `quantize_dynamic` writes: the same integers, by kernels of bytes."""

import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.onnx_models.onnxruntime_testing import onnxruntime_outputs

import glow
from glow.compiler import lower_to
from glow.frontends.onnx import import_model

RNG = np.random.default_rng(2)


def model_of(product, x, weights, zero_point, **attributes):
    """A product of `x`, quantized at the call, and stored weights."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node(product, ["q", "w", "z", "wz"], ["sums"], **attributes),
        helper.make_node("Cast", ["sums"], ["floats"], to=1),
        helper.make_node("Mul", ["s", "ws"], ["unit"]),
        helper.make_node("Mul", ["floats", "unit"], ["y"]),
    ]
    constants = {
        "w": weights,
        "wz": np.array(zero_point, weights.dtype),
        "ws": np.array(0.01, np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", 1, x.shape)],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def stored(shape, dtype):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def check(model, x):
    """Both backends and ONNX Runtime agree bit for bit."""
    expected = onnxruntime_outputs(model, {"x": x})["y"]
    for backend in ("cpu", "interpreter"):
        found = glow.compile(model, backend=backend, threads=1)(x)
        np.testing.assert_array_equal(found, expected)


def lowered(model):
    return str(lower_to(import_model(model), "lowered"))


ZERO_POINTS = [
    (np.uint8, 120),
    (np.uint8, 128),
    (np.uint8, 0),
    (np.int8, 0),
    (np.int8, 5),
]


@pytest.mark.parametrize(("dtype", "zero_point"), ZERO_POINTS)
@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "attributes"),
    [
        (16, 32, 3, {"pads": [1, 1, 1, 1]}),
        (24, 24, 1, {}),
        (3, 8, 5, {"pads": [2, 0, 1, 2], "strides": [2, 2]}),
        (8, 8, 3, {"pads": [1, 1, 1, 1], "group": 8}),
        (8, 16, 3, {"dilations": [2, 2], "group": 2}),
    ],
)
def test_convolutions(dtype, zero_point, inputs, outputs, size, attributes):
    x = (RNG.standard_normal((1, inputs, 9, 7)) * 2).astype(np.float32)
    group = attributes.get("group", 1)
    weights = stored((outputs, inputs // group, size, size), dtype)
    model = model_of("ConvInteger", x, weights, zero_point, **attributes)
    check(model, x)
    check(model, np.abs(x))
    if group == 1:
        assert "cpu.int8_conv2d" in lowered(model)


@pytest.mark.parametrize(("dtype", "zero_point"), ZERO_POINTS)
@pytest.mark.parametrize("shape", [(5, 64), (1, 67), (2, 3, 16)])
def test_products(dtype, zero_point, shape):
    x = (RNG.standard_normal(shape) * 2).astype(np.float32)
    model = model_of("MatMulInteger", x, stored((shape[-1], 50), dtype), zero_point)
    check(model, x)
    assert "cpu.int8_matmul" in lowered(model)
