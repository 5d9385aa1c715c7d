"""Convolution, pooling and layout kernels against NumPy on many small shapes.

Inputs have NaN in their pad lanes. `run_kernel` also computes every kernel in parts, which must
not change a bit, and faults on accesses past the end of a buffer.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.conv_testing import (
    LANES,
    SAME,
    TARGET,
    AddScaleRelu,
    Array,
    assert_close,
    conv_inputs,
    convolution,
    pack_depthwise_weights,
    random,
    run,
    taps,
    to_blocks,
    to_plain,
)
from support.kernels.kernel_testing import run_kernel
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, f64
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import Scf
from xdsl.dialects.vector import Vector
from xdsl.parser import Parser

from glow.backends.cpu.kernels.channelwise.depthwise import (
    DepthwiseSpec,
    build_depthwise,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.channelwise.pool import PoolSpec, build_pool
from glow.backends.cpu.kernels.convolution.conv2d import (
    Conv2dSpec,
    build_conv2d,
    conv_tiling,
    pack_channels,
    pack_conv_weights,
)
from glow.backends.cpu.kernels.convolution.conv2d_config import choose_conv_config
from glow.backends.cpu.kernels.convolution.direct_conv import (
    DirectConvSpec,
    build_direct_conv,
)
from glow.backends.cpu.kernels.movement.pack import PackSpec, build_pack, build_unpack
from glow.dialects.arith import Arith
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Window

CONVOLUTIONS = {
    "tiles of images": Conv2dSpec(9, 32, 40, Window((2, 2), (3, 3), pads=SAME)),
    "tiles of images, strided": Conv2dSpec(
        17, 20, 48, Window((5, 4), (3, 3), (2, 2), pads=SAME)
    ),
    "1x1": Conv2dSpec(1, 16, 32, Window((5, 7), (1, 1))),
    "1x1 prime plane, batch": Conv2dSpec(2, 24, 100, Window((1, 13), (1, 1))),
    "1x1 one pixel": Conv2dSpec(1, 40, 20, Window((1, 1), (1, 1))),
    "1x1 strided": Conv2dSpec(1, 20, 40, Window((7, 9), (1, 1), (2, 2))),
    "1x1 padded": Conv2dSpec(1, 16, 16, Window((3, 4), (1, 1), pads=(1, 0, 2, 1))),
    "3x3": Conv2dSpec(1, 32, 48, Window((13, 13), (3, 3), pads=SAME)),
    "3x3 no pads": Conv2dSpec(1, 3, 20, Window((9, 33), (3, 3))),
    "3x3 one pixel": Conv2dSpec(1, 8, 8, Window((1, 1), (3, 3), pads=SAME)),
    "3x3 two pixels": Conv2dSpec(1, 1, 3, Window((2, 1), (3, 3), pads=SAME)),
    "3x3 odd channels, batch": Conv2dSpec(2, 20, 24, Window((5, 7), (3, 3), pads=SAME)),
    "3x3 one channel": Conv2dSpec(1, 1, 1, Window((6, 5), (3, 3), pads=SAME)),
    "3x3 strided, asymmetric": Conv2dSpec(
        2, 40, 24, Window((13, 12), (3, 3), (2, 2), pads=(0, 1, 2, 1))
    ),
    "3x3 dilated": Conv2dSpec(
        1, 40, 40, Window((9, 11), (3, 3), dilations=(2, 2), pads=(2, 2, 2, 2))
    ),
    "3x3 dilated beyond the image": Conv2dSpec(
        1, 8, 8, Window((5, 5), (3, 3), dilations=(6, 6), pads=(6, 6, 6, 6))
    ),
    "3x3 dilated, runs of one row": Conv2dSpec(
        1, 24, 40, Window((9, 20), (3, 3), dilations=(6, 6), pads=(6, 6, 6, 6))
    ),
    "5x3 uneven everything": Conv2dSpec(
        1, 24, 40, Window((14, 9), (5, 3), (3, 1), (1, 2), (4, 0, 1, 2))
    ),
    "4x4 even kernel": Conv2dSpec(1, 16, 16, Window((8, 8), (4, 4), (2, 2), pads=SAME)),
    "1x7": Conv2dSpec(1, 16, 32, Window((9, 17), (1, 7), pads=(0, 3, 0, 3))),
    "groups": Conv2dSpec(
        2, 2 * LANES, 4 * LANES, Window((6, 7), (3, 3), pads=SAME), groups=2
    ),
    "stem": Conv2dSpec(
        2, 3, 20, Window((21, 23), (7, 7), (2, 2), pads=(3, 3, 3, 3)), plain_input=True
    ),
    "stem, no pads": Conv2dSpec(1, 1, 40, Window((12, 40), (5, 5)), plain_input=True),
}


def run_conv(spec: Conv2dSpec, x: Array, w: Array, *more: Array) -> Array:
    packed = pack_conv_weights(w, spec, TARGET)
    assert packed.shape == (spec.packed_weights,)
    source = x if spec.plain_input else to_blocks(x)
    kernel = build_conv2d("kernel", spec, TARGET)
    output = run(kernel, spec.output_type.get_shape(), source, packed, *more)
    return to_plain(output, spec.out_channels)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_conv2d(name: str) -> None:
    spec = replace(CONVOLUTIONS[name], lanes=LANES)
    x, w = conv_inputs(spec)
    expected = convolution(x, w, spec.window, spec.groups)
    assert_close(run_conv(spec, x, w), expected)


@pytest.mark.parametrize("name", ["1x1", "3x3 odd channels, batch", "groups", "stem"])
def test_conv2d_with_bias_and_epilogue(name: str) -> None:
    spec = replace(
        CONVOLUTIONS[name], lanes=LANES, has_bias=True, epilogue=AddScaleRelu()
    )
    x, w = conv_inputs(spec)
    bias, scale = random(2, spec.out_channels)
    residual = random(spec.batch, spec.out_channels, *spec.window.output)
    epilogue_operands = (
        to_blocks(residual),
        pack_channels(scale, LANES),
        np.float32([0.5]),
    )
    actual = run_conv(spec, x, w, pack_channels(bias, LANES), *epilogue_operands)
    total = convolution(x, w, spec.window, spec.groups) + bias[:, None, None] + residual
    assert_close(actual, np.maximum(total * scale[:, None, None] + 0.5, 0.0))


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("fma_instruction", [True, False])
def test_conv2d_for_other_vector_widths(lanes: int, fma_instruction: bool) -> None:
    target = replace(
        TARGET.with_core(vector_bytes=4 * lanes, vector_registers=16),
        fma_instruction=fma_instruction,
    )
    spec = Conv2dSpec(1, 20, 24, Window((5, 7), (3, 3), pads=SAME), lanes=lanes)
    x, w = conv_inputs(spec)
    packed = pack_conv_weights(w, spec, target)
    kernel = build_conv2d("kernel", spec, target)
    output = run(kernel, spec.output_type.get_shape(), to_blocks(x, lanes), packed)
    assert_close(to_plain(output, 24), convolution(x, w, spec.window, 1))


def test_conv2d_in_double_precision() -> None:
    window = Window((5, 7), (3, 3), pads=SAME)
    spec = Conv2dSpec(1, 20, 24, window, lanes=TARGET.lanes(64), element=f64)
    x, w = conv_inputs(spec)
    packed = pack_conv_weights(w.astype(np.float64), spec, TARGET)
    source = to_blocks(x, spec.lanes).astype(np.float64)
    output = np.full(spec.output_type.get_shape(), np.inf)
    kernel = build_conv2d("kernel", spec, TARGET)
    (output,) = run_kernel(kernel, [output], [source, packed])
    expected = convolution(x, w, spec.window, 1)
    np.testing.assert_allclose(to_plain(output, 24), expected, rtol=1e-11, atol=1e-11)


def test_conv2d_does_not_compute_taps_in_the_padding() -> None:
    """Infinite weights on taps that always fall into the padding do no harm."""
    spec = Conv2dSpec(1, 1, 1, Window((1, 1), (3, 3), pads=SAME), lanes=LANES)
    x, w = conv_inputs(spec)
    w[:, :, [0, 2]] = np.inf
    w[:, :, :, [0, 2]] = np.inf
    assert run_conv(spec, x, w).item() == np.float32(x.item() * w[0, 0, 1, 1])


def test_small_planes_have_tiles_of_images() -> None:
    specs = [CONVOLUTIONS[name] for name in CONVOLUTIONS if "images" in name]
    assert specs
    assert all(choose_conv_config(spec, TARGET).images for spec in specs)
    alone = replace(specs[0], batch=1)
    assert not choose_conv_config(alone, TARGET).images


def test_conv2d_refuses_groups_that_split_blocks() -> None:
    spec = Conv2dSpec(1, 6, 6, Window((4, 4), (3, 3)), groups=3, lanes=LANES)
    assert not spec.supported()
    with pytest.raises(ValueError, match="groups must be whole blocks"):
        build_conv2d("kernel", spec, TARGET)


def test_conv_tiles_fit_the_registers_and_divide_the_line() -> None:
    spec = Conv2dSpec(1, 64, 64, Window((56, 56), (3, 3), pads=SAME))
    target = TARGET.with_core(vector_bytes=64, vector_registers=32)
    tiling = conv_tiling(spec, target)
    for part, pixels in zip(tiling.parts, tiling.config.pixels, strict=True):
        assert pixels * part.blocks + part.blocks + 1 <= 32
        assert pixels * part.blocks >= 8
        assert 56 % pixels == 0


@pytest.mark.parametrize("kernel", [(3, 3), (1, 7), (5, 5)])
@pytest.mark.parametrize(
    ("plane", "strides"), [((13, 13), (1, 1)), ((5, 7), (2, 2)), ((1, 1), (1, 1))]
)
def test_depthwise(
    kernel: tuple[int, int], plane: tuple[int, int], strides: tuple[int, int]
) -> None:
    top, left = kernel[0] // 2, kernel[1] // 2
    window = Window(plane, kernel, strides, pads=(top, left, top, left))
    spec = DepthwiseSpec(BlockedPlanes(2, 20, window, LANES), has_bias=True)
    x, w, bias = random(2, 20, *plane), random(20, 1, *kernel), random(20)
    inputs = (
        to_blocks(x),
        pack_depthwise_weights(w, spec.planes),
        pack_channels(bias, LANES),
    )
    kernel_ = build_depthwise("kernel", spec, TARGET)
    output = run(kernel_, spec.planes.output_type.get_shape(), *inputs)
    expected = convolution(x, w, window, 20) + bias[:, None, None]
    assert_close(to_plain(output, 20), expected)


def test_depthwise_uneven_with_epilogue() -> None:
    window = Window((14, 9), (5, 3), (2, 1), (1, 2), (4, 0, 1, 2))
    planes = BlockedPlanes(1, 24, window, LANES)
    spec = DepthwiseSpec(planes, epilogue=AddScaleRelu())
    x, w, scale = random(1, 24, 14, 9), random(24, 1, 5, 3), random(24)
    residual = random(1, 24, *window.output)
    output = run(
        build_depthwise("kernel", spec, TARGET),
        planes.output_type.get_shape(),
        to_blocks(x),
        pack_depthwise_weights(w, planes),
        to_blocks(residual),
        pack_channels(scale, LANES),
        np.float32([0.5]),
    )
    total = convolution(x, w, window, 24) + residual
    expected = np.maximum(total * scale[:, None, None] + 0.5, 0.0)
    assert_close(to_plain(output, 24), expected)


POOL_WINDOWS = [
    Window((13, 13), (3, 3), (2, 2), pads=SAME),
    Window((6, 7), (2, 2), (2, 2)),
    Window((5, 7), (3, 2), (1, 1), (2, 1), (2, 0, 2, 1)),
    # ceil_mode: the last windows hang over the edge.
    Window((6, 6), (3, 3), (2, 2), output_size=(3, 3)),
    Window((7, 8), (2, 3), (2, 2), pads=(0, 1, 0, 0), output_size=(4, 4)),
]


def run_pool(spec: PoolSpec, x: Array) -> Array:
    planes = spec.planes
    kernel = build_pool("kernel", spec, TARGET)
    output = run(kernel, planes.output_type.get_shape(), to_blocks(x))
    return to_plain(output, planes.channels)


@pytest.mark.parametrize("window", POOL_WINDOWS)
def test_max_pool(window: Window) -> None:
    x = random(2, 20, *window.input)
    x[0, 3, 2, 2] = np.nan
    x[1, 0, 4, 4] = -np.inf
    actual = run_pool(PoolSpec(BlockedPlanes(2, 20, window, LANES), "max"), x)
    expected = taps(x, window, -np.inf).max((0, 1))
    np.testing.assert_array_equal(actual, expected.astype(np.float32))


@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize("window", POOL_WINDOWS)
def test_average_pool(window: Window, count_include_pad: bool) -> None:
    x = random(2, 20, *window.input)
    spec = PoolSpec(BlockedPlanes(2, 20, window, LANES), "average", count_include_pad)
    counted = np.ones((1, 1, *window.input), np.float32)
    if count_include_pad:
        top, left, bottom, right = window.pads
        counted = np.pad(
            counted, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=1
        )
        around = replace(
            window,
            input=counted.shape[2:],
            pads=(0, 0, 0, 0),
            output_size=window.output,
        )
    else:
        around = window
    counts = taps(counted, around, 0.0).sum((0, 1))
    expected = taps(x, window, 0.0).sum((0, 1)) / counts
    assert_close(run_pool(spec, x), expected)


@pytest.mark.parametrize("plane", [(1, 1), (7, 7), (3, 5)])
def test_global_average_pool(plane: tuple[int, int]) -> None:
    x = random(2, 20, *plane)
    planes = BlockedPlanes(2, 20, Window(plane, plane), LANES)
    spec = PoolSpec(planes, "average")
    assert spec.is_global_average
    kernel = build_pool("kernel", spec, TARGET)
    output = run(kernel, (2, planes.blocks, 1, 1, LANES), to_blocks(x))
    expected = x.mean((2, 3), keepdims=True, dtype=np.float64)
    assert_close(to_plain(output, 20), expected)


@pytest.mark.parametrize("plane", [(1, 1), (5, 7), (4, 4), (13, 13)])
@pytest.mark.parametrize("channels", [1, 3, 16, 20, 40])
def test_pack_and_unpack(channels: int, plane: tuple[int, int]) -> None:
    spec = PackSpec(2, channels, plane, LANES)
    x = random(2, channels, *plane)
    kernel = build_pack("kernel", spec, TARGET)
    blocked = run(kernel, spec.blocked_type.get_shape(), x)
    np.testing.assert_array_equal(to_plain(blocked, channels), x)
    kernel = build_unpack("kernel", spec, TARGET)
    np.testing.assert_array_equal(run(kernel, x.shape, to_blocks(x)), x)


DIRECT_CONVOLUTIONS = {
    "groups of two": DirectConvSpec(2, 6, 9, Window((5, 7), (3, 3), pads=SAME), 3),
    "multiplier": DirectConvSpec(
        1, 4, 8, Window((13, 40), (3, 3), (2, 2), pads=(0, 1, 2, 1)), 4
    ),
    "stride three": DirectConvSpec(
        1, 1, 3, Window((20, 80), (5, 3), (3, 3), (1, 2), (4, 0, 1, 2))
    ),
    "one pixel": DirectConvSpec(1, 3, 5, Window((1, 1), (3, 3), pads=SAME)),
    "1x1 groups": DirectConvSpec(2, 30, 60, Window((7, 7), (1, 1)), 3),
    "1x1 strided": DirectConvSpec(1, 2, 2, Window((6, 50), (1, 1), (1, 2)), 2),
    "wide": DirectConvSpec(1, 8, 8, Window((6, 70), (3, 3), pads=SAME), 2),
}


@pytest.mark.parametrize("name", DIRECT_CONVOLUTIONS)
def test_direct_conv(name: str) -> None:
    spec = replace(DIRECT_CONVOLUTIONS[name], has_bias=True, epilogue=AddScaleRelu())
    window, outputs = spec.window, spec.out_channels
    x = random(spec.batch, spec.in_channels, *window.input)
    w = random(outputs, spec.group_inputs, *window.kernel)
    bias, scale = random(2, outputs)
    residual = random(spec.batch, outputs, *window.output)
    inputs = (x, w, bias, residual, scale, np.float32([0.5]))
    actual = run(build_direct_conv("kernel", spec, TARGET), residual.shape, *inputs)
    total = convolution(x, w, window, spec.groups) + bias[:, None, None] + residual
    assert_close(actual, np.maximum(total * scale[:, None, None] + 0.5, 0.0))


def one_of_each() -> list[Kernel]:
    """A kernel of each builder."""
    window = Window((7, 9), (3, 3), (2, 2), pads=SAME)
    planes = BlockedPlanes(1, 20, window, LANES)
    layout = PackSpec(1, 20, (5, 7), LANES)
    conv = replace(CONVOLUTIONS["stem"], lanes=LANES, epilogue=AddScaleRelu())
    return [
        build_conv2d("kernel", conv, TARGET),
        build_direct_conv("kernel", DIRECT_CONVOLUTIONS["multiplier"], TARGET),
        build_depthwise("kernel", DepthwiseSpec(planes), TARGET),
        build_pool("kernel", PoolSpec(planes, "max"), TARGET),
        build_pool("kernel", PoolSpec(planes, "average"), TARGET),
        build_pack("kernel", layout, TARGET),
        build_unpack("kernel", layout, TARGET),
    ]


def test_kernels_read_back_as_printed() -> None:
    context = Context()
    for dialect in (Arith, Builtin, Func, MemRef, Scf, Vector):
        context.load_dialect(dialect)
    for kernel in one_of_each():
        text = str(ModuleOp([kernel.function]))
        module = Parser(context, text).parse_module()
        module.verify()
        assert str(module) == text
