"""Integer kernels of other machines, emulated, against NumPy, bit for bit."""

import numpy as np
import pytest
from support.kernels.emulated_kernels import run_emulated
from support.kernels.int8_cases import (
    CASES,
    DEPTHWISE,
    POOLS,
    check_convolution,
    check_depthwise,
    check_sum_pool,
)
from xdsl.dialects.builtin import i8

from glow.backends.cpu.kernels.matmul.matmul import build_matmul, pack_matmul_weights
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.tiling.int8_tile import SIGN
from glow.lowering.target.target import Target

TARGETS = ("neon", "neon-dotprod", "cortex-m4", "cortex-m3")


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("name", TARGETS)
def test_convolution_is_exact(name: str, case: str) -> None:
    target = Target.from_string(name)
    signed = TargetPacker(target).reads_signed_bytes
    check_convolution(CASES[case], target, run_emulated, signed=signed)


@pytest.mark.parametrize("case", sorted(DEPTHWISE))
@pytest.mark.parametrize("name", TARGETS)
def test_depthwise_convolution_is_exact(name: str, case: str) -> None:
    check_depthwise(DEPTHWISE[case], Target.from_string(name), run_emulated)


@pytest.mark.parametrize("name", TARGETS)
def test_sum_pool_is_exact(name: str) -> None:
    check_sum_pool(POOLS["global"], Target.from_string(name), run_emulated)


@pytest.mark.parametrize("shape", [(1, 10, 32), (3, 7, 8), (5, 17, 36), (1, 1, 4)])
@pytest.mark.parametrize("name", TARGETS)
def test_product_is_exact(name: str, shape: tuple[int, int, int]) -> None:
    (rows, columns, depth), target = shape, Target.from_string(name)
    signed = TargetPacker(target).reads_signed_bytes
    spec = MatmulSpec(
        rows, columns, depth, has_bias=True, element=i8, signed_input=signed
    )
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (rows, depth)).astype(np.uint8)
    w = random.integers(-128, 128, (depth, columns)).astype(np.int8)
    bias = random.integers(-99, 99, columns).astype(np.int32)
    expected = x.astype(np.int32) @ w.astype(np.int32) + bias
    if signed:
        bias = bias + SIGN * w.astype(np.int32).sum(0)
    (found,) = run_emulated(
        build_matmul(spec, target),
        [np.zeros((rows, columns), np.int32)],
        [x, pack_matmul_weights(w, spec, target), bias.astype(np.int32)],
        target,
    )
    np.testing.assert_array_equal(found, expected)
