"""The kernel of attention against NumPy in float64, and the node on the way to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, relative_error, run_kernel

import glow
from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.kernels.attention.kernel import build_attention
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.compiler import lower_to
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.target.target import PRESETS, Target
from glow.universe import new_context


def attention(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    scale: float = 1.0,
    mask: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Of [..., rows, heads, size] tensors, in double precision."""
    q, k, v = (
        np.swapaxes(x.astype(np.float64), -2, -3) for x in (queries, keys, values)
    )
    scores = q @ np.swapaxes(k, -1, -2) * scale + mask
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return np.swapaxes(shares / shares.sum(-1, keepdims=True) @ v, -2, -3)


def of_heads(heads: int, size: int) -> Strides:
    """The rows of [rows, heads, size]."""
    return Strides((size,), heads * size, 1)


SHAPES = [
    (12, 24, 64, 32, 32),
    (3, 37, 53, 24, 40),
    (2, 6, 9, 8, 8),
    (1, 5, 100, 17, 3),
    (2, 64, 20, 64, 64),
    (1, 10, 516, 8, 70),
]


@pytest.mark.parametrize(("heads", "rows", "keys", "size", "columns"), SHAPES)
@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
def test_attention(
    heads: int, rows: int, keys: int, size: int, columns: int, target: Target
) -> None:
    q, k, v = (
        normal(rows, heads, size) / np.float32(np.sqrt(size)),
        normal(keys, heads, size),
        normal(keys, heads, columns),
    )
    spec = AttentionSpec(
        (heads,),
        rows,
        keys,
        size,
        columns,
        of_heads(heads, size),
        Strides((size,), 1, heads * size),
        of_heads(heads, columns),
        of_heads(heads, columns),
    )
    out = np.full(rows * heads * columns, np.nan, np.float32)
    inputs = [x.ravel() for x in (q, k, v)]
    (found,) = run_kernel(build_attention(spec, target), [out], inputs, target)
    assert (
        relative_error(found.reshape(rows, heads, columns), attention(q, k, v)) < 3e-6
    )


@pytest.mark.parametrize(
    ("heads", "rows", "keys", "size", "columns"),
    [(2, 24, 192, 32, 32), (1, 37, 200, 8, 40), (2, 6, 129, 24, 8), (1, 5, 100, 17, 3)],
)
def test_blocks_of_keys(
    heads: int, rows: int, keys: int, size: int, columns: int
) -> None:
    q, k, v = normal(rows, heads, size), normal(keys, heads, size), normal(keys, 1, 1)
    v = v * normal(1, heads, columns)
    spec = AttentionSpec(
        (heads,),
        rows,
        keys,
        size,
        columns,
        of_heads(heads, size),
        Strides((size,), 1, heads * size),
        of_heads(heads, columns),
        of_heads(heads, columns),
        scale=0.3,
    )
    config = replace(spec.choose_config(TARGET), key_block=64)
    spec = replace(spec, config=config)
    out = np.full(rows * heads * columns, np.nan, np.float32)
    inputs = [x.ravel() for x in (q, k, v)]
    (found,) = run_kernel(build_attention(spec, TARGET), [out], inputs)
    expected = attention(q, k, v, 0.3)
    assert relative_error(found.reshape(rows, heads, columns), expected) < 3e-6


def test_long_sequences_are_cut() -> None:
    rows = of_heads(1, 64)
    spec = AttentionSpec(
        (1,), 1500, 1500, 64, 64, rows, Strides((64,), 1, 64), rows, rows
    )
    config = spec.choose_config(TARGET)
    assert config.key_block == 512
    assert replace(spec, config=config).wrong_config(TARGET) is None
    for keys, wrong in ((0, "allows 1024"), (2048, "allows 1024"), (100, "multiples")):
        other = replace(spec, config=replace(config, key_block=keys))
        assert wrong in str(other.wrong_config(TARGET))


