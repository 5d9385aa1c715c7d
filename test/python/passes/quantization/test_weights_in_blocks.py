"""Weights of linear layers in 4 or 8 bits with a scale a block, activations in floats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import numpy_helper

import glow
from glow.compiler import load, lower_to
from glow.exporters.onnx import export_model
from glow.passes.quantization.block_weights import BLOCK, block_codes
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.quantize import quantize_module

Array = np.ndarray


def network() -> tuple[onnx.ModelProto, Array]:
    """Two layers, and their first matrix."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        network (float[5, 72] x) => (float[5, 24] y) {
            sum = MatMul (x, w)
            h = Relu (sum)
            y = MatMul (h, v)
        }
    """)
    rng = np.random.default_rng(0)
    matrices = {"w": rng.standard_normal((72, 40)), "v": rng.standard_normal((40, 24))}
    for name, array in matrices.items():
        tensor = numpy_helper.from_array(array.astype(np.float32), name)
        model.graph.initializer.append(tensor)
    return model, matrices["w"].astype(np.float32)


@pytest.mark.parametrize("bits", [4, 8])
def test_codes_are_near_the_weights(bits: int) -> None:
    """Half a step away, a whole one where the largest code is not large enough."""
    matrix = network()[1]
    matrix[:BLOCK, 3] = 0
    codes, scales = block_codes(matrix, bits)
    least = -(1 << (bits - 1))
    assert codes.min() == least
    assert codes.max() <= -least - 1
    steps = np.repeat(np.abs(scales), BLOCK, 0)[: len(matrix)]
    floats = codes * np.repeat(scales, BLOCK, 0)[: len(matrix)]
    assert (np.abs(floats - matrix) <= steps * 1.0001).all()
    assert np.mean(np.abs(floats - matrix) <= steps * 0.5001) > 0.97
    assert not floats[:BLOCK, 3].any()


@pytest.mark.parametrize(
    ("activations", "allowed"), [("float", 1e-6), ("per-block", 0.02)]
)
@pytest.mark.parametrize("weights", ["int4", "int8"])
def test_native_code_has_the_results_of_the_graph(
    weights: str, activations: str, allowed: float
) -> None:
    model, _ = network()
    options = QuantizationOptions(activations=activations, weights=weights)
    x = np.random.default_rng(1).standard_normal((5, 72)).astype(np.float32)
    how = {"quantize": True, "quantization": options}
    expected = np.asarray(glow.compile(model, backend="interpreter", **how)(x))
    found = np.asarray(glow.compile(model, **how)(x))
    assert np.abs(found - expected).max() <= allowed * np.abs(expected).max()


def test_a_file_of_onnx_holds_the_codes(tmp_path: Path) -> None:
    model, _ = network()
    module = lower_to(load(model), "graph")
    options = QuantizationOptions(activations="float", weights="int4")
    quantize_module(module, None, options)
    written = export_model(module)
    kinds = [node.op_type for node in written.graph.node]
    assert kinds.count("DequantizeLinear") == 2
    session = onnxruntime.SessionOptions()
    # ONNX Runtime rounds activations where it fuses these.
    session.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    runs = onnxruntime.InferenceSession(written.SerializeToString(), session)
    x = np.random.default_rng(1).standard_normal((5, 72)).astype(np.float32)
    (expected,) = runs.run(None, {"x": x})
    found = np.asarray(glow.compile(written)(x))
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
