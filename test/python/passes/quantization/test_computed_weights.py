"""Weights as directions and lengths, multiplied between casts: kernels of bytes take them."""

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

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
    kind, shape = TensorProto.FLOAT, [1, 16, 40]
    graph = helper.make_graph(
        nodes,
        "weight_norm",
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
