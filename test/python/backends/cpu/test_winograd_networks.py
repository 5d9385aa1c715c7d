"""Winograd convolutions inside of compiled networks: chosen, budgeted, near to direct sums."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.assign_layout import assign_layout
from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.layout.winograd.budget import WeightGrowth
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.compiler import compile, context, lower_to
from glow.dialects.attributes import ints_attr
from glow.dialects.errors import GlowError
from glow.dialects.numerics import SCARCE_FREE_BYTES
from glow.dialects.weights import weights_of
from glow.interpreter import run
from glow.lowering.target.target import Target

TEXT = """
func.func @main(%x: tensor<{n}x{a}x{h}x{w}xf32>) -> tensor<{n}x{b}x{h}x{w}xf32> {{
  %w = glow.constant @w : tensor<{b}x{a}x3x3xf32>
  %v = glow.constant @v : tensor<{b}x{b}x3x3xf32>
  %c = glow.constant @c : tensor<{b}xf32>
  %y = glow.conv2d %x, %w, %c pads [1, 1, 1, 1] activation "relu" : tensor<{n}x{b}x{h}x{w}xf32>
  %z = glow.conv2d %y, %v pads [1, 1, 1, 1] : tensor<{n}x{b}x{h}x{w}xf32>
  %s = glow.add %z, %y : tensor<{n}x{b}x{h}x{w}xf32>
  %r = glow.relu %s : tensor<{n}x{b}x{h}x{w}xf32>
  func.return %r : tensor<{n}x{b}x{h}x{w}xf32>
}}
"""

POOLED = """
func.func @main(%x: tensor<{n}x{a}x{h}x{w}xf32>) -> tensor<{n}x{b}x{hh}x{ww}xf32> {{
  %w = glow.constant @w : tensor<{b}x{a}x3x3xf32>
  %v = glow.constant @v : tensor<{b}x{b}x3x3xf32>
  %c = glow.constant @c : tensor<{b}xf32>
  %y = glow.conv2d %x, %w, %c pads [1, 1, 1, 1] activation "relu" : tensor<{n}x{b}x{h}x{w}xf32>
  %z = glow.conv2d %y, %v pads [1, 1, 1, 1] activation "relu" : tensor<{n}x{b}x{h}x{w}xf32>
  %r = glow.max_pool2d %z kernel [2, 2] strides [2, 2] : tensor<{n}x{b}x{hh}x{ww}xf32>
  func.return %r : tensor<{n}x{b}x{hh}x{ww}xf32>
}}
"""

SHAPES = [
    (1, 64, 64, 28, 28),
    (2, 40, 72, 17, 23),
    (3, 48, 33, 12, 9),
    (1, 96, 96, 8, 8),
    (1, 64, 48, 30, 24),
]
POOLED_SHAPES = [(1, 64, 64, 28, 28), (2, 40, 72, 17, 23), (2, 64, 48, 30, 26)]
ERROR = 1e-5
"""Of the largest output; the documented budget is 1e-4."""

FAST_ERROR = 1e-4
"""The same with the largest tiles; the documented budget is 1e-3."""


GROUPS = """
func.func @main(%x: tensor<{n}x{a}x{h}x{w}xf32>) -> tensor<{n}x{b}x{h}x{w}xf32> {{
  %w = glow.constant @w : tensor<{b}x{a}x3x3xf32>
  %v = glow.constant @v : tensor<{b}x{g}x3x3xf32>
  %c = glow.constant @c : tensor<{b}xf32>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] activation "relu" : tensor<{n}x{b}x{h}x{w}xf32>
  %z = glow.conv2d %y, %v, %c group 3 pads [1, 1, 1, 1] : tensor<{n}x{b}x{h}x{w}xf32>
  %s = glow.add %z, %y : tensor<{n}x{b}x{h}x{w}xf32>
  func.return %s : tensor<{n}x{b}x{h}x{w}xf32>
}}
"""


def residual_block(shape: tuple[int, int, int, int, int]) -> ModuleOp:
    return network(TEXT, shape)


def network(text: str, shape: tuple[int, int, int, int, int]) -> ModuleOp:
    batch, inputs, outputs, height, width = shape
    sizes = {"h": height, "w": width, "hh": height // 2, "ww": width // 2}
    text = text.format(n=batch, a=inputs, b=outputs, g=outputs // 3, **sizes)
    module = Parser(context(), text).parse_module()
    random, table = np.random.default_rng(0), weights_of(module)
    for name, size in (
        ("w", (outputs, inputs, 3, 3)),
        ("v", (outputs, outputs // (3 if "group 3" in text else 1), 3, 3)),
        ("c", (outputs,)),
    ):
        table[name] = random.standard_normal(size).astype(np.float32)
    return module


def image(shape: tuple[int, int, int, int, int]) -> np.ndarray:
    batch, inputs, _, height, width = shape
    random = np.random.default_rng(1)
    return random.standard_normal((batch, inputs, height, width)).astype(np.float32)


def nodes_of(module: ModuleOp) -> list[cpu.WinogradConv2dOp]:
    return [op for op in module.walk() if isinstance(op, cpu.WinogradConv2dOp)]


def largest_error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
@pytest.mark.parametrize("shape", SHAPES)
def test_native_code(
    shape: tuple[int, int, int, int, int], numerics: str, threads: int
) -> None:
    x = image(shape)
    (expected,) = run(residual_block(shape), [x])
    model = compile(residual_block(shape), threads=threads, numerics=numerics)
    bound = FAST_ERROR if numerics == "fast" else ERROR
    assert largest_error(np.asarray(model(x)), expected) < bound


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(1, 32, 96, 28, 28), (3, 16, 48, 14, 17)])
def test_groups(shape: tuple[int, int, int, int, int], threads: int) -> None:
    """Also by the interpreter; an infinity reaches what it does in direct sums."""
    x = image(shape)
    (expected,) = run(network(GROUPS, shape), [x])
    model = compile(network(GROUPS, shape), threads=threads)
    assert largest_error(np.asarray(model(x)), expected) < ERROR
    x[-1, 3, 5, 6] = np.inf
    (expected,) = run(network(GROUPS, shape), [x])
    found = np.asarray(model(x))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    lowered = network(GROUPS, shape)
    lower_to(lowered, "lowered")
    assert [node.attributes_view().int("group") for node in nodes_of(lowered)][-1] == 3
    own = cpu_functions(packings_of(TargetPacker(Target.from_string("host"))))
    x[-1, 3, 5, 6] = 0
    (expected,) = run(network(GROUPS, shape), [x])
    (actual,) = run(lowered, [x], own=own)
    assert largest_error(actual, expected) < ERROR


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", POOLED_SHAPES)
def test_pools_of_tiles(shape: tuple[int, int, int, int, int], threads: int) -> None:
    """Also by the interpreter, and where an odd plane keeps the pool out of tiles."""
    x = image(shape)
    (expected,) = run(network(POOLED, shape), [x])
    model = compile(network(POOLED, shape), threads=threads)
    assert largest_error(np.asarray(model(x)), expected) < ERROR
    lowered = network(POOLED, shape)
    lower_to(lowered, "lowered")
    odd = any(size % 2 for size in shape[3:])
    pools = [node.attributes_view().int("pool") for node in nodes_of(lowered)]
    assert pools == [1, 1 if odd else 2]
    own = cpu_functions(packings_of(TargetPacker(Target.from_string("host"))))
    (actual,) = run(lowered, [x], own=own)
    assert largest_error(actual, expected) < ERROR


@pytest.mark.parametrize("stage", ["lowered", "instr"])
@pytest.mark.parametrize("target", ["avx512", "avx2", "neon"])
def test_interpreter_recovers_plain_weights(target: str, stage: str) -> None:
    shape = SHAPES[0]
    module = residual_block(shape)
    lower_to(module, "lowered", target=target)
    assert len(nodes_of(module)) == 2
    lower_to(module, stage, target=target)
    own = cpu_functions(packings_of(TargetPacker(Target.from_string(target))))
    (expected,) = run(residual_block(shape), [image(shape)])
    (actual,) = run(module, [image(shape)], own=own)
    assert largest_error(actual, expected) < 1e-6


def test_budget_keeps_weights_small() -> None:
    """Two layers of 512 channels take 28 MB more each; the weights are 19 MB."""
    packer = TargetPacker(Target.from_string("avx512"))
    counts: list[int] = []
    for growth in (0.0, 1.6, 4.0):
        module = residual_block((1, 512, 512, 28, 28))
        assign_layout(module, packer, growth=WeightGrowth(growth, SCARCE_FREE_BYTES))
        counts.append(len(nodes_of(module)))
    assert counts == [0, 1, 2]


def test_fast_numerics_take_larger_tiles() -> None:
    tiles: list[set[int]] = []
    for numerics in ("exact", "default", "fast"):
        module = residual_block(SHAPES[-1])
        lower_to(module, "lowered", target="avx512", numerics=numerics)
        tiles.append({node.attributes_view().int("tile") for node in nodes_of(module)})
    assert tiles == [set(), {4}, {6}]


def test_wrong_scratch_is_refused() -> None:
    """Too little of it would let a kernel write over other buffers."""
    module = residual_block(SHAPES[0])
    lower_to(module, "lowered")
    for node in nodes_of(module):
        node.properties["scratch"] = ints_attr(64, 64)
    lower_to(module, "instr")
    with pytest.raises(GlowError, match=r"needs scratch \["):
        lower_to(module, "loops")
