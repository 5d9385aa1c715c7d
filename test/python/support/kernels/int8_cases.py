"""Int8 convolutions of every kind, and their kernels against NumPy."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.kernels.conv_testing import convolution, taps
from xdsl.dialects.builtin import i8

from glow.backends.cpu.dialect.config import DepthwiseConfig
from glow.backends.cpu.kernels.channelwise.int8_depthwise import (
    Int8DepthwiseSpec,
    build_int8_depthwise,
)
from glow.backends.cpu.kernels.channelwise.int8_sum_pool import (
    Int8SumPoolSpec,
    build_int8_sum_pool,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.convolution.matrix_conv2d import build_int8_convolution
from glow.backends.cpu.kernels.convolution.matrix_conv_plan import (
    matrix_conv_config,
    pack_int8_conv_weights,
)
from glow.backends.cpu.kernels.int8_winograd.kernel import build_int8_winograd
from glow.backends.cpu.kernels.int8_winograd.spec import (
    Int8WinogradSpec,
    buffers_of,
    int8_winograd_tiling,
)
from glow.backends.cpu.kernels.int8_winograd.weights import pack, unpack
from glow.backends.cpu.tiling.int8_tile import PAIR, SIGN, WORD
from glow.lowering.loop_builder.border import BorderClasses
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target

Run = Callable[..., Any]
"""`run(kernel, outputs, inputs, target)`: what the kernel leaves in its outputs."""

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
    "dilated, runs of rows": Case(
        (33, 40),
        Window((9, 20), (3, 3), dilations=(6, 6), pads=(6, 6, 6, 6)),
        zero_point=5,
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
    "dilated, runs of rows": Case(
        (20, 20),
        Window((9, 20), (3, 3), dilations=(6, 6), pads=(6, 6, 6, 6)),
        zero_point=5,
    ),
}


POOLS = {
    "global": Case((33, 33), Window((7, 5), (7, 5)), batch=2, zero_point=3),
    "few pixels": Case((4, 4), Window((1, 2), (1, 2))),
    "beyond the padding": Case(
        (20, 20), Window((6, 9), (3, 3), (2, 2), output_size=(3, 5)), zero_point=128
    ),
    **{name: DEPTHWISE[name] for name in ("interior", "strided", "large", "dilated")},
}


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


def check_convolution(
    case: Case,
    target: Target,
    run: Run,
    *,
    signed: bool = False,
    borders: bool = False,
    form: str = "bytes",
) -> None:
    """The sums of random bytes are those of NumPy.

    `borders`: with a bias for each class of places at a border, which counts the padding.
    `form`: "matrix" for matrix tiles, "wide" for bytes that are stored as 16-bit integers.
    """
    lanes, (inputs, outputs) = max(4, target.lanes(32)), case.channels
    wide = form == "wide"
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
        signed_input=signed,
        wide_input=wide,
        step=PAIR if wide else WORD,
    )
    x, w, bias, expected = operands(case, case.groups)
    output = np.zeros(spec.output_type.get_shape(), np.int32)
    lower, sums = SIGN if signed else 0, w.astype(np.int32).sum(1)
    bias = bias + lower * sums.sum((1, 2)).reshape(bias.shape)
    if borders:
        inside = BorderClasses(case.window).taps()
        padding = np.tensordot(~inside, sums, ([1, 2], [1, 2]))[:, :, None, None]
        bias = bias + (case.zero_point - lower) * padding
        spec = replace(spec, borders=len(inside))
    if form == "matrix":
        spec = replace(spec, config=matrix_conv_config(spec))
    bias = to_blocks(bias.astype(np.int32), lanes).reshape(-1, lanes)
    packed = pack_int8_conv_weights(w, spec, target)
    (sums,) = run(
        build_int8_convolution("convolution", spec, target),
        [output],
        [
            to_blocks(x, spec.block_lanes).astype(np.int16 if wide else np.uint8),
            packed,
            bias,
        ],
        target,
    )
    np.testing.assert_array_equal(to_plain(sums, outputs), expected)


WINOGRAD = {
    "whole tiles": Int8WinogradSpec(1, 16, 16, (8, 8)),
    "odd planes and channels": Int8WinogradSpec(2, 21, 7, (7, 9), zero_point=131),
    "some pads": Int8WinogradSpec(2, 5, 33, (6, 11), (0, 1, 1, 0), zero_point=255),
    "no pads": Int8WinogradSpec(1, 40, 24, (9, 6), (0, 0, 0, 0), zero_point=3),
    "one tile": Int8WinogradSpec(1, 16, 40, (4, 4)),
    "segments of rows": Int8WinogradSpec(1, 96, 4, (6, 39), zero_point=1),
}
"""Of tiles of 4 x 4; those of 2 x 2 cover the same planes."""


def check_winograd(
    spec: Int8WinogradSpec,
    target: Target,
    run: Run,
    fill: tuple[int, int] | None = None,
) -> None:
    """The sums of random bytes are those of NumPy; or those of two numbers everywhere, which are
    input and weight.
    """
    lanes = max(4, target.lanes(32))
    spec = replace(spec, lanes=lanes, has_bias=True)
    window = Window(spec.plane, (3, 3), pads=spec.pads)
    case = Case(
        (spec.in_channels, spec.out_channels), window, spec.batch, 1, spec.zero_point
    )
    x, w, bias, expected = operands(case, 1)
    if fill is not None:
        x[...], w[...] = fill
        centred, wide = x.astype(np.float64) - case.zero_point, w.astype(np.float64)
        constant = case.zero_point * wide.sum((1, 2, 3)).reshape(bias.shape)
        expected = convolution(centred, wide, window, 1) + constant + bias
    packed = pack(w, spec, target)
    np.testing.assert_array_equal(unpack(packed.array(), spec, target), w)
    scratch = buffers_of(int8_winograd_tiling(spec, target))
    sums, *_ = run(
        build_int8_winograd("winograd", spec, target),
        [np.zeros(spec.output_type.get_shape(), np.int32)],
        [
            # Scratch memory, of which each work item has a part.
            np.zeros(scratch.patches.get_shape(), np.int16),
            np.zeros(scratch.products.get_shape(), np.int32),
            to_blocks(x, lanes),
            packed.array(),
            to_blocks(bias, lanes).reshape(-1, lanes),
        ],
        target,
    )
    np.testing.assert_array_equal(to_plain(sums, spec.out_channels), expected)


def check_depthwise(one: Case, target: Target, run: Run) -> None:
    """Each channel with its own filter gives the sums of NumPy."""
    window, lanes, channels = one.window, target.lanes(32), one.channels[0]
    config = DepthwiseConfig(1, by_pixel=True) if target.for_size else None
    planes = BlockedPlanes(one.batch, channels, window, lanes, i8, config)
    x, w, bias, expected = operands(one, channels)
    output = np.zeros(planes.output_type.get_shape(), np.int32)
    (sums,) = run(
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


def check_sum_pool(
    case: Case, target: Target, run: Run, *, unsigned: bool = True
) -> None:
    """The sums of windows less the zero points are those of NumPy."""
    window, lanes, channels = case.window, target.lanes(32), case.channels[0]
    config = DepthwiseConfig(1, by_pixel=True) if target.for_size else None
    planes = BlockedPlanes(case.batch, channels, window, lanes, i8, config)
    dtype = np.uint8 if unsigned else np.int8
    limits, random = np.iinfo(dtype), np.random.default_rng(0)
    shape = (case.batch, channels, *window.input)
    x: Array = random.integers(limits.min, limits.max + 1, shape).astype(dtype)
    spec = Int8SumPoolSpec(planes, case.zero_point, unsigned)
    (found,) = run(
        build_int8_sum_pool("sums", spec, target),
        [np.zeros(planes.output_type.get_shape(), np.int32)],
        [to_blocks(x, lanes)],
        target,
    )
    centred = x.astype(np.int32) - case.zero_point
    expected = taps(centred, window, 0).sum(axis=(0, 1))
    np.testing.assert_array_equal(to_plain(found, channels), expected)
