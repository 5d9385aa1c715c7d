"""Forms of operators that training networks hold, against ONNX's reference and NumPy."""

import numpy as np
import onnx.parser
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import glow
from glow.dialects.errors import GlowError

DOMAIN = "ai.onnx.preview.training"


def draw(*shape, seed=0):
    """Seeded positive numbers."""
    return np.random.default_rng(seed).uniform(0.5, 2, shape).astype(np.float32)


def model_of(operator, feeds, outputs, constants=(), opset=17, domain="", **attributes):
    """A model of one node, and its inputs."""
    node = helper.make_node(operator, list(feeds), outputs, domain=domain, **attributes)
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in feeds.items()
        if name not in constants
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    weights = [numpy_helper.from_array(feeds[name], name) for name in constants]
    graph = helper.make_graph([node], "training", inputs, results, weights)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize(
    ("operator", "states", "attributes"),
    [
        ("Adagrad", 1, {"decay_factor": 0.1, "norm_coefficient": 0.01}),
        ("Adam", 2, {"alpha": 0.8, "norm_coefficient_post": 0.1}),
        ("Momentum", 1, {"alpha": 0.9, "beta": 0.5, "mode": "nesterov"}),
        ("Momentum", 1, {"alpha": 0.9, "beta": 0.5, "mode": "standard"}),
    ],
)
def test_steps_of_two_parameters(operator, states, attributes, count):
    """Attributes that are left out have defaults, which the reference wants to be given."""
    defaults = {"norm_coefficient": 0.0, "epsilon": 1e-6}
    defaults |= {"beta": 0.999, "alpha": 0.9} if operator == "Adam" else {}
    given = attributes | {"norm_coefficient": attributes.get("norm_coefficient", 0.0)}
    wanted = (defaults if operator != "Momentum" else {}) | given
    feeds = {"rate": np.array(0.1, np.float32), "count": np.array(count)}
    kinds = ["x", "g", *(f"s{k}" for k in range(states))]
    for kind in kinds:
        feeds |= {f"{kind}{k}": draw(2 + k, seed=k) for k in range(2)}
    outputs = [f"{kind}{k}_new" for kind in ("x", *kinds[2:]) for k in range(2)]
    reference = model_of(operator, feeds, outputs, domain=DOMAIN, **wanted)
    model = model_of(operator, feeds, outputs, domain=DOMAIN, **attributes)
    expected = ReferenceEvaluator(reference).run(None, feeds)
    results = glow.compile(model, backend="interpreter")(*feeds.values())
    for result, array in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, array, 1e-5)


@pytest.mark.parametrize("constants", [(), ("ratio",), ("ratio", "mode")])
def test_dropout_by_a_mode_that_is_computed(constants):
    x, ratio = draw(40, 7), np.array(0.3, np.float32)
    feeds = {"x": x, "ratio": ratio, "mode": np.array(True)}
    model = model_of("Dropout", feeds, ["y", "mask"], constants, seed=5)
    mask = np.random.RandomState(5).uniform(0, 1, x.shape) >= ratio
    compiled = glow.compile(model, threads=1)
    given = [array for name, array in feeds.items() if name not in constants]
    for _ in range(2):
        y, found = compiled(*given)
        np.testing.assert_array_equal(found, mask)
        np.testing.assert_allclose(y, np.where(mask, x / (1 - ratio), 0), 1e-6)
    if "mode" not in constants:
        y, found = compiled(*given[:-1], np.array(False))
        np.testing.assert_array_equal(y, x)
        assert found.all()


def test_masks_that_are_too_large_need_a_mode_that_is_known():
    x = np.zeros((2**12, 2**13), np.float32)
    feeds = {"x": x, "ratio": np.array(0.3, np.float32), "mode": np.array(False)}
    model = model_of("Dropout", feeds, ["y"], ("ratio",))
    with pytest.raises(glow.GlowError, match="fix what says its mode, by --value"):
        glow.compile(model)
    assert (
        glow.compile(model, input_values={"mode": np.array(False)})(x).shape == x.shape
    )


@pytest.mark.parametrize(("opset", "attributes"), [(9, {}), (14, {"training_mode": 1})])
def test_batch_normalization_by_the_batch(opset, attributes):
    """Before opset 14, more than one result means training."""
    x = draw(2, 3, 4)
    feeds = {"x": x} | {name: draw(3, seed=n) for n, name in enumerate("abmv", 1)}
    model = model_of(
        "BatchNormalization",
        feeds,
        ["y", "mean", "variance"],
        opset=opset,
        **attributes,
    )
    results = glow.compile(model, backend="interpreter")(*feeds.values())
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    scale, bias, old_mean, old_variance = (feeds[name] for name in "abmv")
    y = (x - mean[:, None]) / np.sqrt(variance + 1e-5)[:, None]
    expected = (
        y * scale[:, None] + bias[:, None],
        old_mean * 0.9 + mean * 0.1,
        old_variance * 0.9 + variance * 0.1,
    )
    for result, array in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, array, 1e-5, 1e-6)


# -- Gradient

HEADER = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>'


def parsed(text):
    return onnx.parser.parse_model(f"{HEADER}\nnetwork {text}")


def test_gradient_of_products_and_weights():
    """Of a sum of sigmoids by the input and by a weight; that of what is apart is zero."""
    network = parsed(
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
def test_gradients_that_are_refused(text):
    with pytest.raises(GlowError, match=REFUSED[text]) as error:
        glow.compile(parsed(text), backend="interpreter")
    assert "\n" not in str(error.value)
