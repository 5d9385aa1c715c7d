"""Single operators on quantized tensors: the interpreter against ONNX Runtime, bit for bit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import ModelProto
from support.onnx_models.quantized_models import (
    CONTRIB,
    SCALE,
    Array,
    check,
    model_of,
    ours_and_theirs,
    scalar,
    whole,
)

from glow import GlowError
from glow.compiler import load
from glow.diagnostics import diagnose


@pytest.mark.filterwarnings("error:overflow")
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("per_axis", [False, True])
def test_quantize_linear(dtype: npt.DTypeLike, per_axis: bool) -> None:
    x = np.concatenate(
        [
            np.linspace(-6, 6, 1017),
            np.arange(-0.5, 0.5, 0.125) * SCALE,  # ties
            [np.inf, -np.inf, 1e30, -3.4e38],
        ]
    ).astype(np.float32)
    x = np.stack([x, x / 2])
    scale = np.array([SCALE, SCALE / 3]) if per_axis else scalar(SCALE)
    zero_point = np.array([3, 100] if per_axis else 3, dtype)
    model = model_of(
        "QuantizeLinear", {"x": x}, ["x", scale.astype("f"), zero_point], axis=0
    )
    check(model, {"x": x})


@pytest.mark.parametrize("scale", [0.5, 2.0, 0.0625])
def test_halves_go_to_the_even_number(scale: float) -> None:
    x = ((np.arange(-20, 20) + 0.5) * scale).astype(np.float32)
    for point in (np.uint8(100), np.int8(-3)):
        inputs = ["x", scalar(scale), scalar(point, point.dtype)]
        check(model_of("QuantizeLinear", {"x": x}, inputs), {"x": x})


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_dequantize_linear(dtype: npt.DTypeLike) -> None:
    x = np.arange(100).reshape(2, 50).astype(dtype)
    zero_point = None if dtype == np.int32 else scalar(7, dtype)
    model = model_of("DequantizeLinear", {"x": x}, ["x", scalar(SCALE), zero_point])
    check(model, {"x": x})


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("per_channel", [False, True])
def test_qlinear_conv(dtype: npt.DTypeLike, group: int, per_channel: bool) -> None:
    generator = np.random.default_rng(group)
    x = whole(generator, (2, 4, 7, 6), dtype)
    weights = whole(generator, (8, 4 // group, 3, 3), np.int8)
    scales = generator.uniform(0.001, 0.01, 8 if per_channel else ())
    bias = generator.integers(-2000, 2000, 8).astype(np.int32)
    zeros = np.zeros(8 if per_channel else (), np.int8)
    middle = 128 if dtype == np.uint8 else -3
    model = model_of(
        "QLinearConv",
        {"x": x},
        [
            "x", scalar(0.02), scalar(middle, dtype), weights, scales.astype("f"),
            zeros, scalar(0.17), scalar(middle + 5, dtype), bias,
        ],
        group=group,
        pads=[1, 1, 1, 1],
        strides=[2, 1],
    )  # fmt: skip
    check(model, {"x": x})


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_qlinear_matmul(dtype: npt.DTypeLike) -> None:
    generator = np.random.default_rng(3)
    a, b = whole(generator, (2, 5, 33), dtype), whole(generator, (33, 7), np.int8)
    model = model_of(
        "QLinearMatMul",
        {"a": a},
        [
            "a", scalar(0.02), scalar(9, dtype), b, scalar(0.01), scalar(0, np.int8),
            scalar(0.3), scalar(1, dtype),
        ],
    )  # fmt: skip
    check(model, {"a": a})


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_qlinear_binary(operator: str, dtype: npt.DTypeLike) -> None:
    """ONNX Runtime adds in another order: one step is allowed where it rounds a tie."""
    generator = np.random.default_rng(4)
    a, b = (whole(generator, (3, 65), dtype) for _ in range(2))
    model = model_of(
        operator,
        {"a": a, "b": b},
        [
            "a", scalar(0.02), scalar(9, dtype), "b", scalar(0.03), scalar(4, dtype),
            scalar(0.05), scalar(11, dtype),
        ],
        CONTRIB,
    )  # fmt: skip
    check(model, {"a": a, "b": b}, steps=1)


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("QLinearGlobalAveragePool", {}),
        (
            "QLinearAveragePool",
            {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 0]},
        ),
    ],
)
def test_qlinear_pool(operator: str, attributes: dict[str, Any]) -> None:
    x = whole(np.random.default_rng(5), (1, 3, 8, 8), np.uint8)
    model = model_of(
        operator,
        {"x": x},
        ["x", scalar(0.02), scalar(9, np.uint8), scalar(0.013), scalar(3, np.uint8)],
        CONTRIB,
        **attributes,
    )
    check(model, {"x": x}, steps=0 if operator == "QLinearGlobalAveragePool" else 1)


def test_means_of_planes_have_the_bits_of_onnxruntime() -> None:
    """Many of them, with ratios of scales at which every eighth mean is a tie."""
    generator = np.random.default_rng(6)
    for plane in ((2, 2), (4, 1), (3, 5), (7, 7)):
        x = whole(generator, (1, 200, *plane), np.uint8)
        for scale, target in ((0.05, 0.1), (0.02, 0.013), (0.3, 0.05)):
            zero = scalar(generator.integers(0, 256), np.uint8)
            inputs = ["x", scalar(scale), zero, scalar(target), zero]
            model = model_of("QLinearGlobalAveragePool", {"x": x}, inputs, CONTRIB)
            (ours,), (theirs,) = ours_and_theirs(model, {"x": x})
            np.testing.assert_array_equal(ours, theirs)


def test_means_of_windows_are_nearer_than_those_of_floats() -> None:
    """ONNX Runtime sums floats; ours is the exact mean, rounded, but for near ties."""
    generator = np.random.default_rng(7)
    x = whole(generator, (1, 50, 6, 6), np.uint8)
    scale, target = np.float32(0.05), np.float32(0.1)
    zero = scalar(3, np.uint8)
    inputs = ["x", scalar(scale), zero, scalar(target), zero]
    model = model_of(
        "QLinearAveragePool", {"x": x}, inputs, CONTRIB, kernel_shape=[2, 2]
    )
    (ours,), (theirs,) = ours_and_theirs(model, {"x": x})
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
    exact = (windows.astype(np.float64) - 3).mean((4, 5)) * float(scale) / float(target)
    errors = [np.abs(found - 3.0 - exact) for found in (ours, theirs)]
    assert errors[0].max() <= 0.5 + 1e-6
    assert errors[0].sum() <= errors[1].sum()


def test_qlinear_concat() -> None:
    generator = np.random.default_rng(6)
    a, b = (whole(generator, (2, 3), np.uint8) for _ in range(2))
    zero = scalar(9, np.uint8)
    model = model_of(
        "QLinearConcat",
        {"a": a, "b": b},
        [scalar(0.03), zero, "a", scalar(0.03), zero, "b", scalar(0.07), zero],
        CONTRIB,
        axis=1,
    )
    check(model, {"a": a, "b": b}, steps=1)


@pytest.mark.parametrize("operator", ["QLinearSigmoid", "QLinearLeakyRelu"])
def test_qlinear_function(operator: str) -> None:
    x = np.arange(256, dtype=np.uint8)
    attributes = {"alpha": 0.1} if operator == "QLinearLeakyRelu" else {}
    model = model_of(
        operator,
        {"x": x},
        ["x", scalar(0.05), scalar(128, np.uint8), scalar(0.04), scalar(7, np.uint8)],
        CONTRIB,
        **attributes,
    )
    check(model, {"x": x}, steps=1)


@pytest.mark.parametrize("has_zero_points", [False, True])
def test_integer_products(has_zero_points: bool) -> None:
    generator = np.random.default_rng(7)
    a, b = whole(generator, (2, 5, 9), np.uint8), whole(generator, (9, 4), np.int8)
    points = [scalar(100, np.uint8), scalar(-3, np.int8)] * has_zero_points
    check(model_of("MatMulInteger", {"a": a}, ["a", b, *points]), {"a": a})
    x = whole(generator, (1, 3, 6, 6), np.uint8)
    weights = whole(generator, (2, 3, 3, 3), np.uint8)
    points = [scalar(100, np.uint8), scalar(30, np.uint8)] * has_zero_points
    model = model_of("ConvInteger", {"x": x}, ["x", weights, *points], pads=[1] * 4)
    check(model, {"x": x})


@pytest.mark.parametrize("shift", [-3.0, 0.0, 3.0])
def test_dynamic_quantize_linear(shift: float) -> None:
    x = (np.random.default_rng(8).standard_normal((3, 50)) + shift).astype(np.float32)
    model = model_of("DynamicQuantizeLinear", {"x": x}, ["x"], outputs=3)
    check(model, {"x": x})


def test_dynamic_products() -> None:
    generator = np.random.default_rng(9)
    x = generator.standard_normal((4, 33)).astype(np.float32)
    weights = whole(generator, (33, 6), np.int8)
    scales = generator.uniform(0.001, 0.01, 6).astype(np.float32)
    bias = generator.standard_normal(6).astype(np.float32)
    zeros = np.zeros(6, np.int8)
    inputs = ["x", weights, scales, zeros, bias]
    check(model_of("DynamicQuantizeMatMul", {"x": x}, inputs, CONTRIB), {"x": x})


BAD_PARAMETERS: dict[str, tuple[Any, Array, str]] = {
    "zero": (0.0, scalar(0, np.uint8), "positive and finite, not 0.0"),
    "negative": (-1.0, scalar(0, np.uint8), "positive and finite, not -1.0"),
    "nan": (float("nan"), scalar(0, np.uint8), "positive and finite, not nan"),
    "empty": (np.ones(0), scalar(0, np.uint8), "positive and finite, not empty"),
    "float zero": (1.0, scalar(0.0), r"QLinear.*stored as float32"),
    "wide zero": (1.0, scalar(0, np.int64), r"QLinear.*stored as int64"),
    "other type": (1.0, scalar(0, np.int8), "zero point has type i8, the tensor ui8"),
    "channels": (np.ones(4), np.zeros(4, np.uint8), "4 scales, not one for the tensor"),
    "overflow": (1e30, scalar(0, np.uint8), "product of both operands' scales"),
    "underflow": (1e-30, scalar(0, np.uint8), "product of both operands' scales"),
}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters_are_one_line(case: str) -> None:
    """Of the image of a convolution, or of its weights too."""
    scale, zero_point, message = BAD_PARAMETERS[case]
    given = np.asarray(scale, np.float32)
    of_weights = scale if case in ("overflow", "underflow") else 1.0
    image = np.zeros((1, 4, 5, 5), np.uint8)
    weights = np.ones((8, 4, 3, 3), np.int8)
    model = model_of(
        "QLinearConv",
        {"x": image},
        ["x", given, zero_point, weights, np.full(8, of_weights, np.float32),
         np.zeros(8, np.int8), scalar(1.0), scalar(0, np.uint8)],
    )  # fmt: skip
    check_refusal(model, message)


def check_refusal(model: ModelProto, message: str) -> None:
    """Fail unless a model is refused by one line with its node and the message."""
    model.graph.node[0].name = "bad one"
    with pytest.raises(GlowError) as caught:
        load(model)
    line = caught.value.one_line()
    assert re.search(message, line)
    assert "at node 'bad one'" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("scales", "points", "message"),
    [
        (3, 3, r"3 scales for 4 indices of axis 1 .*\[1, 4, 2\]"),
        (4, 3, "3 zero points for 4 scales"),
    ],
)
def test_numbers_of_scales(scales: int, points: int, message: str) -> None:
    given = ["x", np.ones(scales, np.float32), np.zeros(points, np.int8)]
    for operator, dtype in (("QuantizeLinear", "f"), ("DequantizeLinear", np.int8)):
        x = np.zeros((1, 4, 2), dtype)
        check_refusal(model_of(operator, {"x": x}, given), message)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (np.zeros(3, np.int8), r"3 zero points for a tensor of shape \[6, 5\]"),
        (scalar(0, np.uint8), "zero point has type ui8, the tensor i8"),
        (np.zeros((1, 5), np.int8), "zero points of several axes"),
    ],
)
def test_zero_points_of_products(point: Array, message: str) -> None:
    a, b = np.zeros((2, 6), np.uint8), np.ones((6, 5), np.int8)
    model = model_of("MatMulInteger", {"a": a}, ["a", b, scalar(0, np.uint8), point])
    check_refusal(model, message)


def test_zero_point_of_sums() -> None:
    x = np.zeros(3, np.int32)
    given = ["x", scalar(1.0), scalar(5, np.int32)]
    message = "32-bit elements must have zero point 0"
    check_refusal(model_of("DequantizeLinear", {"x": x}, given), message)


def test_the_line_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "zero.onnx"
    x = np.zeros(3, np.float32)
    onnx.save(model_of("QuantizeLinear", {"x": x}, ["x", scalar(0.0)]), path)
    with pytest.raises(GlowError) as caught:
        load(path)
    line = diagnose(caught.value).text("glow")
    assert line.startswith(
        f"{path}: error: scales must be positive and finite, not 0.0"
    )
