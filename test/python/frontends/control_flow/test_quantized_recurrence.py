"""LSTMs whose weights are integers, beside floats and beside ONNX Runtime's own."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import glow
from glow.dialects.errors import GlowError

RNG = np.random.default_rng(7)
STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 6, 3
ROWS = 4 * HIDDEN
X = RNG.standard_normal((STEPS, BATCH, INPUTS)).astype(np.float32)


def quantized_weights(directions, size, dtype, by_row):
    """Integers [directions, size, rows], their scales and zero points."""
    low, high = (0, 256) if dtype == np.uint8 else (-128, 128)
    stored = RNG.integers(low, high, (directions, size, ROWS)).astype(dtype)
    shape = (directions, ROWS) if by_row else (directions,)
    scale = RNG.uniform(0.002, 0.006, shape).astype(np.float32)
    point = np.full(shape, 128 if dtype == np.uint8 else 0, dtype)
    return stored, scale, point


def floats_of(stored, scale, point):
    """What LSTM takes: [directions, rows, size]."""
    factor, zero = (one if one.ndim == 2 else one[:, None] for one in (scale, point))
    numbers = stored.astype(np.float32) - zero[:, None].astype(np.float32)
    return (numbers * factor[:, None]).transpose(0, 2, 1)


def session_of(model):
    return onnxruntime.InferenceSession(model.SerializeToString())


def model_of(operator, constants, inputs, directions, domain=""):
    attributes = {
        "hidden_size": HIDDEN,
        "direction": "bidirectional" if directions == 2 else "reverse",
    }
    node = helper.make_node(
        operator, inputs, ["y", "h", "c"], domain=domain, **attributes
    )
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", 1, X.shape)],
        [helper.make_tensor_value_info(name, 1, None) for name in "yhc"],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_weights_are_floats_again(directions, dtype, by_row, backend):
    w = quantized_weights(directions, INPUTS, dtype, by_row)
    r = quantized_weights(directions, HIDDEN, dtype, by_row)
    b = RNG.standard_normal((directions, 2 * ROWS)).astype(np.float32)
    names = ["w", "r", "b", "ws", "wz", "rs", "rz"]
    constants = dict(zip(names, (w[0], r[0], b, *w[1:], *r[1:]), strict=True))
    inputs = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
    domain = "com.microsoft"
    model = model_of("DynamicQuantizeLSTM", constants, inputs, directions, domain)
    plain = {"w": floats_of(*w), "r": floats_of(*r), "b": b}
    float_model = model_of("LSTM", plain, ["x", "w", "r", "b"], directions)
    found = glow.compile(model, backend=backend, threads=1)(X)
    for ours, exact, rounded in zip(
        found,
        session_of(float_model).run(None, {"x": X}),
        session_of(model).run(None, {"x": X}),
        strict=True,
    ):
        np.testing.assert_allclose(ours, exact, rtol=0, atol=2e-6)
        np.testing.assert_allclose(ours, rounded, rtol=0, atol=0.05)


def test_wrong_scales():
    w, r = (quantized_weights(1, size, np.uint8, False) for size in (INPUTS, HIDDEN))
    constants = {"w": w[0], "r": r[0], "s": np.ones(2, np.float32), "z": w[2]}
    inputs = ["x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"]
    model = model_of("DynamicQuantizeLSTM", constants, inputs, 1, "com.microsoft")
    with pytest.raises(GlowError, match=r"scales or zero points of shape \[2\]"):
        glow.compile(model)
