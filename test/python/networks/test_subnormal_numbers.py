"""Numbers below the smallest normal one are computed with, and exponentials make none."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.interpreter_testing import parse

import glow

TINY = np.finfo(np.float32).tiny

EXPONENTIALS = """
func.func @main(%x: tensor<1x32xf32>) -> (tensor<1x32xf32>, tensor<1x32xf32>) {
  %0 = glow.softmax %x axis 1 : tensor<1x32xf32>
  %1 = glow.exp %x : tensor<1x32xf32>
  func.return %0, %1 : tensor<1x32xf32>, tensor<1x32xf32>
}
"""

PRODUCTS = """
func.func @main(%x: tensor<1x32xf32>) -> (tensor<1x32xf32>, tensor<1x16xf32>) {
  %w = glow.constant dense<0.5> : tensor<32x16xf32>
  %0 = glow.mul %x, %x : tensor<1x32xf32>
  %1 = glow.matmul %0, %w : tensor<1x16xf32>
  func.return %0, %1 : tensor<1x32xf32>, tensor<1x16xf32>
}
"""


@pytest.fixture(scope="module")
def low() -> np.ndarray:
    """Scores around the logarithm of the smallest normal number, below a largest one of 0."""
    scores = -np.linspace(80, 110, 32, dtype=np.float32)[None]
    scores[0, 0] = 0
    return scores


def test_exponentials_are_normal_or_zero(low):
    for found in glow.compile(parse(EXPONENTIALS)).run({"x": low}).values():
        assert (found[found > 0] >= TINY).all()
        assert (found == 0).any()
        np.testing.assert_allclose(found, np.exp(low), rtol=1e-5, atol=TINY)


def test_products_keep_them():
    x = np.full((1, 32), 1e-20, np.float32)
    squares, sums = glow.compile(parse(PRODUCTS)).run({"x": x}).values()
    np.testing.assert_array_equal(squares, x * x)
    assert 0 < squares.max() < TINY
    np.testing.assert_allclose(sums, 16 * x[:, :16] ** 2, rtol=1e-5)
    assert (x * x > 0).all()  # The caller's own arithmetic is as it was.
