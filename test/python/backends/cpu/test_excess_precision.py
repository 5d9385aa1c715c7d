"""Networks of f16, whose values between nodes are f32 unless each node is to round."""

import numpy as np
import onnx.parser
import pytest

import glow

MODEL = """
    <ir_version: 9, opset_import: ["" : 18]>
    network (float16[4, 8] x) => (float16[4, 8] y) {
        l = Constant <value_float = 300.0> ()
        large = CastLike (l, x)
        a = Mul (x, large)
        b = Mul (a, large)
        c = Relu (b)
        d = Softmax (c)
        e = Div (b, large)
        f = Div (e, large)
        y = Add (d, f)
    }
"""


def outputs(x: np.ndarray, **options: str) -> np.ndarray:
    model = onnx.parser.parse_model(MODEL)
    return next(iter(glow.compile(model, **options).run({"x": x}).values()))


def test_values_between_nodes_do_not_overflow():
    """300 * 300 * x is no number of f16."""
    x = np.linspace(-2, 2, 32, dtype=np.float16).reshape(4, 8)
    wide = np.maximum(x.astype(np.float32) * 90000, 0)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True) + x
    for numerics in ("default", "fast"):
        found = outputs(x, numerics=numerics)
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, expected, 1e-3, 1e-3)
    exact = outputs(x, numerics="exact")
    assert not np.isfinite(exact).all()
    interpreted = outputs(x, backend="interpreter")
    np.testing.assert_array_equal(np.isfinite(exact), np.isfinite(interpreted))


@pytest.mark.parametrize("numerics", ["default", "exact"])
def test_a_cast_of_the_network_rounds(numerics):
    text = MODEL.replace("a = Mul (x, large)", "w = Cast <to = 1> (x)").replace(
        "b = Mul (a, large)", "v = Mul (w, w)  b = Cast <to = 10> (v)"
    )
    text = text[: text.index("c = Relu")] + "u = Cast <to = 1> (b) y = Sub (v, u) }"
    text = text.replace("(float16[4, 8] y)", "(float[4, 8] y)")
    x = np.linspace(-2, 2, 32, dtype=np.float16).reshape(4, 8)
    model = onnx.parser.parse_model(text)
    found = next(iter(glow.compile(model, numerics=numerics).run({"x": x}).values()))
    squared = x.astype(np.float32) ** 2
    np.testing.assert_array_equal(found, squared - squared.astype(np.float16))
    assert np.any(found)
