"""Kernels that read the numbers of several quantized layers, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow
from glow.compiler import load, lower_to
from glow.options import CompileOptions

SIZE = 37
LAYERS = [(0.5, 3, 0.25, 200), (0.031, 117, 0.07, 0), (1.7, 255, 0.9, 255)]
"""Scales and zero points before and after a tanh."""


def branches() -> bytes:
    """Layers of one shape between casts, which differ in numbers alone."""
    nodes, constants, outputs = [], [], []
    for k, (scale, point, after, last) in enumerate(LAYERS):
        for name, value in (
            (f"s{k}", np.float32(scale)),
            (f"z{k}", np.uint8(point)),
            (f"t{k}", np.float32(after)),
            (f"l{k}", np.uint8(last)),
            (f"m{k}", np.float32(0.3 + k)),
        ):
            constants.append(numpy_helper.from_array(np.asarray(value), name))
        nodes += [
            helper.make_node("QuantizeLinear", ["x", f"s{k}", f"z{k}"], [f"a{k}"]),
            helper.make_node(
                "DequantizeLinear", [f"a{k}", f"s{k}", f"z{k}"], [f"b{k}"]
            ),
            helper.make_node("Mul", [f"b{k}", f"m{k}"], [f"c{k}"]),
            helper.make_node("QuantizeLinear", [f"c{k}", f"t{k}", f"l{k}"], [f"y{k}"]),
        ]
        outputs.append(
            helper.make_tensor_value_info(f"y{k}", TensorProto.UINT8, [SIZE])
        )
    taken = helper.make_tensor_value_info("x", TensorProto.FLOAT, [SIZE])
    graph = helper.make_graph(nodes, "branches", [taken], outputs, constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    return model.SerializeToString()


def numbers() -> np.ndarray:
    """Numbers of all sizes, bounds and infinities among them."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(SIZE) * 10.0 ** rng.integers(-3, 6, SIZE)
    values[:8] = [np.inf, -np.inf, 3e38, -3e38, 0.0, -0.0, 127.25, -128.75]
    return values.astype(np.float32)


@pytest.mark.parametrize("target", ["host", "avx2", "x86-64"])
def test_each_layer_has_its_numbers(target: str) -> None:
    """Every byte is that of ONNX Runtime without its optimizations."""
    model, x = branches(), numbers()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    wanted = session.run(None, {"x": x})
    found = glow.compile(model, target=target, threads=1).run({"x": x})
    for k, value in enumerate(wanted):
        np.testing.assert_array_equal(found[f"y{k}"], value)


def test_layers_have_one_kernel() -> None:
    """What differs in numbers alone is compiled once."""
    module = load(branches(), CompileOptions())
    lower_to(module, "loops", target="avx2")
    assert str(module).count("func.func private @elementwise") == 1
