"""Winograd convolutions against direct sums in float64, on many small shapes.

Inputs have NaN in their pad lanes. `run_kernel` also computes every kernel in parts, which must
not change a bit, and faults on accesses past the end of a buffer.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.conv_testing import LANES, TARGET, random, to_blocks, to_plain
from support.kernels.kernel_testing import relative_error, run_kernel
from support.kernels.winograd_testing import (
    ERROR,
    AddRelu,
    Array,
    convolution,
    inputs_of,
    weights_of,
)
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, f64
from xdsl.dialects.func import Func
from xdsl.dialects.scf import Scf
from xdsl.dialects.vector import Vector
from xdsl.parser import Parser

from glow.backends.cpu.kernels.convolution.conv2d import pack_channels
from glow.backends.cpu.kernels.winograd.kernel import (
    build_winograd_phase,
    winograd_phases,
)
from glow.backends.cpu.kernels.winograd.pixel_sizes import pixel_sizes_of
from glow.backends.cpu.kernels.winograd.spec import KERNELS, POINTS, WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import (
    choose_winograd_tiling,
)
from glow.backends.cpu.kernels.winograd.weights import (
    kernel_transform,
    pack_winograd_weights,
    unpack_winograd_weights,
)
from glow.backends.cpu.reference.winograd import largest_of_squares
from glow.backends.cpu.report.algorithms import WINOGRAD_LINES
from glow.dialects.arith import Arith
from glow.dialects.memref import MemRef
from glow.lowering.target.target import Target


def run(
    spec: WinogradSpec,
    x: Array,
    w: Array,
    epilogue: dict[str, list[Array]] | None = None,
    target: Target = TARGET,
) -> Array:
    """The output [N, OC, OH, OW] of all steps, each run whole and in parts."""
    tiling = choose_winograd_tiling(spec, target)
    packed = pack_winograd_weights(w, spec, target)
    assert packed.shape == (spec.packed_weights,)
    pixels = pixel_sizes_of(spec)
    buffers: dict[str, list[Array]] = {
        "sizes": [np.zeros(pixels.sizes_type.get_shape(), np.int32)],
        "factors": [np.ones(pixels.factors_type.get_shape(), x.dtype)],
        "output": [np.full(spec.output_type.get_shape(), np.inf, x.dtype)],
        "patches": [np.full(tiling.patches_type.get_shape(), np.nan, x.dtype)],
        "products": [np.full(tiling.products_type.get_shape(), np.nan, x.dtype)],
        "input": [to_blocks(x, spec.lanes)],
        "weights": [packed],
        **(epilogue or {}),
    }
    for phase in winograd_phases(spec, target):
        kernel = build_winograd_phase("kernel", phase, target)
        first, *rest = phase.operands
        inputs = [buffer for operand in rest for buffer in buffers[operand]]
        buffers[first] = run_kernel(kernel, buffers[first], inputs, target)
    return to_plain(buffers["output"][0], spec.out_channels)


SHAPES = {
    "5x5": WinogradSpec(1, 8, 16, (5, 5)),
    "5x9": WinogradSpec(1, 16, 16, (5, 9)),
    "7x7": WinogradSpec(1, 32, 48, (7, 7)),
    "13x13": WinogradSpec(1, 16, 32, (13, 13)),
    "14x14, batch": WinogradSpec(2, 16, 16, (14, 14)),
    "smallest": WinogradSpec(1, 3, 5, (4, 4)),
    "one channel": WinogradSpec(1, 1, 1, (6, 5)),
    "odd channels": WinogradSpec(1, 24, 40, (9, 11)),
    "uneven parts": WinogradSpec(1, 16, 72, (8, 8)),
    "no pads": WinogradSpec(1, 20, 16, (9, 14), (0, 0, 0, 0)),
    "pads above and left": WinogradSpec(1, 16, 16, (9, 10), (1, 1, 0, 0)),
    "pads below and right": WinogradSpec(2, 16, 16, (8, 7), (0, 0, 1, 1)),
    "28x28": WinogradSpec(1, 16, 16, (28, 28)),
    "55x55": WinogradSpec(1, 3, 16, (55, 55)),
    "rows in segments": WinogradSpec(1, 40, 24, (33, 230)),
    "images in blocks": WinogradSpec(3, 16, 16, (13, 30)),
    "few channels": WinogradSpec(1, 16, 40, (36, 56)),
    "groups": WinogradSpec(6, 20, 40, (9, 14), groups=3),
    "rows of groups": WinogradSpec(4, 16, 72, (34, 30), groups=2),
}


CASES = [
    (name, tile)
    for name, spec in SHAPES.items()
    for tile in ERROR
    if replace(spec, tile=tile).supported()
]


@pytest.mark.parametrize(("name", "tile"), CASES)
def test_winograd(name: str, tile: int) -> None:
    spec = replace(SHAPES[name], tile=tile, lanes=LANES)
    x, w = inputs_of(spec), weights_of(spec)
    actual = run(spec, x, w)
    assert relative_error(actual, convolution(x, w, spec)) < ERROR[tile]


LARGE_KERNELS = {
    "5x5": WinogradSpec(1, 8, 16, (5, 5), (2, 2, 2, 2)),
    "smallest": WinogradSpec(2, 20, 24, (2, 2), (2, 2, 2, 2)),
    "no pads": WinogradSpec(1, 16, 16, (9, 14), (0, 0, 0, 0)),
    "uneven pads": WinogradSpec(1, 16, 40, (8, 11), (2, 0, 1, 2)),
    "other uneven pads": WinogradSpec(2, 17, 16, (7, 6), (0, 1, 2, 1)),
    "27x27": WinogradSpec(1, 32, 48, (27, 27), (2, 2, 2, 2)),
}


@pytest.mark.parametrize(
    ("name", "kernel", "tile"),
    [
        *((name, kernel, 7 - kernel) for name in LARGE_KERNELS for kernel in (4, 5)),
        ("27x27", 5, 4),
    ],
)
def test_winograd_of_larger_kernels(name: str, kernel: int, tile: int) -> None:
    spec = replace(LARGE_KERNELS[name], tile=tile, kernel=kernel, lanes=LANES)
    x, w = inputs_of(spec), weights_of(spec)
    actual = run(spec, x, w)
    bound = ERROR[tile + kernel - 3]
    assert relative_error(actual, convolution(x, w, spec)) < bound
    plain = unpack_winograd_weights(
        pack_winograd_weights(w, spec, TARGET), spec, TARGET
    )
    np.testing.assert_allclose(plain, w, atol=1e-5)


LINES = {
    "a column": WinogradSpec(1, 20, 40, (40, 1), (2, 0, 0, 0), axes=(0,)),
    "blocks of columns": WinogradSpec(2, 20, 16, (130, 1), (1, 0, 1, 0), axes=(0,)),
    "columns": WinogradSpec(2, 16, 24, (17, 3), (1, 0, 1, 0), axes=(0,)),
    "wide columns": WinogradSpec(1, 24, 16, (8, 133), (0, 0, 1, 0), axes=(0,)),
    "columns in segments": WinogradSpec(1, 40, 40, (12, 131), (1, 0, 0, 0), axes=(0,)),
    "rows": WinogradSpec(2, 16, 40, (3, 19), (0, 1, 0, 1), axes=(1,)),
    "many rows": WinogradSpec(1, 17, 16, (33, 64), (0, 0, 0, 1), axes=(1,)),
    "rows in segments": WinogradSpec(1, 40, 24, (16, 230), (0, 1, 0, 0), axes=(1,)),
    "smallest": WinogradSpec(1, 3, 5, (8, 1), (0, 0, 0, 0), axes=(0,)),
    "groups": WinogradSpec(4, 16, 24, (32, 3), (1, 0, 1, 0), axes=(0,), groups=2),
}

LINE_ERROR = {4: 1e-6, 6: 4e-6, 8: 1e-5}
"""By the size of a patch; those of 8 are as exact as squares of 6."""


LINE_CASES = [
    *((name, 3, patch) for name in LINES for patch in LINE_ERROR),
    *(
        ("columns", kernel, patch)
        for kernel in KERNELS[1]
        for patch in LINE_ERROR
        if patch > kernel
    ),
]


@pytest.mark.parametrize(("name", "kernel", "patch"), LINE_CASES)
def test_winograd_of_one_axis(name: str, kernel: int, patch: int) -> None:
    spec = replace(LINES[name], lanes=LANES, kernel=kernel, tile=patch - kernel + 1)
    assert spec.supported()
    x, w = inputs_of(spec), weights_of(spec)
    actual = run(spec, x, w)
    assert relative_error(actual, convolution(x, w, spec)) < LINE_ERROR[patch]
    packed = pack_winograd_weights(w, spec, TARGET)
    plain = unpack_winograd_weights(packed, spec, TARGET)
    np.testing.assert_allclose(plain, w, atol=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_winograd_of_random_lines(seed: int) -> None:
    """Pads of up to a whole window but one, as convolutions have that read no later step."""
    draw = np.random.default_rng(seed)
    kernel, axis = int(draw.integers(2, 8)), int(draw.integers(2))
    patch = int(draw.choice([size for size in POINTS if size > kernel]))
    tile = patch - kernel + 1
    low, high = map(int, draw.integers(0, kernel, 2))
    plane = [int(size) for size in draw.integers(1, 40, 2)]
    plane[axis] += patch
    pads = [0, 0, 0, 0]
    pads[axis], pads[axis + 2] = low, high
    batch, inputs, outputs = (int(n) for n in draw.integers(1, (3, 50, 50)))
    spec = WinogradSpec(
        batch,
        inputs,
        outputs,
        tuple(plane),
        tuple(pads),
        tile,
        kernel,
        lanes=LANES,
        axes=(axis,),
    )
    x, w = inputs_of(spec), weights_of(spec)
    actual = run(spec, x, w)
    assert relative_error(actual, convolution(x, w, spec)) < LINE_ERROR[patch]


@pytest.mark.parametrize("name", ["columns", "rows", "columns in segments"])
def test_lines_with_bias_and_residual(name: str) -> None:
    spec = replace(LINES[name], lanes=LANES, has_bias=True, epilogue=AddRelu())
    x, w, bias = inputs_of(spec), weights_of(spec), random(spec.out_channels)
    residual = random(spec.batch, spec.out_channels, *spec.output_plane)
    epilogue: dict[str, list[Array]] = {
        "bias": [pack_channels(bias, LANES)],
        "epilogue_operands": [to_blocks(residual, LANES)],
    }
    expected = convolution(x, w, spec) + bias[:, None, None] + residual
    actual = run(spec, x, w, epilogue)
    assert relative_error(actual, np.maximum(expected, 0.0)) < LINE_ERROR[6]


@pytest.mark.parametrize("tile", ERROR)
@pytest.mark.parametrize("name", ["odd channels", "images in blocks"])
def test_winograd_with_bias_and_residual(name: str, tile: int) -> None:
    spec = replace(
        SHAPES[name], tile=tile, lanes=LANES, has_bias=True, epilogue=AddRelu()
    )
    x, w, bias = inputs_of(spec), weights_of(spec), random(spec.out_channels)
    residual = random(spec.batch, spec.out_channels, *spec.output_plane)
    epilogue: dict[str, list[Array]] = {
        "bias": [pack_channels(bias, LANES)],
        "epilogue_operands": [to_blocks(residual, LANES)],
    }
    expected = convolution(x, w, spec) + bias[:, None, None] + residual
    actual = run(spec, x, w, epilogue)
    assert relative_error(actual, np.maximum(expected, 0.0)) < ERROR[tile]


def test_groups_have_a_bias_of_their_own() -> None:
    spec = replace(SHAPES["groups"], lanes=LANES, has_bias=True, epilogue=AddRelu())
    x, w, bias = inputs_of(spec), weights_of(spec), random(3, spec.out_channels)
    residual = random(spec.batch, spec.out_channels, *spec.output_plane)
    epilogue: dict[str, list[Array]] = {
        "bias": [np.concatenate([pack_channels(group, LANES) for group in bias])],
        "epilogue_operands": [to_blocks(residual, LANES)],
    }
    added = np.concatenate([bias, bias])[..., None, None]
    expected = np.maximum(convolution(x, w, spec) + added + residual, 0.0)
    assert relative_error(run(spec, x, w, epilogue), expected) < ERROR[4]


POOLED = {
    "tiles that overlap": WinogradSpec(1, 24, 40, (10, 14), pool=2),
    "a tile, a square": WinogradSpec(2, 16, 16, (12, 8), pool=4),
    "no pads": WinogradSpec(2, 16, 20, (12, 10), (0, 0, 0, 0), pool=2),
    "small tiles": WinogradSpec(1, 17, 16, (6, 8), tile=2, pool=2),
    "large tiles": WinogradSpec(3, 16, 16, (8, 14), tile=6, pool=2),
    "squares of three": WinogradSpec(1, 16, 16, (9, 15), tile=6, pool=3),
    "5x5": WinogradSpec(1, 16, 16, (6, 6), (2, 2, 2, 2), tile=2, kernel=5, pool=2),
    "rows in blocks": WinogradSpec(2, 16, 16, (34, 30), pool=2),
    "rows in segments": WinogradSpec(1, 40, 24, (34, 230), pool=2),
}


@pytest.mark.parametrize("name", POOLED)
def test_winograd_with_a_pool(name: str) -> None:
    spec = replace(POOLED[name], lanes=LANES, has_bias=True, epilogue=AddRelu())
    x, w, bias = inputs_of(spec), weights_of(spec), random(spec.out_channels)
    sums = largest_of_squares(convolution(x, w, spec), spec.pool)
    residual = random(*sums.shape)
    epilogue: dict[str, list[Array]] = {
        "bias": [pack_channels(bias, LANES)],
        "epilogue_operands": [to_blocks(residual, LANES)],
    }
    actual = run(spec, x, w, epilogue)
    expected = np.maximum(sums + bias[:, None, None] + residual, 0.0)
    assert relative_error(actual, expected) < ERROR[spec.patch - 2]


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("fma_instruction", [True, False])
def test_winograd_for_other_vector_widths(lanes: int, fma_instruction: bool) -> None:
    target = replace(
        TARGET.with_core(vector_bytes=4 * lanes, vector_registers=16),
        fma_instruction=fma_instruction,
    )
    square = WinogradSpec(1, 20, 24, (7, 9), lanes=lanes)
    for spec in (square, replace(square, axes=(0,), pads=(2, 0, 0, 0), tile=4)):
        x, w = inputs_of(spec), weights_of(spec)
        actual = run(spec, x, w, target=target)
        assert relative_error(actual, convolution(x, w, spec)) < ERROR[4]


@pytest.mark.parametrize("tile", ERROR)
def test_winograd_in_double_precision(tile: int) -> None:
    lanes = TARGET.lanes(64)
    spec = WinogradSpec(1, 20, 24, (7, 9), tile=tile, lanes=lanes, element=f64)
    x, w = inputs_of(spec).astype(np.float64), weights_of(spec).astype(np.float64)
    assert relative_error(run(spec, x, w), convolution(x, w, spec)) < 2e-14


@pytest.mark.parametrize(("tile", "bound"), [(2, 2e-6), (4, 1e-5), (6, 1e-4)])
def test_error_stays_small_with_many_channels(tile: int, bound: float) -> None:
    spec = WinogradSpec(1, 512, 32, (9, 9), tile=tile, lanes=LANES)
    x, w = np.maximum(inputs_of(spec), 0), weights_of(spec)
    assert relative_error(run(spec, x, w), convolution(x, w, spec)) < bound


@pytest.mark.parametrize("patch", LINE_ERROR)
def test_error_of_lines_with_many_channels(patch: int) -> None:
    spec = replace(LINES["columns"], in_channels=512, lanes=LANES, tile=patch - 2)
    x, w = np.maximum(inputs_of(spec), 0), weights_of(spec)
    algorithm = WINOGRAD_LINES[spec.tile, spec.kernel]
    bound = algorithm.expected_error(spec.in_channels)
    assert relative_error(run(spec, x, w), convolution(x, w, spec)) < bound


def test_points_halve_the_error_of_the_usual_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = WinogradSpec(1, 64, LANES, (12, 12), lanes=LANES)
    x, w = inputs_of(spec), weights_of(spec)
    expected = convolution(x, w, spec)
    error = relative_error(run(spec, x, w), expected)
    monkeypatch.setitem(POINTS, 6, (1.0, 2.0))
    usual = relative_error(run(spec, x, w), expected)
    assert usual < 1e-4
    assert error < usual / 2


@pytest.mark.parametrize(("tile", "kernel"), [(2, 3), (4, 3), (2, 5), (6, 3)])
def test_kernel_transform_evaluates_at_the_points(tile: int, kernel: int) -> None:
    spec = WinogradSpec(1, 1, 1, (8, 8), tile=tile, kernel=kernel)
    transform = kernel_transform(spec)
    assert transform.shape == (spec.patch, kernel)
    points = [0.0, *(s * p for p in POINTS[spec.patch] for s in (1, -1))]
    for row, point in zip(transform, points, strict=False):
        np.testing.assert_allclose(row / row[0], point ** np.arange(kernel))


def test_kernels_read_back_as_printed() -> None:
    context = Context()
    for dialect in (Arith, Builtin, Func, MemRef, Scf, Vector):
        context.load_dialect(dialect)
    for name in ("uneven parts", "rows in segments"):
        spec = replace(SHAPES[name], lanes=LANES, has_bias=True, epilogue=AddRelu())
        for phase in winograd_phases(spec, TARGET):
            kernel = build_winograd_phase("kernel", phase, TARGET)
            text = str(ModuleOp([kernel.function]))
            module = Parser(context, text).parse_module()
            module.verify()
            assert str(module) == text
