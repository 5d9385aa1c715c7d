"""Strassen's product and its sums against NumPy in float64."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, relative_error, run_kernel
from xdsl.dialects.builtin import ModuleOp, f32

import glow
from glow.backends.cpu.kernels.strassen.kernel import build_strassen
from glow.backends.cpu.kernels.strassen.linear_combinations import (
    StrassenCombinationsSpec,
    build_strassen_combinations,
)
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.strassen.weights import pack_strassen_weights
from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.backends.cpu.reference.strassen import (
    PRODUCTS,
    RESULT,
    left_sums,
    original,
    right_sums,
    row_scales,
    signed_sum,
)
from glow.compiler import lower_to
from glow.dialects.weights import clone_module, weights_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target.target import PRESETS, Target
from glow.universe import new_context

SCALE_AND_ADD = RegionEpilogue(
    ScalarRegion.trace(
        lambda b, x, r, s, c: b.addf(b.mulf(x, s), b.mulf(r, c)), [f32] * 4
    ),
    ("full", "scalar", "channel"),
)


def result_of(products: list[np.ndarray]) -> np.ndarray:
    """The matrix product of all products of one level or two."""
    if len(products) == 1:
        return products[0]
    size = len(products) // PRODUCTS
    inner = [result_of(products[i * size : (i + 1) * size]) for i in range(PRODUCTS)]
    a, b, c, d = (signed_sum(inner, terms) for terms in RESULT)
    rows = np.stack([np.hstack([a, b]), np.hstack([c, d])], axis=1)
    return rows.reshape(-1, rows.shape[-1])


@pytest.mark.parametrize("levels", [1, 2])
def test_seven_products_are_one(levels: int) -> None:
    a, b = normal(12, 4).astype(np.float64), normal(4, 20).astype(np.float64)
    products = [
        left @ signed_sum(*right)
        for left, right in zip(left_sums(a, levels), right_sums(b, levels), strict=True)
    ]
    assert len(products) == 7**levels
    np.testing.assert_allclose(result_of(products), a @ b, atol=1e-13)
    factors = [signed_sum(*right) for right in right_sums(b, levels)]
    np.testing.assert_allclose(original(factors), b, atol=1e-14)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize(
    ("rows", "columns"), [(2, 2), (6, 14), (20, 96), (4, 130), (1, 6), (7, 40)]
)
def test_strassen_combinations(rows: int, columns: int, levels: int) -> None:
    rows, columns = rows * levels, columns * levels
    x = normal(rows, columns)
    outputs = empty_sums(rows, columns, levels)
    kernel = build_strassen_combinations(
        StrassenCombinationsSpec(rows, columns, levels), TARGET
    )
    sums, scales = run_kernel(kernel, outputs, [x])
    x = np.pad(x, ((0, len(scales) - rows), (0, 0)), "edge")
    assert (np.log2(scales) % 1 == 0).all()
    largest = np.abs(x).max(1) / scales
    assert (1 <= largest).all()
    assert (largest < 2).all()
    scaled = x / scales[:, None]
    np.testing.assert_array_equal(sums, np.stack(list(left_sums(scaled, levels))))


def empty_sums(rows: int, columns: int, levels: int) -> list[np.ndarray]:
    quadrant = -(-rows // 2**levels)
    shapes = (7**levels, quadrant, columns // 2**levels), (quadrant * 2**levels,)
    return [np.full(shape, np.nan, np.float32) for shape in shapes]


@pytest.mark.parametrize("levels", [1, 2])
def test_scales_of_extreme_rows(levels: int) -> None:
    """Scales and their inverses are normal numbers; one infinity or NaN is one of its group."""
    tiny = np.finfo(np.float32).smallest_subnormal
    sizes = [3e38, 2.0**126, 1.5, 0.0, tiny, 2.0**-126, 1e-20, 1.0]
    x = np.float32(sizes)[:, None] * np.float32([0.5, 1, -1, 0.25])
    kernel = build_strassen_combinations(StrassenCombinationsSpec(8, 4, levels), TARGET)
    sums, scales = run_kernel(kernel, empty_sums(8, 4, levels), [x])
    expected = [2.0**126, 2.0**126, 1, 2.0**-126, 2.0**-126, 2.0**-126]
    np.testing.assert_array_equal(scales[:6], np.float32(expected))
    np.testing.assert_array_equal(scales, row_scales(x, levels)[1])
    assert np.abs(sums).max() < 16
    for wrong in (np.inf, -np.inf, np.nan):
        spoilt = x.copy()
        spoilt[1, 2] = wrong
        _, scales = run_kernel(kernel, empty_sums(8, 4, levels), [spoilt])
        np.testing.assert_array_equal(np.isnan(scales), np.arange(8) < 2**levels)
        np.testing.assert_array_equal(scales, row_scales(spoilt, levels)[1])


SHAPES = [
    (2, 32, 2, 1),
    (18, 160, 34, 1),
    (130, 96, 20, 1),
    (300, 352, 6, 1),
    (3, 32, 2, 1),
    (5, 32, 2, 1),
    (197, 96, 20, 1),
    (299, 352, 6, 1),
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
    epilogue_operands = [bias, residual, factor, channel] if fused else []
    found = strassen(a, b, spec, epilogue_operands, target)
    exact = a.astype(np.float64) @ b
    if fused:
        exact = (exact + bias) * factor + residual * channel
    assert relative_error(found, exact) < 5e-6


@lru_cache(1)
def kernels_of(spec: StrassenSpec, target: Target) -> tuple[Kernel, Kernel]:
    """The linear combinations of rows, and the product."""
    combinations = StrassenCombinationsSpec(spec.rows, spec.depth, spec.levels)
    return (
        build_strassen_combinations(combinations, target),
        build_strassen(spec, target),
    )


def strassen(
    a: np.ndarray,
    b: np.ndarray,
    spec: StrassenSpec,
    epilogue_operands: list[np.ndarray],
    target: Target,
) -> np.ndarray:
    """What the kernels compute for a and b."""
    combinations, product = kernels_of(spec, target)
    sums, scales = run_kernel(
        combinations,
        empty_sums(spec.rows, spec.depth, spec.levels),
        [a],
        target,
    )
    packed = pack_strassen_weights(b, spec, target)
    out = np.full((spec.rows, spec.columns), np.nan, np.float32)
    operands = [a, scales, sums, packed, *epilogue_operands]
    (found,) = run_kernel(product, [out], operands, target)
    return found


@pytest.mark.parametrize(("rows", "columns", "depth", "levels"), SHAPES)
def test_what_is_not_finite_stays_in_its_row(
    rows: int, columns: int, depth: int, levels: int
) -> None:
    """Also beside zero weights, and with a bias and an epilogue."""
    a, b = normal(rows, depth), normal(depth, columns)
    b[:, ::5] = 0
    epilogue_operands = [
        normal(columns),
        normal(rows, columns),
        normal(1),
        normal(columns),
    ]
    bias, residual, factor, channel = epilogue_operands
    spec = StrassenSpec(rows, columns, depth, True, SCALE_AND_ADD, levels)
    for wrong in (np.inf, -np.inf, np.nan):
        a[rows - 1, depth - 1] = wrong
        found = strassen(a, b, spec, epilogue_operands, TARGET)
        exact = (a.astype(np.float64) @ b + bias) * factor + residual * channel
        np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
        infinite = np.isinf(exact)
        np.testing.assert_array_equal(found[infinite], exact[infinite])
        whole = np.isfinite(exact)
        assert whole.sum() == (rows - 1) * columns
        assert relative_error(found[whole], exact[whole]) < 5e-6


@pytest.mark.parametrize("levels", [1, 2])
def test_each_row_keeps_its_digits(levels: int) -> None:
    """Rows of all sizes, up to those that only just do not overflow, are as exact as alone."""
    rows, depth, columns = 64, 64, 64
    a, b = normal(rows, depth), normal(depth, columns)
    sizes = 2.0 ** np.linspace(-100, 120, rows)
    a = (a * np.random.default_rng(3).permutation(sizes)[:, None]).astype(np.float32)
    a[0] = np.float32(2.5e38) * (np.arange(depth) == 5)
    b[5] = np.clip(b[5], -1, 1)
    spec = StrassenSpec(rows, columns, depth, levels=levels)
    found = strassen(a, b, spec, [], TARGET)
    exact = a.astype(np.float64) @ b
    errors = np.abs(found - exact).max(1) / np.abs(exact).max(1)
    assert errors.max() < 5e-6


@pytest.mark.parametrize("cut", ["rows", "columns"])
def test_rows_that_leave_the_cache_come_in_blocks(cut: str) -> None:
    rows, columns, depth = 130, 352, 20
    target = PRESETS["avx2"].with_core(l2_bytes=2**14)
    spec = StrassenSpec(rows, columns, depth)
    spec = replace(spec, config=replace(spec.choose_config(target), cut=cut))
    assert spec.is_blocked(target)
    assert not spec.is_blocked(PRESETS["avx2"])
    a, b = normal(rows, depth), normal(depth, columns)
    found = strassen(a, b, spec, [], target)
    assert relative_error(found, a.astype(np.float64) @ b) < 5e-6


@pytest.mark.parametrize("height", [1, 2, 3, 4])
@pytest.mark.parametrize("rows", [1, 5, 7, 13])
def test_a_missing_row_in_tiles_of_any_height(rows: int, height: int) -> None:
    """Rows that are stored together would begin in front of a tile of two."""
    columns, depth = 64, 20
    spec = StrassenSpec(rows, columns, depth)
    config = replace(spec.choose_config(TARGET), rows=min(height, -(-rows // 2)))
    spec = replace(spec, config=replace(config, row_blocks=1))
    a, b = normal(rows, depth), normal(depth, columns)
    found = strassen(a, b, spec, [], TARGET)
    assert relative_error(found, a.astype(np.float64) @ b) < 5e-6


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
    own = cpu_functions(packings_of(TargetPacker(PRESETS["avx512"])))
    for stage in ("lowered", "instr"):
        lowered = clone_module(module)
        lower_to(lowered, stage, target="avx512", numerics=numerics)
        assert f"tensor<{products}x" in str(lowered) or stage == "instr"
        (found,) = run(lowered, [x], own=own)
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
    return two_products(2, 64)


def two_products(batch: int, rows: int) -> ModuleOp:
    """The same, with so many rows."""
    program = PROGRAM.replace("2x64x", f"{batch}x{rows}x")
    module = parse_text(new_context(), program, "test")
    table = weights_of(module)
    table["w"], table["v"] = normal(512, 512), normal(512, 544)
    return module


def count(module: ModuleOp, name: str) -> int:
    """How many operations of that name there are."""
    return sum(op.name == name for op in module.walk())


def test_products_share_their_sums(module: ModuleOp) -> None:
    expected = run(module, INPUTS)
    lower_to(module, "lowered", target="avx512")
    assert count(module, "cpu.strassen_combinations") == 1
    assert count(module, "cpu.strassen_matmul") == 2
    assert count(module, "glow.add") == 0
    own = cpu_functions(packings_of(TargetPacker(PRESETS["avx512"])))
    for stage in ("lowered", "instr"):
        lower_to(module, stage, target="avx512")
        for found, wanted in zip(run(module, INPUTS, own=own), expected, strict=True):
            assert relative_error(found, wanted) < 5e-6


def test_exact_numerics_keep_direct_sums(module: ModuleOp) -> None:
    lower_to(module, "lowered", numerics="exact")
    assert count(module, "cpu.strassen_matmul") == 0
    assert count(module, "cpu.matmul") == 2


@pytest.mark.parametrize("shape", [(2, 64), (1, 131), (3, 67)])
def test_compiled_results_do_not_depend_on_threads(shape: tuple[int, int]) -> None:
    """Nor do rows of which the last one has no other, added to in place."""
    module = two_products(*shape)
    inputs = [normal(*shape, 512), normal(*shape, 512)]
    expected = run(module, inputs)
    one, two = (glow.compile(module, threads=n)(*inputs) for n in (1, 2))
    lower_to(module, "lowered", target="avx512")
    assert count(module, "cpu.strassen_matmul") == 2
    for first, second, wanted in zip(one, two, expected, strict=True):
        assert relative_error(first, wanted) < 5e-6
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("factor", "count"),
    [(1.0, 2), (1 / 16, 2), (1e-4, 0), (1e4, 0), (0.0, 0), (np.nan, 0)],
)
def test_uneven_weights_have_direct_sums(
    module: ModuleOp, axis: int, factor: float, count: int
) -> None:
    """One row or column that is far from the others, in both matrices."""
    table = weights_of(module)
    for name in ("w", "v"):
        weights = np.array(table[name])
        np.moveaxis(weights, axis, 0)[3] *= np.float32(factor)
        table[name] = weights
    lower_to(module, "lowered", target="avx512")
    found = sum(op.name == "cpu.strassen_matmul" for op in module.walk())
    assert found == count


def test_weights_of_extreme_sizes_have_direct_sums(module: ModuleOp) -> None:
    table = weights_of(module)
    table["w"], table["v"] = table["w"] * 1e35, table["v"] * 1e-35
    lower_to(module, "lowered", target="avx512")
    assert count(module, "cpu.strassen_matmul") == 0
