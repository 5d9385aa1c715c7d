"""Strided first layers as space-to-depth convolutions, against direct ones."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from support.nodes.interpreter_testing import parse
from xdsl.dialects.builtin import ModuleOp

from benchmarks.adversarial import BUDGET
from glow.compiler import compile, lower_to
from glow.dialects.weights import clone_module, weights_of
from glow.interpreter import run

SHAPES = [
    ((1, 3, 41, 45), (64, 7, 7), 2, (3, 3, 3, 3)),
    ((2, 3, 40, 37), (40, 7, 8), 2, (0, 2, 1, 3)),
    ((1, 1, 67, 70), (17, 11, 11), 4, (2, 1, 0, 2)),
    ((1, 4, 50, 50), (32, 9, 9), 3, (4, 4, 4, 4)),
    ((3, 2, 37, 38), (16, 5, 6), 2, (0, 0, 0, 0)),
    ((1, 5, 31, 31), (24, 3, 3), 2, (1, 1, 1, 1)),
]
"""Image, outputs and kernel, stride, pads: odd sizes, pixels that no output reads at the end."""


def layer(
    image: tuple[int, ...], kernel: tuple[int, ...], stride: int, pads: tuple[int, ...]
) -> ModuleOp:
    outputs, *taps = kernel
    weights = (outputs, image[1], *taps)
    plane = [
        (image[2 + axis] + pads[axis] + pads[axis + 2] - taps[axis]) // stride + 1
        for axis in (0, 1)
    ]
    shapes = (image, weights, (image[0], outputs, *plane))
    x, w, y = (f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes)
    window = f"strides [{stride}, {stride}] pads {list(pads)}"
    module = parse(f"""
