"""Batches that are run image by image: the same bits as at once, views and no copies."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from glow.backends.cpu.passes.split_batch import split_batch
from glow.compiler import compile, context, lower_to
from glow.dialects.weights import weights_of
from glow.interpreter import run
from glow.lowering.target.target import PRESETS

TEXT = """
func.func @main(%x: tensor<{n}x3x96x96xf32>) -> tensor<{n}x40xf32> {{
  %w = glow.constant @w : tensor<32x3x3x3xf32>
  %v = glow.constant @v : tensor<32x32x3x3xf32>
  %u = glow.constant @u : tensor<32x40xf32>
  %a = glow.conv2d %x, %w pads [1, 1, 1, 1] activation "relu" : tensor<{n}x32x96x96xf32>
  %b = glow.conv2d %a, %v pads [1, 1, 1, 1] : tensor<{n}x32x96x96xf32>
  %c = glow.add %a, %b : tensor<{n}x32x96x96xf32>
  %d = glow.max_pool2d %c kernel [4, 4] strides [4, 4] : tensor<{n}x32x24x24xf32>
  %e = glow.reduce_mean %d axes [2, 3] : tensor<{n}x32xf32>
  %f = glow.fully_connected %e, %u : tensor<{n}x40xf32>
  func.return %f : tensor<{n}x40xf32>
}}
"""


def network(batch: int) -> ModuleOp:
    module = Parser(context(), TEXT.format(n=batch)).parse_module()
    random, table = np.random.default_rng(0), weights_of(module)
    shapes = {"w": (32, 3, 3, 3), "v": (32, 32, 3, 3), "u": (32, 40)}
    for name, shape in shapes.items():
        table[name] = random.standard_normal(shape).astype(np.float32) / shape[1]
    return module


def images(batch: int) -> np.ndarray:
    random = np.random.default_rng(1)
    return random.standard_normal((batch, 3, 96, 96)).astype(np.float32)


@pytest.mark.parametrize(("batch", "count"), [(2, 2), (3, 3), (11, 6)])
def test_parts_have_the_values_of_the_whole(batch: int, count: int) -> None:
    whole, parts = network(batch), network(batch)
    block = next(iter(parts.body.block.ops)).regions[0].block
    split_batch(block, PRESETS["avx2"].with_core(l2_bytes=1024))
    convolutions = sum(op.name == "glow.conv2d" for op in parts.walk())
    assert convolutions == 2 * count
    (expected,), (actual,) = run(whole, [images(batch)]), run(parts, [images(batch)])
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_native_code_of_a_large_batch(threads: int) -> None:
    (expected,) = run(network(5), [images(5)])
    actual = compile(network(5), threads=threads, target="avx2")(images(5))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


def test_no_copies_are_left() -> None:
    module = lower_to(network(5), "instr", target="avx2")
    assert isinstance(module, ModuleOp)
    names = [op.name for op in module.walk()]
    assert (
        names.count("instr.cpu.conv2d") + names.count("instr.cpu.winograd_conv2d") > 5
    )
    assert "instr.copy" not in names
