"""Profiles and what follows from them: merging, files, ranges, scales, and bad data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from places import ROOT

import glow
from glow import GlowError, Profile, QuantizationOptions
from glow.compiler import load, run_passes
from glow.passes.graph.pipeline import graph_passes
from glow.passes.quantization.profiling.calibration import METHODS, calibrated_range
from glow.passes.quantization.profiling.profile_file import profile_text
from glow.passes.quantization.profiling.schema import (
    Schema,
    asymmetric,
    weight_parameters,
)
from glow.passes.quantization.profiling.value_profile import BINS, ValueProfile
from glow.passes.quantization.quantize import quantize_module

Array = npt.NDArray[Any]

DIGITS = ROOT / "examples" / "digits"
COUNT = 8


@pytest.fixture(scope="module")
def images() -> Array:
    """Some digits as inputs of the network."""
    with np.load(DIGITS / "held_back.npz") as held_back:
        return held_back["images"][:COUNT, None, None].astype(np.float32) / 16


# -- profiles


def test_profile_round_trip(images: Array) -> None:
    profile = glow.profile(DIGITS / "digits.onnx", list(images))
    text = profile_text(profile)
    again = Profile.parse(text, "text")
    assert profile_text(again) == text
    assert again.batches == COUNT


@pytest.mark.parametrize("count", [0, 3, BINS + 1])
def test_a_histogram_of_another_length(images: Array, count: int) -> None:
    """In merges and quantizations, by every method that looks at it or not."""
    model = DIGITS / "mlp.onnx"
    profile, broken = (glow.profile(model, list(images[:2])) for _ in range(2))
    broken.values["image"].histogram = np.ones(count, np.int64)
    line = f"histogram of 'image' in the profile has {count} counts, not {BINS}"
    for calibration in METHODS:
        options = QuantizationOptions(calibration=calibration)
        with pytest.raises(GlowError, match=line):
            glow.compile(model, quantize=broken, quantization=options)
    for one, other in ((profile, broken), (broken, profile)):
        with pytest.raises(GlowError, match=line):
            one.merge(other)


def test_channels_of_different_numbers(images: Array) -> None:
    model = DIGITS / "mlp.onnx"
    profile = glow.profile(model, list(images[:2]))
    profile.values["image"].channel_high = np.ones(3)
    with pytest.raises(GlowError, match="lows, highs and means of different numbers"):
        glow.compile(model, quantize=profile)


def test_profiles_merge(images: Array) -> None:
    """Two halves are the whole, up to what re-binning moves by a bin."""
    model = DIGITS / "digits.onnx"
    whole = glow.profile(model, list(images[:8]))
    halves = glow.profile(model, list(images[:4]))
    halves.merge(glow.profile(model, list(images[4:8])))
    assert halves.batches == whole.batches == 8
    for name, value in whole.values.items():
        other = halves.values[name]
        assert (value.low, value.high) == (other.low, other.high)
        assert value.histogram.sum() == other.histogram.sum()
        moved = np.abs(np.cumsum(value.histogram) - np.cumsum(other.histogram))
        assert moved.max() <= 0.02 * value.histogram.sum()
        if value.channel_mean is not None and other.channel_mean is not None:
            np.testing.assert_allclose(value.channel_mean, other.channel_mean)


def test_backends_profile_alike(images: Array) -> None:
    model = DIGITS / "digits.onnx"
    native = glow.profile(model, list(images[:2]))
    interpreted = glow.profile(model, list(images[:2]), backend="interpreter")
    assert set(native.values) == set(interpreted.values)
    for name, value in native.values.items():
        assert value.low == pytest.approx(interpreted[name].low, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_data_must_be_finite(images: Array, number: float) -> None:
    bad = images[1].copy()
    bad[0, 0, 3, 3] = number
    with pytest.raises(GlowError, match=r"'image' in batch 1"):
        glow.profile(DIGITS / "digits.onnx", [images[0], bad])


def test_no_data() -> None:
    with pytest.raises(GlowError, match="the data set is empty"):
        glow.profile(DIGITS / "digits.onnx", [])


def test_wrong_data(images: Array) -> None:
    with pytest.raises(GlowError, match="must have shape"):
        glow.profile(DIGITS / "digits.onnx", [images[:3]])


def test_profile_of_another_network() -> None:
    graph = load(DIGITS / "digits.onnx")
    run_passes(graph, graph_passes())
    other = Profile()
    other.add({"elsewhere": np.ones(3, np.float32)})
    with pytest.raises(GlowError, match=r"it lacks 'image', .* and \d+ more"):
        quantize_module(graph, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a profile of version 1"),
        ("glow-profile: 2\n", "is not a profile of version 1"),
        ("glow-profile 1\n", "expected 'name: value'"),
        ("glow-profile: 1\nlow: 3\n", "unexpected 'low'"),
        (
            'glow-profile: 1\nvalues:\n  "x":\n    histogram: [1, 2]\n',
            f"a histogram needs {BINS} counts",
        ),
        (
            'glow-profile: 1\nvalues:\n  "x":\n    channel_low: [[1.0]]\n',
            "'channel_low' must be a list of finite numbers",
        ),
    ],
)
def test_damaged_profile(text: str, message: str) -> None:
    with pytest.raises(GlowError) as caught:
        Profile.parse(text, "file.yaml")
    assert message in caught.value.one_line()


# -- choosing parameters


def seen(*arrays: Array) -> ValueProfile:
    """The profile of a value."""
    profile = ValueProfile()
    for array in arrays:
        profile.add(array)
    return profile


@pytest.mark.parametrize("method", sorted(METHODS))
def test_calibration_stays_inside(method: str) -> None:
    generator = np.random.default_rng(0)
    profile = seen(generator.standard_normal(10000), np.zeros(10000), np.array([9.0]))
    low, high = calibrated_range(profile, method, 8)
    assert profile.low <= low < 0 < high <= profile.high
    if method == "minmax":
        assert (low, high) == (profile.low, 9.0)


def test_entropy_survives_many_zeros() -> None:
    """ReLU outputs: the textbook method clips them to almost nothing."""
    generator = np.random.default_rng(0)
    values = np.maximum(generator.standard_normal(100000) - 1, 0)
    low, high = calibrated_range(seen(values), "entropy", 8)
    assert low == 0.0
    assert high > 0.5 * values.max()


@pytest.mark.parametrize("precision", ["int8", "int16"])
@pytest.mark.parametrize(
    "name", ["asymmetric", "symmetric", "symmetric-uint8", "power-of-two"]
)
@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 3.0), (0.0, 6.0), (-5.0, 0.0), (0.0, 0.0), (2.0, 3.0)]
)
def test_ranges_fit(name: str, precision: str, low: float, high: float) -> None:
    """The range, 0 included, is within half a step of what can be stored."""
    data = Schema(name, precision).parameters(low, high)
    (scale,), (zero_point,) = data.scales, data.zero_points
    smallest, largest = data.limits
    assert smallest <= zero_point <= largest
    assert (smallest - zero_point - 0.51) * scale <= min(low, 0)
    assert (largest - zero_point + 0.51) * scale >= max(high, 0)
    if name == "power-of-two":
        assert np.frexp(scale)[0] == 0.5


def test_dead_channels_have_a_scale() -> None:
    data = weight_parameters(np.zeros((3, 4)), 0)
    assert data.scales == (1.0, 1.0, 1.0)
    assert asymmetric(0.0, 1e-45, 8).scales[0] > 0


@pytest.mark.parametrize(
    "options",
    [
        {"schema": "s"},
        {"precision": "int4"},
        {"calibration": "c"},
        {"activations": "a"},
        {"requantize": "r"},
    ],
)
def test_unknown_options(options: dict[str, str]) -> None:
    with pytest.raises(GlowError, match=r"unknown .*one of"):
        QuantizationOptions(**options)


def numbered_network() -> onnx.ModelProto:
    """Values named by numbers, as PyTorch exports them, some of which optimization removes."""
    generator = np.random.default_rng(4)
    weights = {
        name: (generator.standard_normal((8, 8, 3, 3)) / 9 * size).astype(np.float32)
        for name, size in (("v", 5), ("w", 0.1))
    }
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["11"]),
        helper.make_node("Sigmoid", ["11"], ["12"]),
        helper.make_node("Conv", ["12", "w"], ["layer_13"]),
        helper.make_node("Tanh", ["layer_13"], ["layer_14"]),
    ]
    graph = helper.make_graph(
        nodes,
        "numbered",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 8, 9, 9))],
        [helper.make_empty_tensor_value_info("layer_14")],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


def test_numbers_name_the_same_value_in_every_graph() -> None:
    model = numbered_network()
    x = np.random.default_rng(5).standard_normal((1, 8, 9, 9)).astype(np.float32)
    profile = glow.profile(model, [x])
    assert set(profile.values) == {"x", "value.11", "value.12", "layer.13", "layer.14"}
    exact = glow.compile(model)(x)
    error = glow.compile(model, quantize=profile)(x) - exact
    assert np.linalg.norm(error) < 0.02 * np.linalg.norm(exact)
