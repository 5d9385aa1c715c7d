"""Convolutions in groups: kernels of several groups a block, and what stays in a group.

Nothing passes between groups with exact numerics, nor where a block holds whole groups.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.conv_testing import (
    TARGET,
    AddScaleRelu,
    assert_close,
    convolution,
    random,
)
from support.kernels.kernel_testing import run_kernel
from xdsl.dialects.builtin import ModuleOp

from glow.backends.cpu.kernels.channelwise.depthwise import (
    DepthwiseSpec,
    build_depthwise,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.compiler import compile
from glow.dialects.weights import weights_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import PRESETS, Target
from glow.universe import new_context

GROUPED = """
func.func @main(%x: tensor<1x6x5x5xf32>) -> tensor<1x27x5x5xf32> {
  %w = glow.constant @w : tensor<27x2x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] group 3 : tensor<1x27x5x5xf32>
  func.return %0 : tensor<1x27x5x5xf32>
}
"""
SHUFFLED = """
func.func @main(%x: tensor<1x6x5x5xf32>) -> tensor<1x27x5x5xf32> {
  %w = glow.constant @w : tensor<27x2x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] group 3 : tensor<1x27x5x5xf32>
  %1 = glow.reshape %0 : tensor<1x3x9x5x5xf32>
  %2 = glow.transpose %1 permutation [0, 2, 1, 3, 4] : tensor<1x9x3x5x5xf32>
  %3 = glow.reshape %2 : tensor<1x27x5x5xf32>
  func.return %3 : tensor<1x27x5x5xf32>
}
"""
SEVERAL = """
func.func @main(%x: tensor<1x32x5x5xf32>) -> tensor<1x32x5x5xf32> {
  %w = glow.constant @w : tensor<32x4x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] group 8 : tensor<1x32x5x5xf32>
  func.return %0 : tensor<1x32x5x5xf32>
}
"""
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal((27, 2, 3, 3)).astype(np.float32)


def blocked(array: np.ndarray, lanes: int) -> np.ndarray:
    """[A, C, ...] as [A, C / lanes, ..., lanes], zeros in the lanes beyond C."""
    outer, channels, *rest = array.shape
    padded = np.zeros((outer, -(-channels // lanes) * lanes, *rest), array.dtype)
    padded[:, :channels] = array
    return np.moveaxis(padded.reshape(outer, -1, lanes, *rest), 2, -1).copy()


@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
@pytest.mark.parametrize(
    ("channels", "size", "window"),
    [
        (40, 8, Window((9, 13), (3, 3), pads=(1, 1, 1, 1))),
        (24, 4, Window((14, 9), (5, 3), (2, 1), (1, 2), (4, 0, 1, 2))),
        (6, 2, Window((3, 30), (1, 3), pads=(0, 1, 0, 1))),
        (16, 4, Window((1, 1), (1, 1))),
        (24, 4, Window((9, 20), (3, 3), dilations=(6, 6), pads=(6, 6, 6, 6))),
    ],
)
def test_kernel(channels: int, size: int, window: Window, target: Target) -> None:
    lanes = target.lanes(32)
    if size >= lanes:
        pytest.skip("a group fills a block")
    planes = BlockedPlanes(2, channels, window, lanes, group=size)
    spec = DepthwiseSpec(planes, has_bias=True, epilogue=AddScaleRelu())
    x, w = random(2, channels, *window.input), random(channels, size, *window.kernel)
    bias, scale = random(channels), random(channels)
    residual = random(2, channels, *window.output)
    weights = np.moveaxis(blocked(w[None], lanes)[0], 1, 3).copy()
    output = np.full(planes.output_type.get_shape(), np.nan, np.float32)
    inputs = [
        blocked(x, lanes),
        weights,
        blocked(bias[None], lanes)[0],
        blocked(residual, lanes),
        blocked(scale[None], lanes)[0],
        np.float32([0.5]),
    ]
    kernel = build_depthwise("kernel", spec, target)
    (found,) = run_kernel(kernel, [output], inputs, target)
    total = convolution(x, w, window, channels // size) + bias[:, None, None] + residual
    expected = np.maximum(total * scale[:, None, None] + 0.5, 0.0)
    plain = np.moveaxis(found, -1, 2).reshape(2, -1, *window.output)[:, :channels]
    assert_close(plain, expected)


def module_of(text: str, weights: np.ndarray = WEIGHTS) -> ModuleOp:
    """The module of a text, with its weights."""
    module = parse_text(new_context(), text, "grouped")
    weights_of(module)["w"] = weights
    return module


@pytest.mark.parametrize("text", [GROUPED, SHUFFLED], ids=["grouped", "shuffled"])
def test_infinities_stay_in_their_group(text: str) -> None:
    """The interpreter and exact numerics agree on what is not finite."""
    image = RANDOM.standard_normal((1, 6, 5, 5)).astype(np.float32)
    image[0, 0, 2, 2] = np.inf
    with np.errstate(invalid="ignore"):
        (expected,) = run(module_of(text), [image])
    model = compile(module_of(text), threads=1, numerics="exact")
    actual = model(image)
    assert isinstance(actual, np.ndarray)
    np.testing.assert_array_equal(np.isfinite(actual), np.isfinite(expected))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


def test_default_numerics_may_compute_densely() -> None:
    """What exact numerics avoid: the infinity meets the zeros between groups."""
    image = np.zeros((1, 6, 5, 5), np.float32)
    image[0, 0, 2, 2] = np.inf
    result = compile(module_of(GROUPED), threads=1)(image)
    assert isinstance(result, np.ndarray)
    assert not np.isfinite(result[0, 26, 2, 2])


def test_groups_of_a_block_are_apart() -> None:
    weights = RANDOM.standard_normal((32, 4, 3, 3)).astype(np.float32)
    image = RANDOM.standard_normal((1, 32, 5, 5)).astype(np.float32)
    image[0, 9, 2, 2] = np.inf
    with np.errstate(invalid="ignore"):
        (expected,) = run(module_of(SEVERAL, weights), [image])
    actual = compile(module_of(SEVERAL, weights), threads=1)(image)
    assert isinstance(actual, np.ndarray)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
    touched = ~np.isfinite(actual).all((0, 2, 3))
    assert touched.nonzero()[0].tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("target", ["host", "avx2"])
@pytest.mark.parametrize(
    ("groups", "size"),
    [(3, size) for size in (2, 4, 8, 16, 24, 32)] + [(9, size) for size in (3, 10, 24)],
)
def test_groups_narrower_and_wider_than_vectors(
    groups: int, size: int, target: str
) -> None:
    """Of as many outputs as inputs, with borders, a stride and rows that fill no tiles."""
    channels = groups * size
    x, y = f"tensor<2x{channels}x9x7xf32>", f"tensor<2x{channels}x5x7xf32>"
    text = f"""
func.func @main(%x: {x}) -> {y} {{
  %w = glow.constant @w : tensor<{channels}x{size}x3x3xf32>
  %0 = glow.conv2d %x, %w strides [2, 1] pads [1, 1, 1, 1] group {groups} : {y}
  func.return %0 : {y}
}}
"""
    weights = RANDOM.standard_normal((channels, size, 3, 3)).astype(np.float32)
    image = RANDOM.standard_normal((2, channels, 9, 7)).astype(np.float32)
    (expected,) = run(module_of(text, weights), [image])
    actual = compile(module_of(text, weights), threads=2, target=target)(image)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
