"""Matrix product kernels against NumPy in float64."""

from __future__ import annotations

from dataclasses import replace
from math import erf
from typing import Literal

import numpy as np
import pytest
from support.kernels.kernel_testing import (
    TARGET,
    normal,
    relative_error,
    run_kernel,
    with_transposed_b,
)
from xdsl.dialects.builtin import bf16, f32, i8

from glow.backends.cpu.dialect.config import MatmulConfig
from glow.backends.cpu.kernels.elementwise import activations
from glow.backends.cpu.kernels.matmul.batch_matmul import build_batch_matmul
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import (
    BatchMatmulSpec,
    dense_strides,
)
from glow.backends.cpu.kernels.matmul.matmul import build_matmul, pack_matmul_weights
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target.target import PRESETS

GELU_AND_ADD = RegionEpilogue(
    ScalarRegion.trace(
        lambda b, x, r, s, c: b.addf(b.mulf(activations.gelu(b, x), s), b.mulf(r, c)),
        [f32] * 4,
    ),
    ("full", "scalar", "channel"),
)


def gelu64(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


MATMULS = [
    (1, 1, 1),
    (1, 10, 7),
    (1, 1000, 33),
    (2, 16, 16),
    (7, 48, 5),
    (29, 100, 64),
    (33, 130, 3),
    (100, 15, 20),
]


@pytest.mark.parametrize(("rows", "columns", "depth"), MATMULS)
@pytest.mark.parametrize("fused", [False, True])
def test_matmul(rows: int, columns: int, depth: int, fused: bool) -> None:
    a, b, bias = normal(rows, depth), normal(depth, columns), normal(columns)
    residual, factor, channel = normal(rows, columns), normal(1), normal(columns)
    spec = MatmulSpec(rows, columns, depth, fused, GELU_AND_ADD if fused else None)
    packed = pack_matmul_weights(b, spec, TARGET)
    epilogue_operands = [bias, residual, factor, channel] if fused else []
    out = np.full((rows, columns), np.nan, np.float32)
    (found,) = run_kernel(
        build_matmul(spec, TARGET), [out], [a, packed, *epilogue_operands]
    )
    exact = a.astype(np.float64) @ b
    if fused:
        exact = gelu64(exact + bias) * factor + residual * channel
    assert relative_error(found, exact) < 2e-6
    transposed = pack_matmul_weights(
        np.ascontiguousarray(b.T), spec, TARGET, transposed=True
    )
    np.testing.assert_array_equal(packed, transposed)


@pytest.mark.parametrize("columns", [64, 300, 1024])
@pytest.mark.parametrize("transposed", [False, True])
def test_streams_change_where_weights_lie_and_no_sum(
    columns: int, transposed: bool
) -> None:
    """Groups of four blocks of columns, and a rest that is not divided."""
    row, weights, bias = normal(1, 67), normal(67, columns), normal(columns)
    given = np.ascontiguousarray(weights.T) if transposed else weights
    plain = MatmulConfig(1, 4)
    results: list[np.ndarray] = []
    for config in (
        plain,
        replace(plain, streams=2),
        replace(plain, streams=4, prefetch=0),
        replace(plain, streams=4),
    ):
        spec = MatmulSpec(1, columns, 67, True, config=config)
        assert spec.wrong_config(TARGET) is None
        packed = pack_matmul_weights(given, spec, TARGET, transposed=transposed)
        out = np.full((1, columns), np.nan, np.float32)
        results += run_kernel(build_matmul(spec, TARGET), [out], [row, packed, bias])
    exact = row.astype(np.float64) @ weights + bias
    assert relative_error(results[0], exact) < 2e-6
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_products_that_have_no_streams() -> None:
    four = MatmulConfig(1, 4, streams=4)
    for spec in (
        MatmulSpec(2, 300, 64, config=replace(four, rows=2)),
        MatmulSpec(1, 300, 64, config=replace(four, streams=3)),
        MatmulSpec(1, 300, 64, element=bf16, config=four),
        MatmulSpec(1, 300, 64, element=i8, config=four),
        MatmulSpec(1, 300, 64, widens=True, config=four),
    ):
        assert "streams" in str(spec.wrong_config(TARGET))


SCALE_ROWS = RegionEpilogue(
    ScalarRegion.trace(lambda b, x, r: b.mulf(x, r), [f32] * 2), ("row",)
)


@pytest.mark.parametrize(
    ("l2_bytes", "counts"), [(2**16, (0, 0)), (2**15, (0, 48)), (2**11, (24, 48))]
)
def test_matmul_asks_for_results_that_are_far(
    l2_bytes: int, counts: tuple[int, int]
) -> None:
    """The tile of C, and of what is added to it, if together they do not stay near."""
    target = PRESETS["avx512"].with_core(l2_bytes=l2_bytes)
    plain = MatmulSpec(64, 96, 32, config=MatmulConfig(8, 3))
    for spec, count in zip(
        (plain, replace(plain, epilogue=GELU_AND_ADD)), counts, strict=True
    ):
        function = build_matmul(spec, target).function
        asked = [op for op in function.walk() if op.name == "memref.prefetch"]
        assert len(asked) == 1 + count


@pytest.mark.parametrize("cut", ["rows", "columns"])
@pytest.mark.parametrize("columns", [272, 270])
def test_rows_that_leave_the_cache_come_in_blocks(cut: str, columns: int) -> None:
    """Four tiles of six rows fill half of 4 KiB; each block of them goes through all panels."""
    rows, depth, far = 101, 20, PRESETS["avx2"].with_core(l2_bytes=2**20)
    near = far.with_core(l2_bytes=2**12)
    spec = MatmulSpec(rows, columns, depth, config=MatmulConfig(6, 2, cut))
    weights = columns * depth * 4
    assert spec.row_order(far) == (17, 0, False)
    assert spec.row_order(near) == (4, 4 * weights, True)
    a, b = normal(rows, depth), normal(depth, columns)
    found = [
        run_kernel(
            build_matmul(spec, target),
            [np.full((rows, columns), np.nan, np.float32)],
            [a, pack_matmul_weights(b, spec, target)],
            target,
        )[0]
        for target in (far, near)
    ]
    assert relative_error(found[1], a.astype(np.float64) @ b) < 2e-6
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("rows", "columns"), [(1, 20), (7, 16), (29, 50)])
def test_matmul_with_a_number_for_each_row(rows: int, columns: int) -> None:
    a, b, scale = normal(rows, 12), normal(12, columns), normal(rows)
    spec = MatmulSpec(rows, columns, 12, epilogue=SCALE_ROWS)
    inputs = [a, pack_matmul_weights(b, spec, TARGET), scale]
    out = np.zeros((rows, columns), np.float32)
    (found,) = run_kernel(build_matmul(spec, TARGET), [out], inputs)
    assert relative_error(found, (a.astype(np.float64) @ b) * scale[:, None]) < 2e-6


