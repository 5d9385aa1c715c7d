"""Layer normalization and softmax that store bytes: the bits of both steps on their own."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.kernel_testing import normal

import glow
from glow.backends.cpu import dialect as cpu
from glow.compiler import lower_to
from glow.dialects.quant import Quantization
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.integer_arithmetic import quantize
from glow.universe import new_context

LAYER_NORM = """
!y = !quant.uniform<{quantized}:f32, {scale}:{point}>
func.func @main(%x: tensor<{n}x{k}xf32>, %s: tensor<{k}xf32>, %b: tensor<{k}xf32>)
    -> (tensor<{n}x{k}x{stored}>, tensor<{n}x{k}xf32>) {{
  %y = glow.layer_norm %x, %s, %b axis 1 : tensor<{n}x{k}xf32>
  %half = glow.splat 0.5 : tensor<{k}xf32>
  %d = glow.mul %y, %half : tensor<{n}x{k}xf32>
  %q = quant.qcast %{value} : tensor<{n}x{k}xf32> to tensor<{n}x{k}x!y>
  %r = glow.neg %y : tensor<{n}x{k}xf32>
  %i = {dialect}.scast %q : tensor<{n}x{k}x!y> to tensor<{n}x{k}x{stored}>
  func.return %i, %r : tensor<{n}x{k}x{stored}>, tensor<{n}x{k}xf32>
}}
"""

PLAIN = {"value": "y", "quantized": "u8", "stored": "ui8", "dialect": "glow"}
DIVIDED = {"value": "d", "quantized": "i8", "stored": "i8", "dialect": "quant"}
"""As SmoothQuant leaves it."""

SOFTMAX = """
!y = !quant.uniform<u8:f32, {scale}:{point}>
func.func @main(%x: tensor<{n}x{k}xf32>) -> tensor<{n}x{k}x{stored}> {{
  %y = glow.softmax %x axis 1 : tensor<{n}x{k}xf32>
  %q = quant.qcast %y : tensor<{n}x{k}xf32> to tensor<{n}x{k}x!y>
  %i = glow.scast %q : tensor<{n}x{k}x!y> to tensor<{n}x{k}x{stored}>
  func.return %i : tensor<{n}x{k}x{stored}>
}}
"""

PLAIN_SOFTMAX = """
func.func @main(%x: tensor<{n}x{k}xf32>) -> tensor<{n}x{k}xf32> {{
  %y = glow.softmax %x axis 1 : tensor<{n}x{k}xf32>
  func.return %y : tensor<{n}x{k}xf32>
}}
"""

SIZES = [(1, 1), (3, 5), (9, 67), (40, 128)]
POINT = 3


def hard(n: int, k: int) -> np.ndarray:
    """Rows with a row that is not finite."""
    x = normal(n, k)
    if n > 2:
        x[1, k // 2] = np.nan
    return x


@pytest.mark.parametrize("form", [PLAIN, DIVIDED], ids=["plain", "divided"])
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_layer_norm(form: dict[str, str], n: int, k: int) -> None:
    signed = form is DIVIDED
    text = LAYER_NORM.format(n=n, k=k, scale=0.03, point=POINT, **form)
    module = parse_text(new_context(), text, "test")
    inputs = [hard(n, k), normal(k), normal(k)]
    factor = np.float32(0.5 if signed else 1)
    data = Quantization(8, signed, (0.03,), (POINT,))
    for threads in (1, 3):
        found, negated = glow.compile(module, threads=threads)(*inputs)
        np.testing.assert_array_equal(found, quantize(-negated * factor, data))
    lower_to(module, "lowered")
    assert [op.name for op in module.walk()].count(cpu.LayerNormOp.name) == 1
    assert not any(op.name == "glow.round" for op in module.walk())
    found, negated = run(module, inputs)
    np.testing.assert_array_equal(found, quantize(-negated * factor, data))


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_softmax(n: int, k: int) -> None:
    x = hard(n, k)
    plain = parse_text(new_context(), PLAIN_SOFTMAX.format(n=n, k=k), "test")
    shares = glow.compile(plain, threads=1)(x)
    assert isinstance(shares, np.ndarray)
    text = SOFTMAX.format(n=n, k=k, scale=0.002, point=POINT, stored="ui8")
    module = parse_text(new_context(), text, "test")
    data = Quantization(8, False, (0.002,), (POINT,))
    for threads in (1, 3):
        found = glow.compile(module, threads=threads)(x)
        np.testing.assert_array_equal(found, quantize(shares, data))
    lower_to(module, "lowered")
    assert [op.name for op in module.walk()].count(cpu.SoftmaxOp.name) == 1
    (found,) = run(module, [x])
    (exact,) = run(plain, [x])
    np.testing.assert_array_equal(found, quantize(exact.astype(np.float32), data))
