"""Rounding without an instruction for it: the bits of the instruction, and who asks for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.programs.loops_testing import parse_loops

from glow.lowering.target.target import host_target
from glow.passes.quantization.options import QuantizationOptions
from glow.quantization import for_target
from glow.runtime.testing import compile_function

COUNT = 4096


def kernel(element: str, function: str) -> str:
    return f"""
    func.func @f(%y: memref<{COUNT}x{element}>, %x: memref<{COUNT}x{element}>) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant 8 : index
      %end = arith.constant {COUNT} : index
      scf.for %i = %c0 to %end step %step {{
        %v = vector.load %x[%i] : memref<{COUNT}x{element}>, vector<8x{element}>
        %r = math.{function} %v : vector<8x{element}>
        vector.store %r, %y[%i] : memref<{COUNT}x{element}>, vector<8x{element}>
      }}
      func.return
    }}"""


FUNCTIONS = {"roundeven": np.rint, "floor": np.floor, "ceil": np.ceil}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_round_as_the_instruction(dtype: type[np.floating], function: str) -> None:
    """Ties, numbers near 2^23 and 2^52, infinities and zeros with their signs."""
    random = np.random.default_rng(0)
    bits = np.finfo(dtype).nmant
    x = (random.standard_normal(COUNT) * 2.0 ** random.integers(-4, bits + 3)).astype(
        dtype
    )
    ties = random.integers(-999, 999, COUNT // 2) + 0.5
    x[: COUNT // 2] = ties
    special = [0.0, -0.0, np.inf, -np.inf, 0.5, -0.5, 2.0**bits - 0.5, -(2.0**bits) + 1]
    x[: len(special)] = special
    y = np.zeros_like(x)
    target = replace(host_target(), round_instruction=False)
    element = {np.float32: "f32", np.float64: "f64"}[dtype]
    compiled = compile_function(parse_loops(kernel(element, function)), target=target)
    assert f"llvm.{function}" not in compiled.text
    compiled(y, x)
    assert y.tobytes() == FUNCTIONS[function](x).tobytes()


@pytest.mark.parametrize(
    ("target", "requantize"),
    [
        ("host", "float"),
        ("x86-64", "float"),
        ("neon", "float"),
        ("cortex-m4", "fixed"),
        ("cortex-m0plus", "fixed"),
        ("riscv32", "fixed"),
    ],
)
def test_targets_that_cannot_round_requantize_in_integers(
    target: str, requantize: str
) -> None:
    assert for_target(None, target).requantize == requantize
    for chosen in ("float", "fixed"):
        options = QuantizationOptions(requantize=chosen)
        assert for_target(options, target) == options
