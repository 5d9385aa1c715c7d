"""Weights that casts make: kernels find constants."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import glow
from glow.compiler import load, lower_to


def weight_norm() -> ModelProto:
    """A convolution of bytes by `weight_norm`'s weights, as `quantize_static` casts them."""
    random = np.random.default_rng(0)
    constants = {
        "v": random.integers(0, 256, (32, 8, 5)).astype(np.uint8),
        "vs": np.float32(0.02),
        "vz": np.uint8(120),
        "g": random.random((1, 1, 5)).astype(np.float32),
        "ws": np.float32(0.01),
        "wz": np.uint8(128),
        "xs": np.float32(0.03),
        "xz": np.uint8(131),
        "axes": np.array([0, 1]),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["v", "vs", "vz"], ["d"]),
        helper.make_node("Mul", ["d", "d"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "axes"], ["sum"], keepdims=1),
        helper.make_node("Sqrt", ["sum"], ["norm"]),
        helper.make_node("Div", ["g", "norm"], ["factor"]),
        helper.make_node("Mul", ["d", "factor"], ["w"]),
        helper.make_node("QuantizeLinear", ["w", "ws", "wz"], ["wq"]),
        helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["wd"]),
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("Conv", ["xd", "wd"], ["c"], pads=[2, 2], group=2),
        helper.make_node("QuantizeLinear", ["c", "xs", "xz"], ["cq"]),
        helper.make_node("DequantizeLinear", ["cq", "xs", "xz"], ["y"]),
    ]
    return model_of("weight_norm", nodes, [1, 16, 40], constants)


def model_of(
    name: str,
    nodes: list[NodeProto],
    shape: list[int],
    constants: Mapping[str, npt.ArrayLike],
) -> ModelProto:
    """A model from `x` of a shape to `y`."""
    kind = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(np.array(v), n) for n, v in constants.items()],
    )
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def test_weight_norm() -> None:
    module = load(weight_norm())
    x = np.random.default_rng(1).standard_normal((1, 16, 40)).astype(np.float32)
    expected = np.asarray(glow.compile(weight_norm(), backend="interpreter")(x))
    found = np.asarray(glow.compile(weight_norm())(x))
    np.testing.assert_array_equal(found, expected)
    assert np.unique(expected).size > 40
    lower_to(module, "lowered", target="avx512")
    text = str(module)
    assert "cpu.int8_conv2d" in text
    assert "cpu.plain_conv2d" not in text


def test_transposed_convolution() -> None:
    """It stays one of floats, by weights that are constant before it is lowered."""
    random = np.random.default_rng(0)
    constants = {
        "w": random.integers(-128, 128, (32, 16, 4, 4)).astype(np.int8),
        "ws": np.float32(0.01),
        "wz": np.int8(0),
        "xs": np.float32(0.03),
        "xz": np.uint8(131),
    }
    window = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
        helper.make_node("ConvTranspose", ["xd", "wd"], ["y"], **window),
    ]
    shape = [1, 32, 14, 14]
    model = model_of("transposed", nodes, shape, constants)
    x = random.standard_normal(shape).astype(np.float32)
    expected = np.asarray(glow.compile(model, backend="interpreter")(x))
    found = np.asarray(glow.compile(model)(x))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    module = load(model)
    lower_to(module, "lowered", target="avx512")
    assert "cpu.pack_weights" not in str(module)