def test_matmul_keeps_what_lies_between_strided_rows() -> None:
    a, b = normal(9, 30), normal(20, 40)
    spec = MatmulSpec(9, 40, 20, a_row_stride=30, c_row_stride=50)
    out = np.full((9, 50), 7, np.float32)
    inputs = [a.ravel()[: 8 * 30 + 20], pack_matmul_weights(b, spec, TARGET)]
    (flat,) = run_kernel(
        build_matmul(spec, TARGET), [out.ravel()[: 8 * 50 + 40]], inputs
    )
    found = np.append(flat, np.full(10, 7, np.float32)).reshape(9, 50)
    assert relative_error(found[:, :40], a[:, :20].astype(np.float64) @ b) < 2e-6
    assert (found[:, 40:] == 7).all()


@pytest.mark.parametrize("name", ["avx2", "scalar"])
def test_matmul_for_another_target(name: str) -> None:
    target = PRESETS[name]
    a, b = normal(13, 20), normal(20, 37)
    spec = MatmulSpec(13, 37, 20)
    packed = pack_matmul_weights(b, spec, target)
    kernel = build_matmul(spec, target)
    (found,) = run_kernel(kernel, [np.zeros((13, 37), np.float32)], [a, packed], target)
    assert relative_error(found, a.astype(np.float64) @ b) < 2e-6


BATCH_MATMULS = [
    ((), 1, 1, 1),
    ((3,), 20, 33, 40),
    ((2, 3), 6, 16, 17),
    ((2,), 1, 21, 50),
    ((2,), 9, 7, 600),
    ((2,), 3, 50, 530),
    ((1, 2), 30, 100, 5),
]


@pytest.mark.parametrize(("batch", "rows", "columns", "depth"), BATCH_MATMULS)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("channel", ["column", "row", None])
def test_batch_matmul(
    batch: tuple[int, ...],
    rows: int,
    columns: int,
    depth: int,
    transposed: bool,
    channel: str | None,
) -> None:
    a = normal(*batch, rows, depth)
    b = normal(*batch, columns, depth) if transposed else normal(*batch, depth, columns)
    spec = BatchMatmulSpec.dense(
        batch,
        rows,
        columns,
        depth,
        has_bias=channel is not None,
        epilogue=GELU_AND_ADD if channel else None,
    )
    spec = replace(spec, channel=channel or "column")
    if transposed:
        spec = with_transposed_b(spec)
    count = rows if channel == "row" else columns
    bias, factor, scale = normal(count), normal(1), normal(count)
    residual = normal(*batch, rows, columns)
    epilogue_operands = [bias, residual, factor, scale] if channel else []
    out = np.full((*batch, rows, columns), np.nan, np.float32)
    (found,) = run_kernel(
        build_batch_matmul(spec, TARGET), [out], [a, b, *epilogue_operands]
    )
    right = np.swapaxes(b, -1, -2) if transposed else b
    exact = a.astype(np.float64) @ right
    if channel:
        if channel == "row":
            bias, scale = bias[:, None], scale[:, None]
        exact = gelu64(exact + bias) * factor + residual * scale
    assert relative_error(found, exact) < 2e-6


