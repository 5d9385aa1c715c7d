"""Networks that compute the gradients of weights: each level computes the same."""

import numpy as np
import pytest
from interpreter_testing import parse

import glow
from glow.compiler import lower_to
from glow.interpreter import run

CASES = {
    "strided, odd channels": (3, 20, 24, 6, 3, 2, 1),
    "few channels": (2, 3, 16, 7, 3, 1, 1),
    "one image": (1, 16, 16, 5, 1, 1, 0),
    "one pixel": (4, 16, 32, 1, 1, 1, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_weight_gradient(name: str) -> None:
    batch, inputs, outputs, size, kernel, stride, pad = CASES[name]
    span = size + 2 * pad - kernel
    extent, taps = span // stride + 1, span % stride + kernel
    text = f"""
    func.func @main(%x: tensor<{batch}x{inputs}x{size}x{size}xf32>,
        %g: tensor<{batch}x{outputs}x{extent}x{extent}xf32>)
        -> tensor<{outputs}x{inputs}x{kernel}x{kernel}xf32> {{
      %0 = glow.transpose %x permutation [1, 0, 2, 3]
          : tensor<{inputs}x{batch}x{size}x{size}xf32>
      %1 = glow.transpose %g permutation [1, 0, 2, 3]
          : tensor<{outputs}x{batch}x{extent}x{extent}xf32>
      %2 = glow.conv2d %0, %1 dilations [{stride}, {stride}]
          pads [{pad}, {pad}, {pad}, {pad}] : tensor<{inputs}x{outputs}x{taps}x{taps}xf32>
      %3 = glow.slice %2 starts [0, 0, 0, 0] sizes [{inputs}, {outputs}, {kernel}, {kernel}]
          steps [1, 1, 1, 1] : tensor<{inputs}x{outputs}x{kernel}x{kernel}xf32>
      %4 = glow.transpose %3 permutation [1, 0, 2, 3]
          : tensor<{outputs}x{inputs}x{kernel}x{kernel}xf32>
      func.return %4 : tensor<{outputs}x{inputs}x{kernel}x{kernel}xf32>
    }}"""
    module, random = parse(text), np.random.default_rng(0)
    x = random.standard_normal((batch, inputs, size, size), np.float32)
    gradient = random.standard_normal((batch, outputs, extent, extent), np.float32)
    (expected,) = run(module, [x, gradient])
    actual = glow.compile(parse(text))(x, gradient)
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-5)
    lower_to(module, "lowered")
    assert "cpu.conv2d_weight_gradient" in str(module)
    np.testing.assert_allclose(run(module, [x, gradient])[0], expected, 1e-5, 1e-5)