@pytest.mark.parametrize("key_block", [0, 64])
@pytest.mark.parametrize("shape", [(1, 1, 85), (1, 9, 85), (3, 9, 85), (3, 9, 1)])
def test_masks_repeat(shape: tuple[int, ...], key_block: int) -> None:
    q, k = normal(9, 3, 8), normal(85, 3, 8)
    mask = np.where(normal(*shape) < -1, np.float32(-np.inf), normal(*shape))
    mask[..., :1] = 1
    steps = (shape[1] * shape[2], shape[2], 1)
    strides = [
        0 if size == 1 else step for size, step in zip(shape, steps, strict=True)
    ]
    rows = of_heads(3, 8)
    spec = AttentionSpec(
        (3,),
        9,
        85,
        8,
        8,
        rows,
        Strides((8,), 1, 24),
        rows,
        rows,
        Strides((strides[0],), strides[1], strides[2]),
        scale=0.25,
    )
    config = replace(spec.choose_config(TARGET), key_block=key_block)
    spec = replace(spec, config=config)
    inputs = [q.ravel(), k.ravel(), k.ravel(), mask.ravel()]
    out = np.zeros(9 * 3 * 8, np.float32)
    (found,) = run_kernel(build_attention(spec, TARGET), [out], inputs)
    assert relative_error(found.reshape(9, 3, 8), attention(q, k, k, 0.25, mask)) < 3e-6


@pytest.mark.parametrize("key_block", [0, 64])
def test_what_has_no_number_stays_in_its_row(key_block: int) -> None:
    """A NaN among the queries, and a row whose mask leaves no key."""
    q, k = normal(8, 1, 8), normal(70, 1, 8)
    q[3, 0, 2] = np.nan
    mask = np.zeros((8, 70), np.float32)
    mask[5] = -np.inf
    mask[6, :64] = -np.inf
    rows = of_heads(1, 8)
    spec = AttentionSpec(
        (1,),
        8,
        70,
        8,
        8,
        rows,
        Strides((8,), 1, 8),
        rows,
        rows,
        Strides((0,), 70, 1),
    )
    config = replace(spec.choose_config(TARGET), key_block=key_block)
    kernel = build_attention(replace(spec, config=config), TARGET)
    inputs = [q.ravel(), k.ravel(), k.ravel(), mask.ravel()]
    (found,) = run_kernel(kernel, [np.zeros(64, np.float32)], inputs)
    is_nan = np.isnan(found.reshape(8, 8))
    assert is_nan[[3, 5]].all()
    assert is_nan.sum() == 16


PROGRAM = """
func.func @main(%x: tensor<2x{s}x3x{d}xf32>, %y: tensor<2x{t}x3x{d}xf32>, %m: tensor<{t}xf32>)
    -> tensor<2x{s}x3x{d}xf32> {{
  %q = glow.transpose %x permutation [0, 2, 1, 3] : tensor<2x3x{s}x{d}xf32>
  %k = glow.transpose %y permutation [0, 2, 1, 3] : tensor<2x3x{t}x{d}xf32>
  %c = glow.attention %q, %k, %k, %m scale 0.5 : tensor<2x3x{s}x{d}xf32>
  %r = glow.transpose %c permutation [0, 2, 1, 3] : tensor<2x{s}x3x{d}xf32>
  func.return %r : tensor<2x{s}x3x{d}xf32>
}}
"""


@pytest.mark.parametrize(
    ("s", "t", "d", "fused"), [(16, 16, 16, 1), (9, 21, 5, 1), (1, 40, 33, 0)]
)
def test_node(s: int, t: int, d: int, fused: int) -> None:
    """A few queries are not worth transposing the keys."""
    module = parse_text(new_context(), PROGRAM.format(s=s, t=t, d=d), "test")
    inputs = [normal(2, s, 3, d), normal(2, t, 3, d), normal(t)]
    (expected,) = run(module, inputs)
    for threads in (1, 2):
        found = glow.compile(module, threads=threads)(*inputs)
        assert isinstance(found, np.ndarray)
        assert relative_error(found, expected) < 2e-6
    lower_to(module, "lowered")
    names = [op.name for op in module.walk()]
    assert names.count(cpu.AttentionOp.name) == fused
    assert "glow.transpose" not in names
    (lowered,) = run(module, inputs)
    assert relative_error(lowered, expected) < 1e-6