@pytest.mark.parametrize("rows", [1, 3, 7, 30])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("channel", ["column", "row"])
def test_batch_matmul_with_a_number_for_each_row(
    rows: int, transposed: bool, channel: Literal["column", "row"]
) -> None:
    """In every form; the numbers do not lie among those of the columns."""
    a, b, scale = normal(2, rows, 20), normal(2, 20, 40), normal(rows)
    spec = BatchMatmulSpec.dense((2,), rows, 40, 20, epilogue=SCALE_ROWS)
    spec = replace(spec, channel=channel)
    if transposed:
        spec, b = with_transposed_b(spec), np.swapaxes(b, 1, 2).copy()
    out = np.full((2, rows, 40), np.nan, np.float32)
    (found,) = run_kernel(build_batch_matmul(spec, TARGET), [out], [a, b, scale])
    exact = a.astype(np.float64) @ (np.swapaxes(b, 1, 2) if transposed else b)
    assert relative_error(found, exact * scale[:, None]) < 2e-6


def test_batch_matmul_repeats_operands() -> None:
    a, b = normal(2, 1, 5, 8), normal(3, 8, 20)
    spec = replace(
        BatchMatmulSpec.dense((2, 3), 5, 20, 8),
        a=dense_strides((2, 3), (2, 1), 5, 8),
        b=dense_strides((2, 3), (3,), 8, 20),
    )
    out = np.zeros((2, 3, 5, 20), np.float32)
    (found,) = run_kernel(build_batch_matmul(spec, TARGET), [out], [a, b])
    assert relative_error(found, a.astype(np.float64) @ b) < 2e-6


def test_batch_matmul_absorbs_transpositions() -> None:
    # Attention on [tokens, heads, 24]: heads are the batch, nothing is moved.
    tokens, heads, size = 20, 3, 24
    query, key = normal(tokens, heads, size), normal(tokens, heads, size)
    by_head = Strides((size,), heads * size, 1)
    spec = BatchMatmulSpec(
        (heads,),
        tokens,
        tokens,
        size,
        by_head,
        Strides((size,), 1, heads * size),
        Strides((tokens * tokens,), tokens, 1),
    )
    out = np.zeros((heads, tokens, tokens), np.float32)
    (found,) = run_kernel(build_batch_matmul(spec, TARGET), [out], [query, key])
    exact = np.einsum("qhd,khd->hqk", query.astype(np.float64), key)
    assert relative_error(found, exact) < 2e-6


@pytest.mark.parametrize(
    ("rows", "columns", "depth"), [(19, 21, 1100), (300, 64, 1024)]
)
def test_batch_matmul_adds_up_blocks_of_a_great_depth(
    rows: int, columns: int, depth: int
) -> None:
    """The gradient of weights: sums over a batch, of a transposed left operand."""
    a, b, bias = normal(depth, rows), normal(depth, columns), normal(columns)
    spec = BatchMatmulSpec.dense((), rows, columns, depth, has_bias=True)
    spec = replace(spec, a=Strides((), 1, rows))
    assert spec.depth_block < depth
    out = np.full((rows, columns), np.nan, np.float32)
    (found,) = run_kernel(build_batch_matmul(spec, TARGET), [out], [a, b, bias])
    assert relative_error(found, a.T.astype(np.float64) @ b + bias) < 2e-6


@pytest.mark.parametrize("name", ["avx512", "avx2", "scalar"])
def test_chosen_configurations_are_allowed(name: str) -> None:
    """Those of products along contiguous rows of both operands too."""
    target, depth = PRESETS[name], 16
    for rows in range(1, 9):
        for columns in (1, 3, 4, 5, 11, 40):
            dense = BatchMatmulSpec.dense((2,), rows, columns, depth)
            b = Strides((columns * depth,), 1, depth)
            for spec in (dense, replace(dense, b=b)):
                config = spec.choose_config(target)
                assert replace(spec, config=config).wrong_config(target) is None
