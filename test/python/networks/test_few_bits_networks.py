"""Language models and experts with weights of 4 bits, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto

import glow
from benchmarks.networks import TINY_WIDER_NETWORKS, experts, few_bits, make_inputs
from glow.compiler import load, lower_to


@pytest.mark.parametrize("level", [few_bits.FLOATS, few_bits.ROUNDED])
@pytest.mark.parametrize("name", ["gpt2_prefill", "gpt2_decode"])
def test_tiny_language_models(name: str, level: int) -> None:
    model = few_bits.build(TINY_WIDER_NETWORKS[name], level)
    assert sum(node.op_type == "MatMulNBits" for node in model.graph.node) >= 2
    compare(model, 2e-5 if level == few_bits.FLOATS else 0.05)


def test_tiny_layers_of_experts() -> None:
    compare(experts.build_few_bits(experts.TINY_FEW_BITS), 2e-5)


def compare(model: ModelProto, allowed: float) -> None:
    """With ONNX Runtime, relative to the largest element."""
    content, inputs = model.SerializeToString(), make_inputs(model, 0)
    assert str(lower_to(load(content), "graph")).count("block_dequantize") >= 2
    expected = onnxruntime.InferenceSession(content).run(None, inputs)
    found = glow.compile(content).run(inputs)
    for one, other in zip(found.values(), expected, strict=True):
        assert np.abs(one - other).max() < allowed * np.abs(other).max()


def test_codes_are_those_of_the_matrix() -> None:
    matrix = np.random.default_rng(0).standard_normal((64, 5)).astype(np.float32)
    matrix[:32, 1] = 0
    codes, scales = few_bits.quantized(matrix)
    assert codes.shape == (5, 2, 16)
    apart = np.stack([codes & 15, codes >> 4], -1).reshape(5, 2, 32).astype(np.float32)
    found = ((apart - 8) * scales.reshape(5, 2, 1)).reshape(5, 64).T
    most = np.repeat(scales.reshape(5, 2).T, 32, 0) / 2
    assert (np.abs(found - matrix) <= most * 1.001).all()
