"""Int8 convolutions whose groups fill no blocks, and int8 products of any depth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from glow.compiler import compile
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.universe import new_context

RANDOM = np.random.default_rng(0)

CONVOLUTION = """
func.func @main(%x: tensor<2x{channels}x9x7xui8>) -> tensor<2x{outputs}x{height}x7xui8> {{
  %w = glow.constant dense<{weights}> : tensor<{outputs}x{size}x3x3xi8>
  %z = glow.constant dense<{point}> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p group {groups} strides [{stride}, 1] pads [1, 1, 1, 1]
    : tensor<2x{outputs}x{height}x7xi32>
  %1 = glow.convert %0 : tensor<2x{outputs}x{height}x7xf32>
  %s = glow.splat 0.001 : tensor<f32>
  %2 = glow.mul %1, %s : tensor<2x{outputs}x{height}x7xf32>
  %3 = glow.clip %2 low 0.0 high 255.0 : tensor<2x{outputs}x{height}x7xf32>
  %4 = glow.convert %3 : tensor<2x{outputs}x{height}x7xui8>
  func.return %4 : tensor<2x{outputs}x{height}x7xui8>
}}
"""

MATRIX = """
func.func @main(%x: tensor<2x5x{depth}xui8>) -> tensor<2x5x19xi32> {{
  %w = glow.constant dense<{weights}> : tensor<{depth}x19xi8>
  %z = glow.constant dense<7> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.matmul_integer %x, %w, %z, %p : tensor<2x5x19xi32>
  func.return %0 : tensor<2x5x19xi32>
}}
"""


def check(text: str, x: npt.NDArray[np.uint8], target: str) -> None:
    """The interpreter's integers, on any number of threads."""
    module = parse_text(new_context(), text, "integers")
    (expected,) = run(module, [x])
    for threads in (1, 2):
        found = compile(module.clone(), threads=threads, target=target)(x)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", ["host", "avx2", "scalar"])
@pytest.mark.parametrize(
    ("groups", "size", "outputs", "stride", "point"),
    [
        (9, 2, 2, 1, 0),
        (10, 4, 4, 2, 128),
        (12, 8, 8, 1, 255),
        (9, 24, 24, 2, 3),
        (9, 3, 6, 1, 17),
        (17, 1, 2, 2, 200),
        (9, 6, 2, 1, 100),
    ],
)
def test_groups(
    groups: int, size: int, outputs: int, stride: int, point: int, target: str
) -> None:
    """Of as many outputs as inputs and of others, the largest numbers among them."""
    weights = RANDOM.choice([-128, -3, 0, 5, 127], (groups * outputs, size, 3, 3))
    text = CONVOLUTION.format(
        channels=groups * size,
        outputs=groups * outputs,
        height=9 if stride == 1 else 5,
        weights=weights.tolist(),
        **{"size": size, "groups": groups, "stride": stride, "point": point},
    )
    x = RANDOM.choice([0, 1, 99, 254, 255], (2, groups * size, 9, 7)).astype(np.uint8)
    check(text, x, target)


@pytest.mark.parametrize("target", ["host", "avx2", "scalar"])
@pytest.mark.parametrize("depth", [1, 2, 3, 5, 67])
def test_depths(depth: int, target: str) -> None:
    weights = RANDOM.integers(-128, 128, (depth, 19))
    x = RANDOM.integers(0, 256, (2, 5, depth)).astype(np.uint8)
    check(MATRIX.format(depth=depth, weights=weights.tolist()), x, target)