func.func @main(%x: {x}, %b: tensor<{outputs}xf32>) -> {y} {{
  %w = glow.constant @w : {w}
  %y = glow.conv2d %x, %w, %b {window} : {y}
  func.return %y : {y}
}}""")
    random = np.random.default_rng(0)
    weights_of(module)["w"] = random.standard_normal(weights).astype(np.float32)
    return module


@pytest.mark.parametrize(("image", "kernel", "stride", "pads"), SHAPES)
@pytest.mark.parametrize("target", ["host", "avx2"])
def test_squares_give_the_direct_sums(
    image: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: int,
    pads: tuple[int, ...],
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever the pass may convert, whether it pays or not."""
    folder = "glow.backends.cpu.layout"
    converter = import_module(f"{folder}.winograd.space_to_depth")
    converted: list[object] = []
    convert = converter._convert
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "0")
    monkeypatch.setattr(converter, "_is_profitable", lambda *_: True)

    def recorded(*args: object) -> object:
        converted.append(convert(*args))
        return converted[-1]

    monkeypatch.setattr(converter, "_convert", recorded)
    module = layer(image, kernel, stride, pads)
    random = np.random.default_rng(1)
    inputs = [
        random.standard_normal(shape).astype(np.float32)
        for shape in (image, kernel[:1])
    ]
    (expected,) = run(module, inputs)
    actual = compile(module, threads=1, target=target)(*inputs)
    assert len(converted) == 1
    assert np.abs(actual - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("numerics", ["default", "fast"])
@pytest.mark.parametrize("value", [1e4, np.inf, np.nan])
def test_outliers_reach_their_windows_only(value: float, numerics: str) -> None:
    """Squares that a kernel of 7 x 7 does not fill have taps of zero, which reach nothing."""
    image, kernel = (1, 3, 70, 78), (64, 7, 7)
    module = layer(image, kernel, 2, (3, 3, 3, 3))
    lowered = clone_module(module)
    lower_to(lowered, "lowered", target="avx512")
    assert "zero_taps" in str(lowered)
    random = np.random.default_rng(1)
    x = random.standard_normal(image).astype(np.float32)
    x[0, 1, 30, 41] = x[0, 2, 45, 20] = value
    bias = np.zeros(64, np.float32)
    (expected,) = run(module, [x, bias])
    actual = np.asarray(compile(module, threads=1, numerics=numerics)(x, bias))
    np.testing.assert_array_equal(np.isfinite(actual), np.isfinite(expected))
    finite = np.isfinite(expected)
    expected = np.where(finite, expected, 0)
    errors = np.abs(np.where(finite, actual, 0) - expected).max(1)
    sizes = np.abs(expected).max(1)
    assert (errors <= BUDGET[numerics] * sizes).all()


def never(*_: object) -> bool:
    return False


def always(*_: object) -> bool:
    return True


@pytest.mark.parametrize("target", ["host", "avx2"])
@pytest.mark.parametrize(
    ("image", "outputs", "stride"),
    [((1, 40, 13, 14), 72, 2), ((2, 35, 9, 7), 19, 3), ((3, 32, 1, 5), 16, 2)],
)
def test_slices_give_the_same_bits(
    image: tuple[int, ...],
    outputs: int,
    stride: int,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A convolution of one tap by a slice of its input, whether that pays or not."""
    converter = import_module("glow.backends.cpu.layout.winograd.space_to_depth")
    module = layer(image, (outputs, 1, 1), stride, (0, 0, 0, 0))
    random = np.random.default_rng(1)
    shapes = (image, (outputs,))
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    inputs[0][0, 3, 0, 2] = np.nan
    results: list[np.ndarray] = []
    for sliced in (never, always):
        monkeypatch.setattr(converter, "_is_slice_profitable", sliced)
        lowered = clone_module(module)
        lower_to(lowered, "lowered", target=target)
        assert ("glow.slice" in str(lowered)) == sliced()
        results.append(np.asarray(compile(lowered, threads=1, target=target)(*inputs)))
    np.testing.assert_array_equal(results[0], results[1])
    (expected,) = run(module, inputs)
    np.testing.assert_allclose(results[0], expected, rtol=1e-4, atol=1e-4)


def layer_of_bytes(image: tuple[int, ...], outputs: int, stride: int) -> ModuleOp:
    """A convolution of one tap."""
    random = np.random.default_rng(2)
    weights = random.integers(-128, 128, (outputs, image[1], 1, 1)).astype(np.int8)
    plane = [-(-size // stride) for size in image[2:]]
    shapes = image, weights.shape, (image[0], outputs, *plane)
    x, w, y = ("x".join(map(str, shape)) for shape in shapes)
    return parse(f"""
    func.func @main(%x: tensor<{x}xui8>) -> tensor<{y}xi32> {{
      %w = glow.constant dense<{weights.tolist()}> : tensor<{w}xi8>
      %z = glow.constant dense<77> : tensor<ui8>
      %p = glow.splat 0 : tensor<i8>
      %0 = glow.conv2d_integer %x, %w, %z, %p strides [{stride}, {stride}] : tensor<{y}xi32>
      func.return %0 : tensor<{y}xi32>
    }}""")


@pytest.mark.parametrize("target", ["host", "avx2", "scalar"])
@pytest.mark.parametrize(
    "layer", [((1, 40, 13, 14), 72, 2), ((2, 33, 9, 7), 19, 3)], ids=["one", "two"]
)
def test_slices_of_bytes_are_exact(
    layer: tuple[tuple[int, ...], int, int],
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    converter = import_module("glow.backends.cpu.layout.winograd.space_to_depth")
    monkeypatch.setattr(converter, "_is_slice_profitable", always)
    module = layer_of_bytes(*layer)
    image = np.random.default_rng(3).integers(0, 256, layer[0]).astype(np.uint8)
    (expected,) = run(module, [image])
    lower_to(module, "lowered", target=target)
    assert "glow.slice" in str(module)
    found = compile(module, threads=1, target=target)(image)
    np.testing.assert_array_equal(found, expected)
