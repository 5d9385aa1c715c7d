"""Products of rows with the matrices that indices name, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.kernel_testing import RANDOM, TARGET, normal, run_kernel
from xdsl.dialects.builtin import IntegerType, Signedness, i8, i32

import glow
from glow.backends.cpu.kernels.matmul.block_quantized_spec import BlockFormat
from glow.backends.cpu.kernels.matmul.block_quantized_weights import BlockWeights
from glow.backends.cpu.kernels.matmul.indexed_block_matmul import (
    IndexedBlockMatmulSpec,
    build_indexed_block_matmul,
    packed_matrices,
)
from glow.backends.cpu.kernels.matmul.indexed_block_matmul import (
    panel_width as block_panel_width,
)
from glow.backends.cpu.kernels.matmul.indexed_matmul import (
    SORTED_ROWS,
    IndexedMatmulSpec,
    build_indexed_matmul,
    panel_width,
)
from glow.backends.cpu.layout.indexed_products import pack_panels
from glow.dialects.weight_table import dtype_of
from glow.frontends.mlir import parse_text
from glow.lowering.target.target import PRESETS
from glow.universe import new_context

SIZES = [
    # rows, columns, depth, matrices
    (1, 1, 1, 1),
    (2, 40, 12, 8),
    (7, 130, 33, 3),
    (64, 35, 9, 2),
    (5, 64, 20, 1),
    (SORTED_ROWS + 3, 3, 2, 5),
]

TARGETS = {"host": TARGET, "avx2": PRESETS["avx2"], "scalar": PRESETS["scalar"]}


def packed(weights: np.ndarray, width: int) -> np.ndarray:
    """Weights [E, K, N] in panels."""
    matrices, depth, columns = weights.shape
    panels = np.full((matrices, -(-columns // width), depth, width), np.nan, "f")
    pack_panels(weights, panels)
    return panels


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("rows", "columns", "depth", "matrices"), SIZES)
def test_indexed_matmul(
    rows: int, columns: int, depth: int, matrices: int, name: str
) -> None:
    """Indices count from the end, too; those outside are noted, and read nothing outside."""
    target = TARGETS[name]
    width = panel_width(rows, columns, depth, matrices, target)
    spec = IndexedMatmulSpec(rows, columns, depth, matrices, width, reports=True)
    x, weights = normal(rows, depth), normal(matrices, depth, columns)
    indices = RANDOM.integers(-matrices, matrices, rows)
    kernel = build_indexed_matmul(spec, target)
    out, errors = np.full((rows, columns), np.nan, "f"), np.zeros(1, np.int8)
    inputs = [x, packed(weights, width), indices, errors]
    (found,) = run_kernel(kernel, [out], inputs, target)
    expected = np.einsum("mk,mkn->mn", x.astype("d"), weights[indices])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("index", "dtype"), [(i8, np.uint8), (i32, np.int32)])
def test_rows_that_all_name_one_matrix(index: object, dtype: type) -> None:
    weights, x = normal(200, 12, 40), normal(50, 12)
    spec = IndexedMatmulSpec(
        50, 40, 12, 200, 2 * TARGET.lanes(32), index, unsigned=dtype == np.uint8
    )
    inputs = [x, packed(weights, spec.width), np.full(50, 199, dtype)]
    out = np.full((50, 40), np.nan, np.float32)
    (found,) = run_kernel(build_indexed_matmul(spec, TARGET), [out], inputs)
    np.testing.assert_allclose(found, x @ weights[199], rtol=1e-4, atol=1e-5)


FORMATS = [BlockFormat(4, 32), BlockFormat(4, 16, has_points=True), BlockFormat(8, 64),
           BlockFormat(2, 16, has_points=True)]  # fmt: skip


def few_bits(form: BlockFormat, *shape: int) -> tuple[BlockWeights, np.ndarray]:
    """Codes [K, E, N] and what is with them, and the floats [E, K, N] that they mean."""
    depth, *outer = shape
    blocks = (-(-depth // form.size), *outer)
    dtype = dtype_of(IntegerType(form.bits, Signedness.UNSIGNED))
    codes = RANDOM.integers(0, 1 << form.bits, shape, np.uint8)
    scales = normal(*blocks)
    points = RANDOM.integers(0, 1 << form.bits, blocks, np.uint8)
    points = points if form.has_points else np.full_like(points, form.middle)
    wide = [np.repeat(x.astype("d"), form.size, 0)[:depth] for x in (points, scales)]
    floats = np.moveaxis((codes - wide[0]) * wide[1], 0, 1)
    held = BlockWeights(
        form, codes.view(dtype), scales, points if form.has_points else None
    )
    return held, floats


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("depth", [16, 80])
def test_matrices_of_few_bits(
    depth: int, rows: int, form: BlockFormat, name: str
) -> None:
    target, matrices, columns = TARGETS[name], 3, 70
    held, floats = few_bits(form, depth, matrices, columns)
    width = block_panel_width((matrices, depth, columns), rows, form, target)
    sizes = (rows, columns, depth, matrices, width)
    spec = IndexedBlockMatmulSpec(*sizes, format=form)
    words = packed_matrices(held, width, target).array()
    x, indices = normal(rows, depth), RANDOM.integers(-matrices, matrices, rows)
    out = np.full((rows, columns), np.nan, np.float32)
    kernel = build_indexed_block_matmul(spec, target)
    (found,) = run_kernel(kernel, [out], [x, words, indices], target)
    expected = np.einsum("mk,mkn->mn", x.astype("d"), floats[indices])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


PROGRAM = """
func.func @main(%x: tensor<9x1x6xf32>, %i: tensor<9xi64>) -> tensor<9x1x40xf32> {
  %w = glow.constant dense<2.0> : tensor<3x6x40xf32>
  %m = glow.gather %w, %i axis 0 : tensor<9x6x40xf32>
  %y = glow.matmul %x, %m : tensor<9x1x40xf32>
  func.return %y : tensor<9x1x40xf32>
}
"""


@pytest.mark.parametrize("wrong", [3, -4])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_an_index_outside_is_an_error(backend: str, wrong: int) -> None:
    module = parse_text(new_context(), PROGRAM, "test")
    compiled = glow.compile(module, backend=backend)
    indices = np.zeros(9, np.int64)
    found = compiled(normal(9, 1, 6), indices)
    assert isinstance(found, np.ndarray)
    assert found.shape == (9, 1, 40)
    indices[4] = wrong
    with pytest.raises(glow.GlowError, match="outside"):
        compiled(normal(9, 1, 6), indices)
