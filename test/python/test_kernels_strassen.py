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
from glow.interpreter.strassen import left_sums, result_of, right_sums, signed_sum
from glow.lowering.assign_layout.packing import TargetPacker, packings
from glow.lowering.instr_to_loops.quadrant_sums import (
    QuadrantSumsSpec,
    build_quadrant_sums,
)
from glow.lowering.instr_to_loops.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.instr_to_loops.strassen import build_strassen
from glow.lowering.instr_to_loops.strassen_spec import StrassenSpec
from glow.lowering.instr_to_loops.strassen_weights import pack_strassen_weights
from glow.lowering.target import PRESETS, Target
from glow.universe import new_context

SCALE_AND_ADD = RegionEpilogue(
    ScalarRegion.trace(
        lambda b, x, r, s, c: b.addf(b.mulf(x, s), b.mulf(r, c)), [f32] * 4
    ),
    ("full", "scalar", "channel"),
)


@pytest.mark.parametrize("levels", [1, 2])
def test_seven_products_are_one(levels: int) -> None:
    a, b = normal(12, 4).astype(np.float64), normal(4, 20).astype(np.float64)
    products = [
        left @ signed_sum(*right)
        for left, right in zip(left_sums(a, levels), right_sums(b, levels), strict=True)
    ]
    assert len(products) == 7**levels
    np.testing.assert_allclose(result_of(products), a @ b, atol=1e-13)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (6, 14), (20, 96), (4, 130)])
def test_quadrant_sums(rows: int, columns: int, levels: int) -> None:
    rows, columns = rows * levels, columns * levels
    x = normal(rows, columns)
    shape = (7**levels, rows // 2**levels, columns // 2**levels)
    out = np.full(shape, np.nan, np.float32)
    kernel = build_quadrant_sums(QuadrantSumsSpec(rows, columns, levels), TARGET)
    (found,) = run_kernel(kernel, [out], [x])
    np.testing.assert_array_equal(found, np.stack(list(left_sums(x, levels))))


SHAPES = [
    (2, 32, 2, 1),
    (18, 160, 34, 1),
    (130, 96, 20, 1),
    (300, 352, 6, 1),
    (4, 64, 4, 2),
    (300, 704, 12, 2),
]


@pytest.mark.parametrize(("rows", "columns", "depth", "levels"), SHAPES)
@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
@pytest.mark.parametrize("fused", [False, True])
def test_strassen(
    rows: int, columns: int, depth: int, levels: int, target: Target, fused: bool
) -> None:
    a, b, bias = normal(rows, depth), normal(depth, columns), normal(columns)
    residual, factor, channel = normal(rows, columns), normal(1), normal(columns)
    epilogue = SCALE_AND_ADD if fused else None
    spec = StrassenSpec(rows, columns, depth, fused, epilogue, levels)
    sums = np.stack(list(left_sums(a, levels)))
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


def test_choice_of_two_levels() -> None:
    """Few rows, small sides and many blocks of rows are left to one level."""
    target = PRESETS["avx512"]
    for shape in ((128, 768, 768), (256, 768, 768), (128, 768, 3072)):
        assert StrassenSpec(*shape, levels=2).pays(target)
    for shape in (
        (64, 768, 768),
        (128, 384, 384),
        (128, 512, 2048),
        (1024, 1024, 1024),
        (130, 768, 768),
    ):
        assert not StrassenSpec(*shape, levels=2).pays(target)


@pytest.mark.parametrize(("numerics", "products"), [("default", 7), ("fast", 49)])
def test_two_levels_are_a_choice(numerics: str, products: int) -> None:
    text = """
func.func @main(%x: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %w = glow.constant @w : tensor<768x768xf32>
  %y = glow.matmul %x, %w : tensor<128x768xf32>
  func.return %y : tensor<128x768xf32>
}
"""
    module = parse_text(new_context(), text, "test")
    weights_of(module)["w"] = w = normal(768, 768)
    x = normal(128, 768)
    exact = x.astype(np.float64) @ w
    compiled = glow.compile(module, numerics=numerics)(x)
    packing = packings(TargetPacker(PRESETS["avx512"]))
    for stage in ("lowered", "instr"):
        lower_to(module, stage, target="avx512", numerics=numerics)
        assert f"tensor<{products}x" in str(module) or stage == "instr"
        (found,) = run(module, [x], packing=packing)
        assert relative_error(found, exact) < 8e-6
    assert relative_error(compiled, exact) < 8e-6


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
