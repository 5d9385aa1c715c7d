"""Fake quantization and its gradients against PyTorch's, scales and zero points learned."""

from __future__ import annotations

import numpy as np
import pytest

from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

torch = pytest.importorskip("torch")

TEXT = """
func.func @main(%x: tensor<3x5x2xf32>, %s: tensor<5xf32>, %z: tensor<5xf32>,
                %g: tensor<3x5x2xf32>) -> (tensor<3x5x2xf32>, tensor<f32>) {
  %0 = glow.fake_quantize %x, %s, %z low 0 high 15 axis 1 : tensor<3x5x2xf32>
  %1 = glow.mul %0, %g : tensor<3x5x2xf32>
  %loss = glow.reduce_sum %1 axes [0, 1, 2] : tensor<f32>
  func.return %0, %loss : tensor<3x5x2xf32>, tensor<f32>
}
"""


def test_learned_fake_quantization_is_that_of_torch() -> None:
    module = parse_text(new_context(), TEXT, "torch.mlir")
    DifferentiatePass(loss="loss", wrt=("x", "s", "z")).apply(new_context(), module)
    random = np.random.default_rng(1)
    x, g = random.normal(size=(2, 3, 5, 2)).astype(np.float32)
    s = random.uniform(0.05, 0.3, 5).astype(np.float32)
    z = np.array([2, 8, 0, 7, 15], np.float32)
    result, _, *gradients = run(module, [x, s, z, g])
    leaves = [torch.tensor(array, requires_grad=True) for array in (x, s, z)]
    expected = torch._fake_quantize_learnable_per_channel_affine(*leaves, 1, 0, 15, 1.0)
    expected.backward(torch.tensor(g))
    np.testing.assert_allclose(result, expected.detach().numpy(), rtol=1e-6)
    for gradient, leaf in zip(gradients, leaves, strict=True):
        np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-5, atol=1e-5)
