"""Products of computed matrices, and transpositions around them, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.kernel_testing import normal, relative_error

import glow
from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.legality import MIN_QUERIES
from glow.compiler import lower_to
from glow.dialects import glow as dialect
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.universe import new_context

ATTENTION = """
func.func @main(%x: tensor<2x{s}x3x{d}xf32>, %y: tensor<2x{t}x3x{d}xf32>)
    -> tensor<2x{s}x3x{d}xf32> {{
  %q = glow.transpose %x permutation [0, 2, 1, 3] : tensor<2x3x{s}x{d}xf32>
  %k = glow.transpose %y permutation [0, 2, 1, 3] : tensor<2x3x{t}x{d}xf32>
  %m = glow.matmul %q, %k transpose_rhs : tensor<2x3x{s}x{t}xf32>
  %p = glow.softmax %m axis 3 : tensor<2x3x{s}x{t}xf32>
  %c = glow.matmul %p, %k : tensor<2x3x{s}x{d}xf32>
  %r = glow.transpose %c permutation [0, 2, 1, 3] : tensor<2x{s}x3x{d}xf32>
  func.return %r : tensor<2x{s}x3x{d}xf32>
}}
"""


@pytest.mark.parametrize(("s", "t", "d"), [(16, 16, 16), (9, 21, 5), (1, 40, 33)])
def test_attention(s: int, t: int, d: int) -> None:
    module = parse_text(new_context(), ATTENTION.format(s=s, t=t, d=d), "test")
    inputs = [normal(2, s, 3, d), normal(2, t, 3, d)]
    (expected,) = run(module, inputs)
    found = glow.compile(module, threads=1)(*inputs)
    assert isinstance(found, np.ndarray)
    assert relative_error(found, expected) < 2e-6
    lower_to(module, "lowered")
    names = [op.name for op in module.walk()]
    fused = s >= MIN_QUERIES
    assert names.count(cpu.AttentionOp.name) == fused
    assert names.count(cpu.BatchMatmulOp.name) == 2 * (not fused)
    assert "glow.transpose" not in names
    (lowered,) = run(module, inputs)
    assert relative_error(lowered, expected) < 1e-6


LAYER = """
func.func @main(%x: tensor<3x17x40xf32>, %w: tensor<21x40xf32>, %b: tensor<21xf32>,
    %g: tensor<51x21xf32>, %v: tensor<40x1xf32>)
    -> (tensor<3x17x21xf32>, tensor<51x40xf32>, tensor<21x40xf32>, tensor<40x40xf32>) {
  %p = glow.matmul %x, %w transpose_rhs : tensor<3x17x21xf32>
  %s = glow.add %p, %b : tensor<3x17x21xf32>
  %y = glow.relu %s : tensor<3x17x21xf32>
  %dx = glow.matmul %g, %w : tensor<51x40xf32>
  %f = glow.reshape %x : tensor<51x40xf32>
  %dw = glow.matmul %g, %f transpose_lhs : tensor<21x40xf32>
  %q = glow.matmul %w, %w transpose_lhs : tensor<40x40xf32>
  %r = glow.mul %q, %v : tensor<40x40xf32>
  func.return %y, %dx, %dw, %r
      : tensor<3x17x21xf32>, tensor<51x40xf32>, tensor<21x40xf32>, tensor<40x40xf32>
}
"""
"""A layer, its gradients, and a number for each row of a product."""


def test_products_of_a_layer_in_training() -> None:
    module = parse_text(new_context(), LAYER, "test")
    inputs = [normal(3, 17, 40), normal(21, 40), normal(21), normal(51, 21)]
    inputs.append(normal(40, 1))
    expected = run(module, inputs)
    models = [glow.compile(module, threads=threads) for threads in (1, 2)]
    one, two = ([*model(*inputs)] for model in models)
    for found, again, wanted in zip(one, two, expected, strict=True):
        assert relative_error(np.asarray(found), wanted) < 2e-6
        assert np.asarray(found).tobytes() == np.asarray(again).tobytes()
    lower_to(module, "lowered")
    kinds = [type(op) for op in module.walk()]
    assert kinds.count(cpu.BatchMatmulOp) == 4
    assert not {dialect.AddOp, dialect.ReluOp, dialect.MulOp}.intersection(kinds)
