"""Strassen's product and its sums against NumPy in float64, and its choice."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_testing import TARGET, normal, relative_error, run_kernel
from xdsl.dialects.builtin import ModuleOp, f32

import glow
from glow.compiler import lower_to
from glow.dialects.weights import weights_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.strassen import LEFT, RESULT, RIGHT, quadrants, signed_sum
from glow.lowering.assign_layout.packing import TargetPacker, packings
from glow.lowering.instr_to_loops.quadrant_sums import (
    QuadrantSumsSpec,
    build_quadrant_sums,
)
from glow.lowering.instr_to_loops.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.instr_to_loops.strassen import (
    StrassenSpec,
    build_strassen,
    pack_strassen_weights,
)
from glow.lowering.target import PRESETS, Target
from glow.universe import new_context

SCALE_AND_ADD = RegionEpilogue(
    ScalarRegion.trace(
        lambda b, x, r, s, c: b.addf(b.mulf(x, s), b.mulf(r, c)), [f32] * 4
    ),
    ("full", "scalar", "channel"),
)


def test_seven_products_are_one() -> None:
    a, b = normal(6, 4).astype(np.float64), normal(4, 10).astype(np.float64)
    products = [
        signed_sum(quadrants(a), left) @ signed_sum(quadrants(b), right)
        for left, right in zip(LEFT, RIGHT, strict=True)
    ]
    for found, wanted in zip(RESULT, quadrants(a @ b), strict=True):
        np.testing.assert_allclose(signed_sum(products, found), wanted, atol=1e-13)


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (6, 14), (20, 96), (4, 130)])
def test_quadrant_sums(rows: int, columns: int) -> None:
    x = normal(rows, columns)
    out = np.full((7, rows // 2, columns // 2), np.nan, np.float32)
    kernel = build_quadrant_sums(QuadrantSumsSpec(rows, columns), TARGET)
    (found,) = run_kernel(kernel, [out], [x])
    wanted = np.stack([signed_sum(quadrants(x), terms) for terms in LEFT])
    np.testing.assert_array_equal(found, wanted)


SHAPES = [(2, 32, 2), (18, 160, 34), (130, 96, 20), (300, 352, 6)]


@pytest.mark.parametrize(("rows", "columns", "depth"), SHAPES)
@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
@pytest.mark.parametrize("fused", [False, True])
def test_strassen(
    rows: int, columns: int, depth: int, target: Target, fused: bool
) -> None:
    a, b, bias = normal(rows, depth), normal(depth, columns), normal(columns)
    residual, factor, channel = normal(rows, columns), normal(1), normal(columns)
    spec = StrassenSpec(rows, columns, depth, fused, SCALE_AND_ADD if fused else None)
    sums = np.stack([signed_sum(quadrants(a), terms) for terms in LEFT])
    packed = pack_strassen_weights(b, spec, target)
    extras = [bias, residual, factor, channel] if fused else []
    out = np.full((rows, columns), np.nan, np.float32)
    kernel = build_strassen(spec, target)
    (found,) = run_kernel(kernel, [out], [sums, packed, *extras], target)
    exact = a.astype(np.float64) @ b
    if fused:
        exact = (exact + bias) * factor + residual * channel
    assert relative_error(found, exact) < 5e-6


def test_choice() -> None:
    """Few rows, small and odd sides are left to the direct product."""
    assert StrassenSpec(128, 768, 768).pays(TARGET)
    for shape in ((1, 768, 768), (128, 64, 64), (129, 768, 768), (128, 768, 767)):
        assert not StrassenSpec(*shape).pays(TARGET)
    assert not StrassenSpec(128, 776, 768).supported(PRESETS["avx512"])


PROGRAM = """
func.func @main(%x: tensor<2x64x512xf32>, %r: tensor<2x64x512xf32>)
    -> (tensor<2x64x512xf32>, tensor<2x64x544xf32>) {
  %w = glow.constant @w : tensor<512x512xf32>
  %v = glow.constant @v : tensor<512x544xf32>
  %b = glow.splat 0.5 : tensor<512xf32>
  %m = glow.matmul %x, %w : tensor<2x64x512xf32>
  %n = glow.add %m, %b : tensor<2x64x512xf32>
  %y = glow.add %n, %r : tensor<2x64x512xf32>
  %z = glow.matmul %x, %v : tensor<2x64x544xf32>
  func.return %y, %z : tensor<2x64x512xf32>, tensor<2x64x544xf32>
}
"""
INPUTS = [normal(2, 64, 512), normal(2, 64, 512)]


@pytest.fixture
def module() -> ModuleOp:
    """Two products of one input."""
    module = parse_text(new_context(), PROGRAM, "test")
    table = weights_of(module)
    table["w"], table["v"] = normal(512, 512), normal(512, 544)
    return module


def count(module: ModuleOp, name: str) -> int:
    """How many operations of that name there are."""
    return sum(op.name == name for op in module.walk())


def test_products_share_their_sums(module: ModuleOp) -> None:
    expected = run(module, INPUTS)
    lower_to(module, "lowered", target="avx512")
    assert count(module, "cpu.quadrant_sums") == 1
    assert count(module, "cpu.strassen_matmul") == 2
    assert count(module, "glow.add") == 0
    packing = packings(TargetPacker(PRESETS["avx512"]))
    for stage in ("lowered", "instr"):
        lower_to(module, stage, target="avx512")
        for found, wanted in zip(
            run(module, INPUTS, packing=packing), expected, strict=True
        ):
            assert relative_error(found, wanted) < 5e-6


def test_exact_numerics_keep_direct_sums(module: ModuleOp) -> None:
    lower_to(module, "lowered", numerics="exact")
    assert count(module, "cpu.strassen_matmul") == 0
    assert count(module, "cpu.matmul") == 2


def test_compiled_results_do_not_depend_on_threads(module: ModuleOp) -> None:
    expected = run(module, INPUTS)
    one, two = (glow.compile(module, threads=n)(*INPUTS) for n in (1, 2))
    for first, second, wanted in zip(one, two, expected, strict=True):
        assert relative_error(first, wanted) < 5e-6
        np.testing.assert_array_equal(first, second)
