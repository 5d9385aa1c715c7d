"""Operators as opsets 1 to 6 define them, which ONNX Runtime does not have, against NumPy.

Those that ONNX had for trial are compared with ONNX Runtime, which still has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser
from support.onnx_models.onnx_testing import error_of, make_model, node

import glow
from glow import compiler
from glow.diagnostics import GlowError

X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
ROW, COLUMN = X[0, 0] + 5, X[0, :, 0] + 7
ON = {"broadcast": 1}
CASES: list[tuple[str, int, list[Any], dict[str, Any], Any]] = [
    ("Add", 6, [X, ROW], ON, X + ROW),
    ("Sub", 6, [X, COLUMN], {**ON, "axis": 1}, X - COLUMN[:, None]),
    ("Mul", 1, [X, X], {"consumed_inputs": [0, 0]}, X * X),
    ("Add", 6, [X, np.float32(2)], {**ON, "axis": X.ndim}, X + 2),
    ("Div", 5, [X, COLUMN], {**ON, "axis": -2}, X / COLUMN[:, None]),
    ("Pow", 6, [X, np.float32([2])], ON, X * X),
    ("Greater", 1, [X, COLUMN], {**ON, "axis": 1}, X > COLUMN[:, None]),
    ("And", 6, [X > 0, ROW > 5], ON, (X > 0) & (ROW > 5)),
    ("Relu", 1, [X], {"consumed_inputs": [0]}, np.maximum(X, 0)),
    ("Sum", 1, [X, X], {}, X + X),
    ("PRelu", 6, [X, COLUMN], {}, np.where(X < 0, X * COLUMN[:, None], X)),
    ("Cast", 1, [X], {"to": "INT32"}, X.astype(np.int32)),
    ("Clip", 1, [X], {"min": 0.5, "max": 2.0}, np.clip(X, 0.5, 2)),
    ("Concat", 1, [X, X], {}, np.concatenate([X, X], axis=1)),
    ("Dropout", 6, [X], {"is_test": 1}, X),
    ("Pad", 1, [X], {"paddings": [0, 0, 1, 0, 0, 2]}, np.pad(X, [(0, 0), (0, 0), (1, 2)])),
    ("Reshape", 1, [X], {"shape": [0, -1]}, X.reshape(2, 12)),
    ("Selu", 1, [np.abs(X)], {}, np.abs(X) * np.float32(1.0507)),
    ("Split", 1, [X, np.array([3, 1])], {"axis": 2}, X[..., :3]),
    ("Tile", 1, [X, np.array([2]), np.array([1])], {}, np.tile(X, (1, 2, 1))),
    (
        "Upsample",
        1,
        [X[None]],
        {"height_scale": 2.0, "width_scale": 3.0, "mode": "nearest"},
        X[None].repeat(2, axis=2).repeat(3, axis=3),
    ),
    ("LpPool", 1, [X], {"kernel_shape": [4], "p": 1.0}, np.abs(X).sum(2, keepdims=True)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_old_form(case: tuple[str, int, list[Any], dict[str, Any], Any]) -> None:
    operator, opset, (x, *others), attributes, expected = case
    names = ["x", *(f"c{number}" for number in range(len(others)))]
    outputs = ["y", "rest"] if operator == "Split" else ["y"]
    made = helper.make_node(operator, names, outputs, **attributes)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [made],
        "old",
        [helper.make_tensor_value_info("x", element, x.shape)],
        [helper.make_empty_tensor_value_info("y")],
        [
            numpy_helper.from_array(array, name)
            for name, array in zip(names[1:], others, strict=True)
        ],
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=3)
    result = glow.compile(model, backend="interpreter")(x)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, 1e-6)


def test_operands_that_differ_are_not_broadcast_unasked():
    model = make_model(
        [node("Add", "x c")], [("x", [2, 3])], weights={"c": X[0, 0, :3]}, opset=6
    )
    assert "shapes [2, 3] and [3] differ without broadcast" in error_of(model)


def test_training_is_refused():
    model = make_model([node("Dropout", "x")], [("x", [2, 3])], opset=6)
    with pytest.raises(GlowError, match="is_test 0"):
        glow.compile(model)


@pytest.mark.parametrize("opset", [13, 14])
def test_results_ask_for_training_before_there_was_a_mode(opset: int) -> None:
    """Of BatchNormalization, which has the attribute `training_mode` from opset 14 on."""
    weights = {name: np.ones(3, np.float32) for name in "sbmv"}
    norm = node("BatchNormalization", "x s b m v", "n mean variance")
    model = make_model(
        [norm, node("Mul", "n mean", "y")],
        [("x", [2, 3, 3])],
        weights=weights,
        opset=opset,
    )
    if opset == 14:
        assert "'BatchNormalization' (statistics without training_mode)" in error_of(
            model
        )
    else:
        x = X[..., :3]
        mean = x.mean((0, 2))
        expected = (x - mean[:, None]) / np.sqrt(x.var((0, 2))[:, None] + 1e-5) + 1
        found = glow.compile(model, backend="interpreter")(x)
        np.testing.assert_allclose(found, expected * (0.9 + 0.1 * mean), 1e-5)


EXPERIMENTAL = [
    "Affine<alpha = 2.0, beta = 3.0>(x)",
    "ImageScaler<scale = 0.5, bias = [1.0, 2.0, 3.0]>(x)",
    "ImageScaler<bias = [1.0, 2.0, 3.0]>(x)",
    "Crop<border = [1, 2, 3, 1]>(x)",
    "Crop<border = [1, 2, 3, 1], scale = [2, 3]>(x)",
    "ParametricSoftplus<alpha = 2.0, beta = 0.5>(x)",
    "ScaledTanh<alpha = 2.0, beta = 0.5>(x)",
    "Scale<scale = 2.5>(x)",
]


def experimental_model(body):
    text = (
        '<ir_version: 3, opset_import: ["" : 8]> test (float[2, 3, 8, 9] x) => '
        f"(float[a, b, c, d] y) {{ y = {body} }}"
    )
    return parser.parse_model(text).SerializeToString()


@pytest.mark.parametrize("body", EXPERIMENTAL)
@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_experimental_operators_are_those_of_onnx_runtime(body, backend):
    runtime = pytest.importorskip("onnxruntime")
    source = experimental_model(body)
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 9), np.float32)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    (wanted,) = runtime.InferenceSession(source, options).run(None, {"x": x})
    found = compiler.compile(source, backend=backend)(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Crop<border = [1, 2]>(x)", "border needs 4 numbers, not 2"),
        (
            "Crop<border = [1, 2, 3, 7]>(x)",
            "border [1, 2, 3, 7] leaves nothing of [2, 3, 8, 9]",
        ),
    ],
)
def test_a_wrong_border_is_one_line(body, message):
    with pytest.raises(GlowError) as caught:
        compiler.compile(experimental_model(body))
    assert message in caught.value.one_line()
