"""Kernels on bf16 operands against NumPy: sums in f32, stored as f32 or rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.kernels.conv_testing import convolution, to_blocks, to_plain
from support.kernels.kernel_testing import TARGET, normal, relative_error, run_kernel
from xdsl.dialects.builtin import bf16, f32

from glow.backends.cpu.kernels.convolution.conv2d import (
    Conv2dSpec,
    build_conv2d,
    pack_conv_weights,
)
from glow.backends.cpu.kernels.matmul.matmul import build_matmul, pack_matmul_weights
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.dialects import arith
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import PRESETS, Target

BF16 = np.dtype(ml_dtypes.bfloat16)
ROUNDING = 2.0**-8
ADD_AND_ROUND = RegionEpilogue(
    ScalarRegion.trace(
        lambda b, x, r: b.cast(
            arith.TruncFOp, b.addf(x, b.cast(arith.ExtFOp, r, f32)), bf16
        ),
        [f32, bf16],
    ),
    ("full",),
)


def halves(*shape: int) -> np.ndarray:
    return normal(*shape).astype(BF16)


def exact(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


@pytest.mark.parametrize(
    ("rows", "columns", "depth"),
    [(1, 1, 2), (1, 1000, 34), (7, 48, 6), (29, 100, 64), (33, 130, 2)],
)
@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
def test_matmul(rows: int, columns: int, depth: int, target: Target) -> None:
    a, b, bias = halves(rows, depth), halves(depth, columns), normal(columns)
    spec = MatmulSpec(rows, columns, depth, has_bias=True, element=bf16)
    packed = pack_matmul_weights(b, spec, target)
    out = np.full((rows, columns), np.nan, np.float32)
    inputs = [a, packed, bias]
    (found,) = run_kernel(build_matmul(spec, target), [out], inputs, target)
    assert relative_error(found, exact(a) @ exact(b) + bias) < 4e-6


def test_matmul_adds_and_stores_bf16() -> None:
    a, b, residual = halves(19, 40), halves(40, 50), halves(19, 50)
    spec = MatmulSpec(19, 50, 40, epilogue=ADD_AND_ROUND, element=bf16)
    packed = pack_matmul_weights(b, spec, TARGET)
    out = np.zeros((19, 50), BF16)
    (found,) = run_kernel(build_matmul(spec, TARGET), [out], [a, packed, residual])
    expected = exact(a) @ exact(b) + exact(residual)
    assert relative_error(exact(found), expected) < ROUNDING


def test_an_odd_depth_has_no_pairs() -> None:
    with pytest.raises(ValueError, match="groups of 2"):
        MatmulSpec(3, 4, 5, element=bf16)


@pytest.mark.parametrize(
    ("channels", "window", "groups"),
    [
        ((32, 40), Window((5, 7), (1, 1)), 1),
        ((6, 16), Window((9, 8), (3, 3), strides=(2, 2), pads=(1, 1, 1, 1)), 1),
        ((48, 33), Window((6, 6), (3, 3), dilations=(2, 2), pads=(2, 1, 0, 2)), 1),
        ((32, 64), Window((4, 5), (1, 3), pads=(0, 1, 0, 1)), 2),
    ],
)
@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
def test_convolution(
    channels: tuple[int, int], window: Window, groups: int, target: Target
) -> None:
    inputs, outputs = channels
    lanes = target.lanes(32)
    image = halves(2, inputs, *window.input)
    weights = halves(outputs, inputs // groups, *window.kernel)
    spec = Conv2dSpec(2, inputs, outputs, window, groups, lanes, element=bf16)
    packed = pack_conv_weights(weights, spec, target)
    blocked = to_blocks(image.astype(np.float32), lanes).astype(BF16)
    out = np.zeros(spec.output_type.get_shape(), np.float32)
    kernel = build_conv2d("conv", spec, target)
    (found,) = run_kernel(kernel, [out], [blocked, packed], target)
    expected = convolution(exact(image), exact(weights), window, groups)
    assert relative_error(to_plain(found, outputs), expected) < 4e-6


@pytest.mark.parametrize(
    ("rows", "columns", "depth"), [(1, 1000, 34), (1, 24, 2), (5, 130, 64)]
)
@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
def test_matmul_widens_stored_weights(
    rows: int, columns: int, depth: int, target: Target
) -> None:
    a, b, bias = normal(rows, depth), halves(depth, columns), normal(columns)
    spec = MatmulSpec(rows, columns, depth, has_bias=True, widens=True)
    packed = pack_matmul_weights(b, spec, target)
    out = np.full((rows, columns), np.nan, np.float32)
    inputs = [a, packed, bias]
    (found,) = run_kernel(build_matmul(spec, target), [out], inputs, target)
    assert relative_error(found, exact(a) @ exact(b) + bias) < 4e-6
