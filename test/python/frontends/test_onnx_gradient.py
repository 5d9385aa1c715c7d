"""ONNX `Gradient`: networks that hold the derivative of their own nodes."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import glow
from glow.dialects.errors import GlowError

HEADER = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>'


def model(text):
    return onnx.parser.parse_model(f"{HEADER}\nnetwork {text}")


def test_products_and_weights():
    """Of a sum of sigmoids by the input and by a weight; that of what is apart is zero."""
    network = model(
        """(float[2, 3] x, float[3] other) => (float[2, 3] dx, float[3, 2] dw, float[3] do)
           <float[3, 2] w = {1, 2, 3, 4, 5, 6}>
           {
             h = MatMul(x, w)
             y = Sigmoid(h)
             dx, dw, do = ai.onnx.preview.training.Gradient<xs = ["x", "w", "other"], y = "y">(
               x, w, other)
           }"""
    )
    x = np.array([[0.1, -0.2, 0.3], [0.0, 0.5, -0.4]], np.float32)
    w = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    y = 1 / (1 + np.exp(-(x @ w)))
    slope = y * (1 - y)
    for backend in ("interpreter", "cpu"):
        results = glow.compile(network, backend=backend)(x, np.ones(3, np.float32))
        expected = slope @ w.T, x.T @ slope, np.zeros(3)
        for ours, right in zip(results, expected, strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-6)


REFUSED = {
    "(float a, float b) => (float c, float d) { c = Mul(a, b) "
    'd = ai.onnx.preview.training.Gradient<xs = ["a"], y = "c">(b) }': (
        "at other values than those of xs"
    ),
    "(float a) => (float b, float d) { b = Sin(a) "
    'd = ai.onnx.preview.training.Gradient<xs = ["a"], y = "e">(a) }': (
        "'e' is read before it is defined"
    ),
    "(float a) => (float b, float d) { b = Sin(a) "
    'd = ai.onnx.preview.training.Gradient<xs = ["a", "b"], y = "b">(a) }': (
        "1 inputs for 2 names in xs and zs"
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    with pytest.raises(GlowError, match=REFUSED[text]) as error:
        glow.compile(model(text), backend="interpreter")
    assert "\n" not in str(error.value)
