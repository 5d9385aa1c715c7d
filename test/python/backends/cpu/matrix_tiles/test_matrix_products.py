"""Products by matrix tiles (AMX) against NumPy, bit for bit, where the CPU has them."""

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.kernel_testing import run_kernel
from xdsl.dialects.builtin import bf16, i8

from glow.backends.cpu.dialect.config import MatmulConfig
from glow.backends.cpu.kernels.matmul.matmul import build_matmul, pack_matmul_weights
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.tiling.matrix_tile import MatrixTile, choose_matrix_tile
from glow.dialects.weight_table import dtype_of
from glow.lowering.target.target import Target, host_target

TILES = Target.from_string("sapphirerapids")

needs_tiles = pytest.mark.skipif(
    not host_target().has_int8_tiles, reason="this CPU has no tiles of bytes"
)

SHAPES = [
    (1, 1, 4),
    (1, 16, 64),
    (2, 17, 68),
    (16, 32, 64),
    (17, 33, 128),
    (31, 48, 192),
    (33, 31, 20),
    (50, 100, 100),
    (64, 64, 384),
    (128, 40, 36),
    (197, 65, 144),
]
"""Rows, columns and depth: whole tiles, one row, odd numbers, depths that 64 does not divide."""


def random_factors(
    rows: int, columns: int, depth: int, *, extreme: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unsigned bytes, signed ones and a bias; extreme ones are at the ends of their ranges."""
    random = np.random.default_rng(rows)
    x = random.integers(0, 256, (rows, depth)).astype(np.uint8)
    w = random.integers(-128, 128, (depth, columns)).astype(np.int8)
    if extreme:
        x, w = np.where(x > 127, 255, 0), np.where(w > 0, 127, -128)
    bias = random.integers(-99, 99, columns).astype(np.int32)
    return x.astype(np.uint8), w.astype(np.int8), bias


@needs_tiles
@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_exact(shape: tuple[int, int, int], extreme: bool) -> None:
    (rows, columns, _), target = shape, host_target()
    tile = choose_matrix_tile(rows, columns, target)
    config = MatmulConfig(tile.rows, tile.blocks, matrix_tiles=True)
    spec = MatmulSpec(*shape, has_bias=True, element=i8, config=config)
    x, w, bias = random_factors(*shape, extreme=extreme)
    (found,) = run_kernel(
        build_matmul(spec, target),
        [np.zeros((rows, columns), np.int32)],
        [x, pack_matmul_weights(w, spec, target), bias],
        target,
    )
    expected = x.astype(np.int32) @ w.astype(np.int32) + bias
    np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(not host_target().has_bf16_tiles, reason="no tiles of bf16")
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_bf16(shape: tuple[int, int, int]) -> None:
    """Sums are f32; whole numbers have exact ones in any order."""
    (rows, columns, _), target = shape, host_target()
    tile = choose_matrix_tile(rows, columns, target)
    config = MatmulConfig(tile.rows, tile.blocks, matrix_tiles=True)
    spec = MatmulSpec(*shape, has_bias=True, element=bf16, config=config)
    x, w, bias = (a.astype(np.float32) for a in random_factors(*shape, extreme=False))
    x, w, dtype = x // 16, w // 16, dtype_of(bf16)
    (found,) = run_kernel(
        build_matmul(spec, target),
        [np.zeros((rows, columns), np.float32)],
        [x.astype(dtype), pack_matmul_weights(w.astype(dtype), spec, target), bias],
        target,
    )
    np.testing.assert_array_equal(found, x @ w + bias)


@pytest.mark.parametrize("rows", [1, 5, 16, 17, 31, 32])
def test_tiles_cover_their_rows(rows: int) -> None:
    tile = MatrixTile.of_rows(rows, 2, 16)
    covered = {first + row for first in tile.first_rows for row in range(tile.height)}
    assert covered == set(range(rows))


def test_few_rows_are_left_to_vectors() -> None:
    spec = MatmulSpec(1, 768, 768, element=i8)
    assert not spec.choose_config(TILES).matrix_tiles
    assert replace(spec, rows=64).choose_config(TILES).matrix_tiles
    assert (
        not replace(spec, rows=64)
        .choose_config(Target.from_string("sapphirerapids_without-amx-int8"))
        .matrix_tiles
    )


def test_weights_are_those_of_vectors() -> None:
    """Programs for other numbers of rows share them."""
    weights = np.arange(128 * 96).reshape(128, 96).astype(np.int8)
    packed = [
        pack_matmul_weights(weights, replace(spec, config=config), TILES)
        for spec in (MatmulSpec(rows, 96, 128, element=i8) for rows in (9, 64, 197))
        for config in [spec.shared_config(TILES)]
    ]
    for other in packed[1:]:
        np.testing.assert_array_equal(packed[0], other)


def test_wrong_tiles_are_refused() -> None:
    spec = MatmulSpec(64, 64, 64, element=i8)
    tall = MatmulConfig(48, 2, matrix_tiles=True)
    assert "1 to 32 rows" in str(replace(spec, config=tall).wrong_config(TILES))
    fitting = replace(spec, config=MatmulConfig(32, 2, matrix_tiles=True))
    assert fitting.wrong_config(TILES) is None
    assert "none" in str(fitting.wrong_config(Target.from_string("avx512")))
    lower = replace(fitting, signed_input=True)
    assert "none" in str(lower.wrong_config(TILES))
