"""Networks that compute gradients of convolutions: each level computes the same."""

import numpy as np
import pytest
from support.nodes.interpreter_testing import parse

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


INPUTS = {
    "strided": (2, 16, 32, 6, 3, 2, 1),
    "strided, cropped": (1, 32, 16, 7, 5, 2, 2),
    "phases without taps": (2, 16, 16, 5, 1, 2, 0),
    "phases without taps, padded": (1, 16, 16, 9, 2, 3, 1),
    "each alone": (2, 20, 20, 5, 3, 1, 1),
}


@pytest.mark.parametrize("name", INPUTS)
def test_input_gradient(name: str) -> None:
    batch, inputs, outputs, size, kernel, stride, pad = INPUTS[name]
    group = inputs if name == "each alone" else 1
    span = size + 2 * pad - kernel
    extent, rest = span // stride + 1, span % stride
    text = f"""
    func.func @main(%g: tensor<{batch}x{outputs}x{extent}x{extent}xf32>,
        %w: tensor<{outputs}x{inputs // group}x{kernel}x{kernel}xf32>)
        -> tensor<{batch}x{inputs}x{size}x{size}xf32> {{
      %0 = glow.conv_transpose2d %g, %w strides [{stride}, {stride}]
          pads [{pad}, {pad}, {pad}, {pad}] output_padding [{rest}, {rest}] group {group}
          : tensor<{batch}x{inputs}x{size}x{size}xf32>
      func.return %0 : tensor<{batch}x{inputs}x{size}x{size}xf32>
    }}"""
    module, random = parse(text), np.random.default_rng(0)
    gradient = random.standard_normal((batch, outputs, extent, extent), np.float32)
    weights = random.standard_normal(
        (outputs, inputs // group, kernel, kernel), np.float32
    )
    (expected,) = run(module, [gradient, weights])
    actual = glow.compile(parse(text))(gradient, weights)
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-5)
    lower_to(module, "lowered")
    np.testing.assert_allclose(
        run(module, [gradient, weights])[0], expected, 1e-5, 1e-5
    )
