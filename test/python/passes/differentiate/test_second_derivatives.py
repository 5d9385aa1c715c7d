"""Differentiating the result again: the slopes of gradients."""

from __future__ import annotations

import pytest
from support.training.gradients import check_gradients

from glow.frontends.mlir import parse_text
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

DENSE = """
func.func @main(%x: tensor<3x4xf64>, %w: tensor<4x5xf64>, %v: tensor<5x2xf64>) -> tensor<f64> {
  %0 = glow.matmul %x, %w : tensor<3x5xf64>
  %1 = glow.tanh %0 : tensor<3x5xf64>
  %2 = glow.matmul %1, %v : tensor<3x2xf64>
  %3 = glow.log_softmax %2 axis 1 : tensor<3x2xf64>
  %4 = glow.mul %3, %3 : tensor<3x2xf64>
  %loss = glow.reduce_mean %4 axes [0, 1] : tensor<f64>
  func.return %loss : tensor<f64>
}
"""

CONVOLUTIONAL = """
func.func @main(
  %x: tensor<2x4x7x7xf64>, %w: tensor<6x2x3x3xf64>, %v: tensor<6x3x2x2xf64>
) -> tensor<f64> {
  %0 = glow.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] group 2 : tensor<2x6x4x4xf64>
  %1 = glow.softplus %0 : tensor<2x6x4x4xf64>
  %2 = glow.conv_transpose2d %1, %v : tensor<2x3x5x5xf64>
  %3 = glow.avg_pool2d %2 kernel [2, 2] strides [2, 2] : tensor<2x3x2x2xf64>
  %4 = glow.mul %3, %3 : tensor<2x3x2x2xf64>
  %loss = glow.reduce_sum %4 axes [0, 1, 2, 3] : tensor<f64>
  func.return %loss : tensor<f64>
}
"""

NORMALIZED = """
func.func @main(%x: tensor<3x4xf64>, %w: tensor<4xf64>, %v: tensor<4xf64>) -> tensor<f64> {
  %0 = glow.layer_norm %x, %w, %v axis 1 epsilon 0.01 : tensor<3x4xf64>
  %1 = glow.gelu_tanh %0 : tensor<3x4xf64>
  %2 = glow.matmul %1, %0 transpose_rhs : tensor<3x3xf64>
  %3 = glow.softmax %2 axis 1 : tensor<3x3xf64>
  %4 = glow.slice %3 starts [2, 0] sizes [2, 2] steps [-1, 2] : tensor<2x2xf64>
  %5 = glow.reduce_prod %4 axes [1] : tensor<2xf64>
  %loss = glow.reduce_sum %5 axes [0] : tensor<f64>
  func.return %loss : tensor<f64>
}
"""


@pytest.mark.parametrize("text", [DENSE, CONVOLUTIONAL, NORMALIZED])
def test_gradients_of_gradients_are_their_slopes(text):
    """The gradients of a network are differentiated as any other results."""
    module = parse_text(new_context(), text, "network.mlir")
    DifferentiatePass(wrt=("x", "w", "v")).apply(new_context(), module)
    check_gradients(module)
