"""Gathers from products of fewer columns give what they gave before."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.passes.graph.narrow_gathers import NarrowGathersPass
from glow.universe import new_context

CONTEXT = new_context()
ROWS, DEPTH = 2, 3


def gather(rng: np.random.Generator, columns: int) -> tuple[ModuleOp, list[np.ndarray]]:
    """A module that reads some columns of a product, also from its end, and inputs."""
    middle, reach, count = rng.integers((0, 0, 1), (columns, columns, 4))
    places = rng.integers(middle - reach, middle + reach + 1, (ROWS, count))
    places = np.clip(places, 0, columns - 1)
    places -= columns * rng.integers(0, 2, places.shape)
    transposed = bool(rng.integers(2))
    shape = (columns, DEPTH) if transposed else (DEPTH, columns)
    factor = "x".join(map(str, shape))
    module = parse_text(
        CONTEXT,
        f"""
func.func @main(%x: tensor<{ROWS}x{DEPTH}xf32>, %w: tensor<{factor}xf32>)
    -> tensor<{ROWS}x{count}xf32> {{
  %i = glow.constant dense<{places.tolist()}> : tensor<{ROWS}x{count}xi64>
  %p = glow.matmul %x, %w {"transpose_rhs" if transposed else ""}
    : tensor<{ROWS}x{columns}xf32>
  %y = glow.gather_elements %p, %i axis 1 : tensor<{ROWS}x{count}xf32>
  func.return %y : tensor<{ROWS}x{count}xf32>
}}""",
        "test",
    )
    inputs = [rng.standard_normal(s).astype(np.float32) for s in ((ROWS, DEPTH), shape)]
    return module, inputs


def test_results_stay() -> None:
    rng = np.random.default_rng(0)
    narrower = same = 0
    while narrower < 60 or same < 20:
        module, inputs = gather(rng, int(rng.integers(1, 80)))
        (before,) = run(module, inputs)
        NarrowGathersPass().apply(CONTEXT, module)
        module.verify()
        (after,) = run(module, inputs)
        np.testing.assert_allclose(before, after, rtol=1e-6)
        is_narrower = "glow.slice" in str(module)
        narrower += is_narrower
        same += not is_narrower
