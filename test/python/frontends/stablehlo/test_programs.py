"""Programs that JAX has written give what JAX gives, on both backends (`make_programs.py`)."""

from pathlib import Path

import numpy as np
import pytest

import glow
from glow.frontends.mlir import parse_text
from glow.frontends.stablehlo.convert_stablehlo_to_glow import (
    ConvertStablehloToGlowPass,
)
from glow.interpreter import run
from glow.universe import new_context

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.mlir"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program(path):
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = [arrays[n] for n in arrays if n.startswith("input")]
        expected = [arrays[n] for n in arrays if n.startswith("output")]
    for backend in ("interpreter", "cpu"):
        found = glow.compile(path, backend=backend)(*inputs)
        found = found if isinstance(found, tuple) else (found,)
        for number, (one, wanted) in enumerate(zip(found, expected, strict=True)):
            assert one.dtype == wanted.dtype, number
            if one.dtype.kind == "f":
                size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
                np.testing.assert_allclose(
                    one, wanted, rtol=2e-6, atol=2e-6 * size, err_msg=str(number)
                )
            else:
                np.testing.assert_array_equal(one, wanted, str(number))


def test_there_are_programs():
    assert len(PROGRAMS) >= 10


MAP = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %d = stablehlo.multiply %a, %c : tensor<f32>
    %e = stablehlo.compare LT, %d, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %f = stablehlo.select %e, %d, %c : tensor<i1>, tensor<f32>
    stablehlo.return %f : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""


def test_map_is_its_body_on_tensors():
    module = parse_text(new_context(), MAP, "map.mlir")
    x, y = (np.random.default_rng(n).standard_normal((2, 3)) for n in range(2))
    inputs = [x.astype(np.float32), y.astype(np.float32)]
    ConvertStablehloToGlowPass().apply(new_context(), module)
    (found,) = run(module, inputs)
    x, y = inputs
    np.testing.assert_array_equal(found, np.where(2 * x < y, 2 * x, 2))
