"""The interpreter's nodes of the CPU backend: blocked layouts, packed weights, epilogues."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.differential import Array, assert_close, random_array
from support.nodes.interpreter_testing import parse

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.reference.nodes import Packing, cpu_functions
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.interpreter import run


def test_pack_and_unpack() -> None:
    x = random_array((2, 5, 3, 2))
    module = parse("""
    func.func @main(%x: tensor<2x5x3x2xf32>)
        -> (tensor<2x2x3x2x4xf32>, tensor<2x5x3x2xf32>) {
      %0 = cpu.pack %x lanes 4 : tensor<2x2x3x2x4xf32>
      %1 = cpu.unpack %0 channels 5 : tensor<2x5x3x2xf32>
      func.return %0, %1 : tensor<2x2x3x2x4xf32>, tensor<2x5x3x2xf32>
    }""")
    packed, unpacked = run(module, [x])
    np.testing.assert_array_equal(packed[1, 1, 2, 0, 0], x[1, 4, 2, 0])
    assert np.isnan(packed[:, 1, ..., 1:]).all()
    np.testing.assert_array_equal(unpacked, x)


CONVOLUTIONS = """
func.func @main(%x: tensor<1x5x6x6xf32>, %w: tensor<7x5x3x3xf32>,
    %b: tensor<7xf32>, %packed: tensor<{size}xf32>, %blocked: tensor<2x4xf32>)
    -> (tensor<1x7x3x3xf32>, tensor<1x7x3x3xf32>) {{
  %0 = glow.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] : tensor<1x7x3x3xf32>
  %1 = glow.relu %0 : tensor<1x7x3x3xf32>
  %2 = glow.add %1, %0 : tensor<1x7x3x3xf32>
  %3 = cpu.pack %x lanes 4 : tensor<1x2x6x6x4xf32>
  %4 = cpu.conv2d %3, %packed, %blocked strides [2, 2] pads [1, 1, 1, 1]
      kernel [3, 3] input_channels 5 output_channels 7 : tensor<1x2x3x3x4xf32>
  %5 = cpu.conv2d %3, %packed, %blocked, %4 strides [2, 2] pads [1, 1, 1, 1]
      kernel [3, 3] input_channels 5 output_channels 7 {{
  ^bb0(%sum: f32, %other: f32):
    %zero = arith.constant 0.0 : f32
    %relu = arith.maximumf %sum, %zero : f32
    %r = arith.addf %relu, %other : f32
    glow.yield %r
  }} : tensor<1x2x3x3x4xf32>
  %6 = cpu.unpack %5 channels 7 : tensor<1x7x3x3xf32>
  func.return %2, %6 : tensor<1x7x3x3xf32>, tensor<1x7x3x3xf32>
}}
"""


def blocked_packing(
    attributes: Attributes, image: tuple[int, ...], weights: Array
) -> Array:
    """[O, I, kh, kw] as [O / 4, I / 4, kh, kw, 4 inputs, 4 outputs], zero-padded."""
    outputs, inputs, *kernel = weights.shape
    padded = np.zeros((8, 8, *kernel), weights.dtype)
    padded[:outputs, :inputs] = weights
    return padded.reshape(2, 4, 2, 4, *kernel).transpose(0, 2, 4, 5, 3, 1).ravel()


def plain_packing(
    attributes: Attributes, image: tuple[int, ...], weights: Array
) -> Array:
    return weights.ravel()


@pytest.mark.parametrize("packing", [blocked_packing, plain_packing])
def test_blocked_convolution(packing: Packing) -> None:
    x, weights = random_array((1, 5, 6, 6)), random_array((7, 5, 3, 3), seed=1)
    bias = random_array((7,), seed=2)
    packed = packing(Attributes(cpu.Conv2dOp.get_irdl_definition(), {}), (), weights)
    module = parse(CONVOLUTIONS.format(size=packed.size))
    blocked = np.concatenate([bias, [np.nan]]).astype(np.float32).reshape(2, 4)
    inputs = [x, weights, bias, packed, blocked]
    expected, actual = run(module, inputs, own=cpu_functions({cpu.Conv2dOp: packing}))
    assert_close(actual, expected, 1e-6)


def test_unknown_packing_is_one_line() -> None:
    module = parse(CONVOLUTIONS.format(size=8 * 8 * 9))
    inputs = [
        random_array(shape)
        for shape in ((1, 5, 6, 6), (7, 5, 3, 3), (7,), (8 * 8 * 9,), (2, 4))
    ]
    with pytest.raises(GlowError, match="needs the backend's packing"):
        run(module, inputs)


def test_depthwise_convolution() -> None:
    x, bias = random_array((1, 8, 5, 5)), random_array((8,), seed=2)
    weights = random_array((8, 1, 3, 3), seed=1)
    module = parse("""
    func.func @main(%x: tensor<1x8x5x5xf32>, %w: tensor<8x1x3x3xf32>,
        %b: tensor<8xf32>, %packed: tensor<2x3x3x4xf32>, %blocked: tensor<2x4xf32>)
        -> (tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>) {
      %0 = glow.conv2d %x, %w, %b group 8 : tensor<1x8x3x3xf32>
      %1 = cpu.pack %x lanes 4 : tensor<1x2x5x5x4xf32>
      %2 = cpu.depthwise_conv2d %1, %packed, %blocked kernel [3, 3]
          : tensor<1x2x3x3x4xf32>
      %3 = cpu.unpack %2 channels 8 : tensor<1x8x3x3xf32>
      func.return %0, %3 : tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>
    }""")
    packed = weights.reshape(2, 4, 3, 3).transpose(0, 2, 3, 1).copy()
    expected, actual = run(module, [x, weights, bias, packed, bias.reshape(2, 4)])
    assert_close(actual, expected, 1e-6)


def test_matmul_with_epilogue() -> None:
    x, weights = random_array((2, 3, 5)), random_array((5, 4), seed=1)
    bias, scale = random_array((4,), seed=2), random_array((4,), seed=3)
    module = parse("""
    func.func @main(%x: tensor<2x3x5xf32>, %w: tensor<20xf32>, %b: tensor<4xf32>,
        %s: tensor<4xf32>) -> tensor<2x3x4xf32> {
      %0 = cpu.matmul %x, %w, %b, %s {
      ^bb0(%sum: f32, %factor: f32):
        %r = arith.mulf %sum, %factor : f32
        glow.yield %r
      } : tensor<2x3x4xf32>
      func.return %0 : tensor<2x3x4xf32>
    }""")
    (actual,) = run(module, [x, weights.ravel(), bias, scale])
    assert_close(actual, (x @ weights + bias) * scale, 1e-6)


def test_local_response_norm_on_blocks() -> None:
    module = parse("""
    func.func @main(%x: tensor<1x6x3x3xf32>)
        -> (tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>) {
      %0 = glow.local_response_norm %x size 3 alpha 0.5 : tensor<1x6x3x3xf32>
      %1 = cpu.pack %x lanes 4 : tensor<1x2x3x3x4xf32>
      %2 = cpu.local_response_norm %1 channels 6 size 3 alpha 0.5
          : tensor<1x2x3x3x4xf32>
      %3 = cpu.unpack %2 channels 6 : tensor<1x6x3x3xf32>
      func.return %0, %3 : tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>
    }""")
    expected, actual = run(module, [random_array((1, 6, 3, 3))])
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("kind", ["max_pool2d", "avg_pool2d"])
def test_pools_keep_lanes(kind: str) -> None:
    window = "kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]"
    module = parse(f"""
    func.func @main(%x: tensor<1x6x5x5xf32>)
        -> (tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>) {{
      %0 = glow.{kind} %x {window} : tensor<1x6x3x3xf32>
      %1 = cpu.pack %x lanes 4 : tensor<1x2x5x5x4xf32>
      %2 = glow.{kind} %1 {window} : tensor<1x2x3x3x4xf32>
      %3 = cpu.unpack %2 channels 6 : tensor<1x6x3x3xf32>
      func.return %0, %3 : tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>
    }}""")
    expected, actual = run(module, [random_array((1, 6, 5, 5))])
    np.testing.assert_array_equal(actual, expected)
