"""Integer kernels against NumPy, bit for bit, with and without dot-product instructions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.kernels.conv_testing import taps
from support.kernels.int8_cases import (
    CASES,
    DEPTHWISE,
    POOLS,
    SAME,
    WINOGRAD,
    Array,
    check_convolution,
    check_depthwise,
    check_sum_pool,
    check_winograd,
    to_blocks,
    to_plain,
)
from support.kernels.kernel_testing import run_kernel
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.channelwise.pool import PoolSpec, build_pool
from glow.backends.cpu.kernels.int8_winograd.kernel import build_int8_winograd
from glow.backends.cpu.kernels.int8_winograd.spec import FORMS, Int8WinogradSpec
from glow.backends.cpu.kernels.int8_winograd.weights import largest_sum
from glow.backends.cpu.kernels.matmul.matmul import build_matmul, pack_matmul_weights
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.tiling.int8_tile import WORD, dot, product_step
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import PRESETS, host_target
from glow.runtime.testing import compile_function

HOST = host_target()
TARGETS = {
    "host": HOST,
    "host without dot products": replace(HOST, byte_dot="none"),
    **{
        name: replace(PRESETS[name], triple=HOST.triple)
        for name in ("avx2", "scalar")
        if PRESETS[name].vector_bytes <= HOST.vector_bytes
    },
    "small loops": replace(HOST, for_size=True),
    "no x86": replace(PRESETS["scalar"], triple=HOST.triple.replace("x86_64", "amd64")),
}
"""Machines that the host can play; the last one takes no instruction of x86."""


@pytest.mark.parametrize("name", sorted(TARGETS))
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_dot_is_exact(name: str, lanes: int) -> None:
    """Products of the largest bytes do not saturate, and sums wrap."""
    target, rows, blocks = TARGETS[name], 3, 2
    b = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        sums, bytes_, weights = buffers
        shape = (rows, blocks, lanes)
        total = dot(
            b,
            b.transfer_read(bytes_, (0, 0), (rows, WORD), (0, 1)),
            b.transfer_read(weights, (0, 0, 0), (*shape[1:], WORD), (0, 1, 2)),
            b.transfer_read(sums, (0, 0, 0), shape, (0, 1, 2)),
        )
        b.transfer_write(total, sums, (0, 0, 0), (0, 1, 2))

    shapes = ((rows, blocks, lanes), (rows, WORD), (blocks, lanes, WORD))
    elements = (i32, i8, i8)
    buffers = [types.memref_type(*pair) for pair in zip(shapes, elements, strict=True)]
    function = b.function("dot", buffers, body)
    random = np.random.default_rng(0)
    x = random.integers(0, 256, shapes[1]).astype(np.uint8)
    w = random.integers(-128, 128, shapes[2]).astype(np.int8)
    x[0], w[0, :2] = 255, [[-128] * WORD, [127] * WORD]
    sums = random.integers(-(2**31), 2**31, shapes[0]).astype(np.int32)
    exact = np.einsum("mk,nlk->mnl", x.astype(np.int64), w.astype(np.int64))
    expected = (sums + exact).astype(np.int32)
    compile_function(function, target=target)(sums, x, w, 0, 1)
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("name", sorted(TARGETS))
@pytest.mark.parametrize("step", [1, 2])
def test_lanes_with_factors_of_their_own(name: str, step: int) -> None:
    """Pixels that overlap in memory, and pixels apart."""
    target, pixels = TARGETS[name], 3
    lanes, b = target.lanes(32), LoopBuilder(target)
    length = step * (pixels - 1) + WORD

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        sums, bytes_, weights = buffers
        strides = (step * lanes, lanes, 1)
        view = b.reinterpret(bytes_, (pixels, WORD, lanes), strides)
        x = b.transfer_read(view, (0, 0, 0), (pixels, WORD, lanes), (0, 1, 2))
        w = b.transfer_read(weights, (0, 0), (lanes, WORD), (0, 1))
        total = b.contract_lanes(
            b.cast(arith.ExtUIOp, x, i32),
            b.cast(arith.ExtSIOp, w, i32),
            b.transfer_read(sums, (0, 0), (pixels, lanes), (0, 1)),
        )
        b.transfer_write(total, sums, (0, 0), (0, 1))

    shapes = ((pixels, lanes), (length, lanes), (lanes, WORD))
    elements = (i32, i8, i8)
    buffers = [types.memref_type(*pair) for pair in zip(shapes, elements, strict=True)]
    function = b.function("lanes", buffers, body)
    random = np.random.default_rng(0)
    x = random.integers(0, 256, shapes[1]).astype(np.uint8)
    w = random.integers(-128, 128, shapes[2]).astype(np.int8)
    sums = random.integers(-99, 99, shapes[0]).astype(np.int32)
    windows = np.stack([x[step * p : step * p + WORD] for p in range(pixels)])
    expected = sums + np.einsum("mkl,lk->ml", windows.astype(int), w.astype(int))
    compile_function(function, target=target)(sums, x, w, 0, 1)
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("case", sorted(DEPTHWISE))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_depthwise_convolution_is_exact(name: str, case: str) -> None:
    check_depthwise(DEPTHWISE[case], TARGETS[name], run_kernel)


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_convolution_is_exact(name: str, case: str) -> None:
    check_convolution(CASES[case], TARGETS[name], run_kernel)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 4), (1, 70, 12), (9, 21, 8), (33, 40, 60)])
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_product_with_constant_weights_is_exact(
    name: str, sizes: tuple[int, int, int], wide: bool
) -> None:
    """Of rows of bytes, which may be stored as 16-bit integers, by one row or several."""
    (rows, columns, depth), target = sizes, TARGETS[name]
    step = product_step(depth, target, wide=wide)
    spec = MatmulSpec(
        rows, columns, depth, has_bias=True, element=i8, step=step, wide_input=wide
    )
    random = np.random.default_rng(0)
    a = random.integers(0, 256, (rows, depth))
    b = random.integers(-128, 128, (depth, columns)).astype(np.int8)
    bias = random.integers(-999, 999, columns).astype(np.int32)
    (found,) = run_kernel(
        build_matmul(spec, target),
        [np.zeros(rows * columns, np.int32)],
        [
            a.reshape(-1).astype(np.int16 if wide else np.uint8),
            pack_matmul_weights(b, spec, target),
            bias,
        ],
        target,
    )
    expected = a @ b.astype(np.int64) + bias
    np.testing.assert_array_equal(found.reshape(rows, columns), expected)


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_convolution_of_16_bit_integers_is_exact(name: str, case: str) -> None:
    check_convolution(CASES[case], TARGETS[name], run_kernel, form="wide")


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_convolution_of_signed_bytes_is_exact(name: str) -> None:
    """Bytes read as signed ones, 128 lower, for instructions that take no others."""
    case = CASES["padded with a number"]
    check_convolution(case, TARGETS[name], run_kernel, signed=True)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("case", sorted(CASES))
def test_borders_have_a_bias_of_their_own(case: str, signed: bool) -> None:
    check_convolution(CASES[case], HOST, run_kernel, signed=signed, borders=True)


@pytest.mark.parametrize("tile", sorted(FORMS))
@pytest.mark.parametrize("case", sorted(WINOGRAD))
def test_winograd_is_exact(case: str, tile: int) -> None:
    """On vectors of four lanes, as WebAssembly has them."""
    check_winograd(replace(WINOGRAD[case], tile=tile), TARGETS["scalar"], run_kernel)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_winograd_of_targets(name: str) -> None:
    check_winograd(WINOGRAD["odd planes and channels"], TARGETS[name], run_kernel)


@pytest.mark.parametrize("zero_point", [0, 255])
@pytest.mark.parametrize("fill", [(255, -128), (255, 127), (0, -128)])
def test_winograd_is_exact_of_the_largest_sums(
    fill: tuple[int, int], zero_point: int
) -> None:
    """114 channels of the largest bytes are the most that tiles of four may sum up."""
    spec = Int8WinogradSpec(1, 114, 5, (5, 6), zero_point=zero_point)
    largest = np.full((1, 114, 3, 3), -128, np.int8)
    assert largest_sum(largest) < FORMS[4].limit
    assert largest_sum(np.repeat(largest, 2, 1)) >= FORMS[4].limit
    check_winograd(spec, TARGETS["scalar"], run_kernel, fill)


def test_winograd_needs_a_plane_for_its_tile() -> None:
    spec = Int8WinogradSpec(1, 16, 16, (3, 8), lanes=4)
    with pytest.raises(ValueError, match="needs small pads and a tile"):
        build_int8_winograd("winograd", spec, HOST)


@pytest.mark.parametrize("unsigned", [True, False])
def test_max_pool_of_bytes(unsigned: bool) -> None:
    """Padding never wins."""
    window = Window((6, 9), (3, 3), (2, 2), pads=SAME)
    lanes, dtype = HOST.lanes(32), np.uint8 if unsigned else np.int8
    limits = np.iinfo(dtype)
    random = np.random.default_rng(0)
    x: Array = random.integers(limits.min, limits.max + 1, (2, 20, 6, 9)).astype(dtype)
    planes = BlockedPlanes(2, 20, window, lanes, i8)
    output = np.zeros(planes.output_type.get_shape(), dtype)
    kernel = build_pool("pool", PoolSpec(planes, "max", unsigned=unsigned), HOST)
    (found,) = run_kernel(kernel, [output], [to_blocks(x, lanes)])
    expected = taps(x, window, limits.min).max(axis=(0, 1))
    np.testing.assert_array_equal(to_plain(found, 20), expected)


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize("case", sorted(POOLS))
def test_sum_pool_is_exact(case: str, unsigned: bool) -> None:
    check_sum_pool(POOLS[case], HOST, run_kernel, unsigned=unsigned)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_sum_pool_of_targets(name: str) -> None:
    check_sum_pool(POOLS["global"], TARGETS[name], run_kernel)
    check_sum_pool(POOLS["beyond the padding"], TARGETS[name], run_kernel)
