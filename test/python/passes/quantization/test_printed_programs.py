"""Printed quantized programs of small networks, run again; see `printed_programs`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from support.nodes.differential import assert_close
from support.programs.all_networks import CHEAP
from support.programs.printed_programs import differing

import glow
from glow.compiler import load
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.tools.glow_opt import run_glow_opt
from glow.universe import new_context


@pytest.mark.parametrize("name", CHEAP)
def test_printed_programs_give_the_same_bits(name: str) -> None:
    assert differing(CHEAP[name]()) == []


def test_quantized_as_it_was_imported(tmp_path: Path) -> None:
    """Without graph passes before: native code still computes what the text says."""
    source, target = ROOT / "examples" / "digits" / "digits.onnx", tmp_path / "q.mlir"
    run_glow_opt(["--lower", "--quantize", str(source), "-o", str(target)])
    compiled = glow.compile(target)
    shape = compiled.inputs[0].shape
    image = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (expected,) = run(load(target), [image])
    assert_close(compiled(image), expected)


NETWORK = """
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = glow.constant dense<[[[[0.5]], [[-1.0]]], [[[-0.25]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %c = glow.conv2d %x, %w : tensor<1x2x4x4xf32>
  %r = glow.relu %c : tensor<1x2x4x4xf32>
  %p = glow.avg_pool2d %r kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32>
  %y = glow.conv2d %p, %w : tensor<1x2x2x2xf32>
  func.return %y : tensor<1x2x2x2xf32>
}
"""


def test_mean_behind_a_relu(tmp_path: Path) -> None:
    """The ReLU is in the convolution's saturation: the pool must stay behind it."""
    source, target = tmp_path / "float.mlir", tmp_path / "quantized.mlir"
    source.write_text(NETWORK)
    run_glow_opt(["--quantize", str(source), "-o", str(target)])
    x = np.random.default_rng(0).standard_normal((1, 2, 4, 4)).astype(np.float32)
    (expected,) = run(parse_text(new_context(), NETWORK, "float.mlir"), [x])
    found = glow.compile(target)(x)
    np.testing.assert_array_equal(found, glow.compile(source, quantize=True)(x))
    assert np.abs(found - expected).max() < 0.05
