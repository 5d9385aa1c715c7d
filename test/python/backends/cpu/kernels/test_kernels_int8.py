"""Integer kernels against NumPy, bit for bit, with and without dot-product instructions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from conv_testing import convolution, taps
from kernel_testing import run_kernel
from numpy.typing import NDArray
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.channelwise.int8_depthwise import (
    Int8DepthwiseSpec,
    build_int8_depthwise,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.channelwise.pool import PoolSpec, build_pool
from glow.backends.cpu.kernels.convolution.int8_conv2d import (
    Int8Conv2dSpec,
    build_int8_conv2d,
)
from glow.backends.cpu.kernels.convolution.weights import pack_conv_weights
from glow.backends.cpu.tiling.int8_tile import WORD, dot
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import PRESETS, Target, host_target
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


Array = NDArray[Any]


def to_blocks(x: Array, lanes: int) -> Array:
    """[N, C, H, W] as [N, C / lanes, H, W, lanes], something in the pad lanes."""
    batch, channels, *plane = x.shape
    blocks = -(-channels // lanes)
    padded = np.full((batch, blocks * lanes, *plane), 99, x.dtype)
    padded[:, :channels] = x
    split = padded.reshape(batch, blocks, lanes, *plane)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 4, 2))


def to_plain(x: Array, channels: int) -> Array:
    """[N, C / lanes, H, W, lanes] as [N, C, H, W]."""
    batch, blocks, height, width, lanes = x.shape
    joined = x.transpose(0, 1, 4, 2, 3)
    return joined.reshape(batch, blocks * lanes, height, width)[:, :channels]


@dataclass(frozen=True)
class Case:
    """An int8 convolution."""

    channels: tuple[int, int]
    window: Window
    batch: int = 1
    groups: int = 1
    zero_point: int = 0
    block_lanes: int = 0


SAME = (1, 1, 1, 1)
CASES = {
    "pointwise": Case((33, 17), Window((1, 1), (1, 1))),
    "whole tiles": Case((16, 32), Window((7, 9), (1, 1)), batch=3),
    "odd channels": Case((20, 24), Window((7, 9), (3, 3), pads=SAME), batch=2),
    "padded with a number": Case(
        (20, 24), Window((7, 9), (3, 3), pads=SAME), zero_point=128
    ),
    "first layer": Case(
        (3, 24),
        Window((9, 9), (3, 3), (2, 2), pads=SAME),
        zero_point=123,
        block_lanes=4,
    ),
    "groups, dilated": Case(
        (64, 64),
        Window((6, 6), (3, 3), dilations=(2, 2), pads=(2, 1, 2, 0)),
        groups=2,
        zero_point=7,
    ),
    "mostly padding": Case(
        (5, 1), Window((3, 3), (3, 3), pads=(2, 2, 2, 2)), zero_point=9
    ),
    "nothing but padding": Case(
        (3, 2), Window((1, 1), (2, 3), (3, 3), pads=(4, 4, 4, 4)), zero_point=255
    ),
}


DEPTHWISE = {
    "interior": Case((20, 20), Window((5, 6), (3, 3))),
    "strided": Case((33, 33), Window((8, 11), (3, 3), (2, 2), pads=SAME), batch=2),
    "padded with a number": Case(
        (16, 16), Window((7, 9), (3, 3), pads=SAME), zero_point=128
    ),
    "large": Case(
        (4, 4), Window((6, 6), (5, 5), pads=(2, 2, 2, 2)), zero_point=1, batch=3
    ),
    "dilated": Case(
        (7, 7),
        Window((5, 5), (3, 2), dilations=(2, 3), pads=(3, 4, 1, 2)),
        zero_point=9,
    ),
}


@pytest.mark.parametrize("case", sorted(DEPTHWISE))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_depthwise_convolution_is_exact(name: str, case: str) -> None:
    """Each channel with its own filter gives the sums of NumPy."""
    target, one = TARGETS[name], DEPTHWISE[case]
    window, lanes, channels = one.window, target.lanes(32), one.channels[0]
    planes = BlockedPlanes(one.batch, channels, window, lanes, i8)
    x, w, bias, expected = operands(one, channels)
    output = np.zeros(planes.output_type.get_shape(), np.int32)
    (sums,) = run_kernel(
        build_int8_depthwise(
            "depthwise", Int8DepthwiseSpec(planes, one.zero_point), target
        ),
        [output],
        [
            to_blocks(x, lanes),
            to_blocks(np.swapaxes(w, 0, 1), lanes)[0],
            to_blocks(bias, lanes).reshape(-1, lanes),
        ],
        target,
    )
    np.testing.assert_array_equal(to_plain(sums, channels), expected)


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_convolution_is_exact(name: str, case: str) -> None:
    check_convolution(CASES[case], TARGETS[name])


def operands(case: Case, groups: int) -> tuple[Array, Array, Array, Array]:
    """Random input, weights and bias, and the sums as the kernel defines them."""
    (inputs, outputs), random = case.channels, np.random.default_rng(0)
    shape = (case.batch, inputs, *case.window.input)
    x: Array = random.integers(0, 256, shape).astype(np.uint8)
    shape = (outputs, inputs // groups, *case.window.kernel)
    w: Array = random.integers(-128, 128, shape).astype(np.int8)
    bias = random.integers(-999, 999, (1, outputs, 1, 1)).astype(np.int32)
    centred: Array = x.astype(np.float64) - case.zero_point
    wide: Array = w.astype(np.float64)
    exact = convolution(centred, wide, case.window, groups)
    constant = case.zero_point * w.astype(np.int64).sum((1, 2, 3)).reshape(bias.shape)
    return x, w, bias, exact + constant + bias


def check_convolution(case: Case, target: Target) -> None:
    """The sums of random bytes are those of NumPy."""
    lanes, (inputs, outputs) = target.lanes(32), case.channels
    spec = Int8Conv2dSpec(
        case.batch,
        inputs,
        outputs,
        case.window,
        groups=case.groups,
        lanes=lanes,
        has_bias=True,
        block_lanes=case.block_lanes or lanes,
        zero_point=case.zero_point,
    )
    x, w, bias, expected = operands(case, case.groups)
    output = np.zeros(spec.output_type.get_shape(), np.int32)
    (sums,) = run_kernel(
        build_int8_conv2d("convolution", spec, target),
        [output],
        [
            to_blocks(x, spec.block_lanes),
            pack_conv_weights(w, spec, target),
            to_blocks(bias, lanes).reshape(-1, lanes),
        ],
        target,
    )
    np.testing.assert_array_equal(to_plain(sums, outputs), expected)


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
