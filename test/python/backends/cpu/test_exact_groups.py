"""Exact numerics keep what groups of a convolution promise: nothing passes between them."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from glow.compiler import compile
from glow.dialects.weights import weights_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
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
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal((27, 2, 3, 3)).astype(np.float32)


def module_of(text: str) -> ModuleOp:
    """The module of a text, with its weights."""
    module = parse_text(new_context(), text, "grouped")
    weights_of(module)["w"] = WEIGHTS
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
