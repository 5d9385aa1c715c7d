"""What a profile may say beyond ranges, and the choices that must hold for any network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

import glow
from glow import GlowError, Profile, QuantizationOptions
from glow.compiler import context, lower_to
from glow.dialects.quant import StorageCastOp, quantization_of
from glow.dialects.weights import clone_module
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.passes.quantization.profiling.profile_file import profile_text
from glow.passes.quantization.quantize import quantize_module

Array = npt.NDArray[Any]

CHAIN = """
func.func @main(%x: tensor<1x512x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = glow.splat 0.9 : tensor<512x512x3x3xf32>
  %v = glow.splat 0.25 : tensor<2x512x1x1xf32>
  %r = glow.relu %x : tensor<1x512x4x4xf32>
  %y = glow.conv2d %r, %w pads [1, 1, 1, 1] : tensor<1x512x4x4xf32>
  %z = glow.conv2d %y, %v : tensor<1x2x4x4xf32>
  func.return %z : tensor<1x2x4x4xf32>
}
"""


@pytest.fixture
def graph() -> ModuleOp:
    """Two convolutions of wide sums."""
    return parse_text(context(), CHAIN, "chain.mlir")


@pytest.fixture
def image() -> Array:
    """An input of the two convolutions."""
    return np.random.default_rng(0).random((1, 512, 4, 4), np.float32)


def quantized(module: ModuleOp, profile: Profile, **options: Any) -> ModuleOp:
    """A quantized copy."""
    copy = clone_module(module)
    quantize_module(copy, profile, QuantizationOptions(**options))
    copy.verify()
    return copy


def storage(module: ModuleOp, name: str) -> tuple[int, int] | None:
    """The stored range of the value with a name; None for floats."""
    for op in module.walk():
        for result in op.results:
            if result.name_hint == name:
                data = quantization_of(result.type)
                return None if data is None else data.limits
    raise AssertionError(name)


@pytest.mark.parametrize("schema", ["asymmetric", "symmetric", "power-of-two"])
def test_sums_fit_32_bits(graph: ModuleOp, image: Array, schema: str) -> None:
    """65535 steps times 512 x 9 weights of 127 would not."""
    profile = glow.profile(graph, [image], backend="interpreter")
    module = quantized(graph, profile, precision="int16", schema=schema)
    (exact,), (found,) = run(graph, [image]), run(module, [image])
    np.testing.assert_allclose(found, exact, rtol=2e-2)
    assert storage(module, "y") is not None


def test_choices_of_a_profile(graph: ModuleOp, image: Array) -> None:
    """Ranges, precision and nodes that stay float survive the file and are followed."""
    profile = glow.profile(graph, [image], backend="interpreter")
    profile["y"].range = (0.0, 51.0)
    profile["y"].precision = "int16"
    profile = Profile.parse(profile_text(profile), "profile")
    module = quantized(graph, profile)
    stored = storage(module, "y")
    assert stored is not None
    assert stored[1] - stored[0] > 255
    profile.keep = ("z",)
    module = quantized(graph, Profile.parse(profile_text(profile), "profile"))
    assert storage(module, "y") is None


def test_ranges_of_a_profile_count(graph: ModuleOp, image: Array) -> None:
    profile = glow.profile(graph, [image], backend="interpreter")
    profile["y"].range = (0.0, 51.0)
    text = str(quantized(graph, profile))
    assert "u8:f32, 2.000000e-01" in text or "u8:f32, 0.2000000" in text


def test_unknown_names_to_keep(graph: ModuleOp, image: Array) -> None:
    profile = glow.profile(graph, [image], backend="interpreter")
    with pytest.raises(GlowError, match=r"no node 'convv'; did you mean 'conv"):
        quantized(graph, profile, keep=("convv",))
    quantized(graph, profile, keep=("conv2d", "lstm"))


def test_values_that_are_always_zero(graph: ModuleOp, image: Array) -> None:
    profile = glow.profile(graph, [np.zeros_like(image)], backend="interpreter")
    with pytest.warns(UserWarning, match="always 0 in the calibration data") as caught:
        module = quantized(graph, profile)
    (warning,) = caught
    assert "'y'" in str(warning.message)
    np.testing.assert_array_equal(run(module, [np.zeros_like(image)])[0], 0)


HEADER = 'glow-profile: 1\nbatches: 2\nvalues:\n  "y":\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a profile of version 1"),
        ("glow-profile: 2\n", "is not a profile of version 1"),
        ("glow-profile: 1\nbatches: -1\n", r"2:1.*'batches' must be a whole number"),
        ("glow-profile: 1\nkeep: 3\n", r"2:1.*'keep' must be a list of names"),
        ("glow-profile: 1\nnonsense: 3\n", r"2:1.*unexpected 'nonsense'"),
        ("glow-profile: 1\n  - y\n", r"2:1.*expected 'name: value'"),
        (HEADER + "    low: 1\n    high: 0\n", "'y' has no range"),
        (HEADER + "    low: NaN\n", r"5:1.*'low' must be a finite number"),
        (HEADER + "    low: .nan\n", r"5:1.*'low' must be numbers.* not '.nan'"),
        (HEADER + "    low: [1]\n", "5:1"),
        (HEADER + "    range: [1, 0]\n", r"5:1.*'range' must be two finite numbers"),
        (HEADER + "    range: 3\n", r"5:1.*'range' must be two finite numbers"),
        (HEADER + '    precision: "int7"\n', r"5:1.*unknown precision 'int7'"),
        (HEADER + "    histogram: [1]\n", r"5:1.*a histogram needs 2048 counts"),
        (HEADER + "    wrong: 1\n", r"5:1.*unknown entry 'wrong'"),
    ],
)
def test_broken_profiles(text: str, message: str, tmp_path: Path) -> None:
    """One line with the place, from the file too."""
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(GlowError) as caught:
        Profile.load(tmp_path / "p.yaml")
    line = f"{caught.value.location}: {caught.value.one_line()}"
    assert "\n" not in line
    assert re.search(message, line)


SIGMOIDS = """
func.func @main(%x: tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32> {
  %w = glow.constant dense<"WEIGHTS"> : tensor<8x8x1x1xf32>
  %y = glow.conv2d %x, %w : tensor<1x8x16x16xf32>
  %s = glow.sigmoid %y : tensor<1x8x16x16xf32>
  %z = glow.conv2d %s, %w : tensor<1x8x16x16xf32>
  func.return %z : tensor<1x8x16x16xf32>
}
"""


@pytest.mark.parametrize("fidelity", ["strict", "fused"])
def test_functions_between_products_are_tables(fidelity: str) -> None:
    """Backends would compute functions that products absorb with other roundings."""
    random = np.random.default_rng(0)
    weights = random.standard_normal(64).astype(np.float32)
    text = SIGMOIDS.replace("WEIGHTS", "0x" + weights.tobytes().hex().upper())
    graph = parse_text(context(), text, "sigmoids.mlir")
    x = random.standard_normal((1, 8, 16, 16)).astype(np.float32)
    options = QuantizationOptions(precision="int16", fidelity=fidelity)
    native, interpreted = (
        glow.compile(
            graph,
            backend=backend,
            quantize=glow.profile(graph, [x]),
            quantization=options,
        )(x)
        for backend in ("cpu", "interpreter")
    )
    np.testing.assert_array_equal(native, interpreted)
    lowered = lower_to(clone_module(graph), "graph", quantize=glow.profile(graph, [x]))
    assert "glow.lookup_table" in str(lowered)


def test_profiles_of_other_channels_do_not_fit(graph: ModuleOp, image: Array) -> None:
    """Names alone say little: those of another network may be the same."""
    profile = glow.profile(graph, [image])
    value = profile.values["y"]
    assert value.channel_low is not None
    value.channel_low = value.channel_low[:7]
    with pytest.raises(GlowError, match=r"'y' had 7 channels, .* \[1, 512, 4, 4\]"):
        quantized(graph, profile)


def test_quantize_takes_no_numbers(graph: ModuleOp) -> None:
    choice: Any = 3
    with pytest.raises(GlowError, match="quantize is a profile, its file or True"):
        glow.compile(graph, quantize=choice)


LINEAR = """
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x2xf32> attributes {glow.input_names = ["x"]} {
  %w = glow.constant dense<[[0.5, 1.0], [0.25, -1.0], [2.0, 0.1], [-1.5, 0.7]]> : tensor<4x2xf32>
  %y = glow.fully_connected %x, %w : tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}
"""


def test_integers_in_and_out() -> None:
    """Callers quantize as the casts inside would have."""
    graph = parse_text(context(), LINEAR, "linear.mlir")
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    profile = glow.profile(graph, [x], backend="interpreter")
    module = quantized(graph, profile, interface="integer")
    casts = [op for op in module.walk() if isinstance(op, StorageCastOp)]
    given = quantization_of(casts[0].results[0].type)
    taken = quantization_of(casts[-1].input.type)
    assert given
    assert taken
    stored = np.rint(x / given.scales[0]) + given.zero_points[0]
    stored = stored.clip(*given.limits).astype(np.uint8)
    options = QuantizationOptions(interface="integer")
    (expected,) = run(module, [stored])
    found = glow.compile(graph, quantize=profile, quantization=options)(stored)
    np.testing.assert_array_equal(found, expected)
    floats = (found.astype(np.float32) - taken.zero_points[0]) * taken.scales[0]
    (exact,) = run(graph, [x])
    np.testing.assert_allclose(floats, exact, atol=3 * taken.scales[0])


def test_integers_need_known_sizes() -> None:
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in "xy"]
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "open", info[:1], info[1:]))
    with pytest.raises(GlowError, match="needs inputs of known sizes"):
        glow.compile(model, quantize="interface=integer")
