"""Quantization of rows at run time: the interpreter's bits on every target."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, run_kernel

from glow.backends.cpu.kernels.quantization.per_row_quantize import (
    PerRowQuantizeSpec,
    build_per_row_quantize,
)
from glow.backends.cpu.kernels.quantization.row_range import (
    RowRangeSpec,
    build_row_range,
)
from glow.interpreter.dynamic_quantization import quantize_dynamic
from glow.lowering.target.target import PRESETS, Target

TARGETS = [TARGET, PRESETS["avx2"], PRESETS["scalar"]]
NAMES = ["host", "avx2", "scalar"]


def rows_of(extent: int) -> np.ndarray:
    """Ordinary rows, and rows that are hard: flat, one-sided, tiny, huge, not finite."""
    x = normal(12, extent)
    x[1], x[2], x[3] = 0, 5, -0.25
    x[4], x[5] = np.abs(x[4]), -np.abs(x[5])
    x[6] *= np.float32(1e-44)
    x[7] = np.clip(x[7], -4, 4) * np.float32(8e37)
    x[8, extent // 2], x[9, -1], x[10, 0] = np.nan, np.inf, -np.inf
    return x


@pytest.mark.parametrize("extent", [1, 7, 16, 67, 384])
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_per_row_quantize(extent: int, target: Target) -> None:
    x, columns = rows_of(extent), -(-extent // 4) * 4
    spec = PerRowQuantizeSpec(len(x), extent, columns)
    outputs = [
        np.full((len(x), columns), 99, np.uint8),
        np.zeros(len(x), np.float32),
        np.zeros(len(x), np.int32),
    ]
    kernel = build_per_row_quantize(spec, target)
    stored, scale, point = run_kernel(kernel, outputs, [x], target)
    with np.errstate(all="ignore"):
        expected, scales, points = quantize_dynamic(x, -1)
    finite = np.isfinite(x).all(-1)
    np.testing.assert_array_equal(stored[finite, :extent], expected[finite])
    np.testing.assert_array_equal(scale[finite], scales[finite, 0])
    np.testing.assert_array_equal(point[finite], points[finite, 0])
    assert not stored[:, extent:].any()
    assert np.isnan(scale[~finite]).all()
    assert not stored[~finite].any()


@pytest.mark.parametrize("extent", [1, 7, 16, 67, 384])
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_row_range(extent: int, target: Target) -> None:
    x = rows_of(extent)
    outputs = [np.full(len(x), 9, np.float32) for _ in range(2)]
    kernel = build_row_range(RowRangeSpec(len(x), extent), target)
    low, high = run_kernel(kernel, outputs, [x], target)
    np.testing.assert_array_equal(low, np.minimum(x.min(-1), 0))
    np.testing.assert_array_equal(high, np.maximum(x.max(-1), 0))
