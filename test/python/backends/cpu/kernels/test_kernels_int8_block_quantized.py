"""Rows that are quantized block by block, and their products with weights of a few bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, run_kernel
from test_kernels_block_quantized import SCALE_AND_ADD, random_weights

from glow.backends.cpu.dialect.config import MatmulConfig
from glow.backends.cpu.kernels.matmul.block_quantized import build_block_quantized
from glow.backends.cpu.kernels.matmul.block_quantized_spec import (
    BlockFormat,
    BlockQuantizedSpec,
)
from glow.backends.cpu.kernels.matmul.block_quantized_weights import (
    BlockWeights,
    pack_block_quantized,
    unpack_block_quantized,
)
from glow.backends.cpu.kernels.quantization.block_quantize import (
    BlockQuantizeSpec,
    build_block_quantize,
)
from glow.backends.cpu.reference.block_quantized import multiply_add
from glow.lowering.target.target import PRESETS, Target

Array = np.ndarray
FORMATS = [
    BlockFormat(4, 32),
    BlockFormat(4, 16, True),
    BlockFormat(8, 16),
    BlockFormat(8, 256, True),
    BlockFormat(2, 32, True),
]
SHAPES = [(1, 1, 32), (1, 200, 96), (3, 33, 64), (9, 130, 48), (40, 17, 80)]


def quantized(x: Array, size: int) -> tuple[Array, Array, Array]:
    """Bytes, scales and sums of rows by NumPy, one block after the other."""
    stored, scales, sums = [], [], []
    for start in range(0, x.shape[1], size):
        block = x[:, start : start + size]
        scale = np.abs(block).max(1, keepdims=True) / np.float32(127)
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num(np.rint(block / scale))
        stored.append(ratio.astype(np.int8))
        scales.append(scale)
        sums.append(ratio.sum(1, keepdims=True))
    return tuple(np.concatenate(k, 1) for k in (stored, scales, sums))


def reference(rows: Array, scales: Array, held: BlockWeights) -> Array:
    """The product in the order of the kernel: a block after the other, rounded once."""
    size, middle = held.format.size, held.format.middle
    points = np.full(held.scales.shape, middle) if held.points is None else held.points
    codes = held.codes - np.repeat(points.astype(np.int64), size, 0)[: len(held.codes)]
    total = np.zeros((len(rows), codes.shape[1]), np.float32)
    for block, factor in enumerate(held.scales):
        part = slice(block * size, (block + 1) * size)
        sums = (rows[:, part].astype(np.int64) @ codes[part]).astype(np.float32)
        total = multiply_add(sums, scales[:, block, None] * factor, total)
    return total


def product(
    x: Array,
    held: BlockWeights,
    config: MatmulConfig | None = None,
    target: Target = TARGET,
) -> Array:
    """What the kernel gives for rows of floats; whole and in parts it is the same."""
    (depth, columns), rows = held.codes.shape, len(x)
    spec = BlockQuantizedSpec(
        rows, columns, depth, held.format, int8_rows=True, config=config
    )
    packed = pack_block_quantized(held, spec, target)
    stored, scales, sums = quantized(x, held.format.size)
    out = np.full((rows, columns), np.nan, np.float32)
    kernel = build_block_quantized(spec, target)
    inputs = [scales, sums.astype(np.float32), stored, packed]
    return run_kernel(kernel, [out], inputs, target)[0]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("rows", "columns", "depth"), SHAPES)
def test_products_have_the_bits_of_the_reference(
    rows: int, columns: int, depth: int, form: BlockFormat
) -> None:
    depth += -depth % form.codes
    held, _ = random_weights(depth, columns, form)
    x = normal(rows, depth)
    stored, scales, _ = quantized(x, form.size)
    np.testing.assert_array_equal(product(x, held), reference(stored, scales, held))


@pytest.mark.parametrize("name", ["avx2", "avx512"])
def test_other_instructions_have_the_same_bits(name: str) -> None:
    preset = PRESETS[name]
    has_dot = preset.byte_dot in ("none", TARGET.byte_dot)
    is_wide = preset.vector_bytes > TARGET.vector_bytes
    if not TARGET.is_x86 or is_wide or not has_dot:
        pytest.skip(f"this machine does not run {name}")
    held, _ = random_weights(72, 37, BlockFormat(4, 16, True))
    x = normal(5, 72)
    stored, scales, _ = quantized(x, 16)
    found = product(x, held, target=PRESETS[name])
    np.testing.assert_array_equal(found, reference(stored, scales, held))


def test_weights_come_back_from_their_order() -> None:
    for form in FORMATS:
        held, floats = random_weights(96, 50, form)
        spec = BlockQuantizedSpec(3, 50, 96, form, int8_rows=True)
        packed = pack_block_quantized(held, spec, TARGET)
        found = unpack_block_quantized(packed, spec, TARGET)
        scales = np.repeat(found[96:], form.size, 0)[:96]
        np.testing.assert_array_equal(found[:96] * scales, floats)


def test_bias_and_epilogue() -> None:
    form = BlockFormat(4, 32)
    held, _ = random_weights(64, 50, form)
    x, bias, residual, channel = normal(7, 64), normal(50), normal(7, 50), normal(50)
    spec = BlockQuantizedSpec(7, 50, 64, form, True, SCALE_AND_ADD, int8_rows=True)
    packed = pack_block_quantized(held, spec, TARGET)
    stored, scales, sums = quantized(x, 32)
    out = np.full((7, 50), np.nan, np.float32)
    inputs = [scales, sums.astype(np.float32), stored, packed, bias, residual, channel]
    (found,) = run_kernel(build_block_quantized(spec, TARGET), [out], inputs)
    total = reference(stored, scales, held) + bias
    np.testing.assert_allclose(found, total * channel + residual, 1e-5, 1e-5)


@pytest.mark.parametrize("rows", [1, 5, 14])
def test_tiles_change_no_bit(rows: int) -> None:
    held, _ = random_weights(80, 70, BlockFormat(4, 32, True))
    x = normal(rows, 80)
    spec = BlockQuantizedSpec(rows, 70, 80, held.format, int8_rows=True)
    expected = product(x, held)
    for tile in spec.tiles(TARGET)[::3]:
        config = MatmulConfig(tile.rows, tile.blocks)
        assert replace(spec, config=config).wrong_config(TARGET) is None
        np.testing.assert_array_equal(product(x, held, config), expected)


@pytest.mark.parametrize(
    ("rows", "extent", "size"), [(1, 32, 32), (3, 200, 32), (2, 7, 16), (5, 300, 128)]
)
def test_rows_become_bytes(rows: int, extent: int, size: int) -> None:
    """Blocks that are cut short, of zeros, of the least numbers."""
    x = normal(rows, extent)
    x[0, : min(size, extent)] = 0
    x[-1, -1] = 1e-42
    spec = BlockQuantizeSpec(rows, extent, size)
    expected = quantized(x, size)
    outputs = [np.zeros((rows, extent), np.int8)]
    outputs += [np.full((rows, spec.blocks), np.nan, np.float32) for _ in range(2)]
    found = run_kernel(build_block_quantize(spec, TARGET), outputs, [x])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_a_block_with_what_is_no_number_is_no_number(number: float) -> None:
    x = normal(2, 64)
    x[1, 40] = number
    spec = BlockQuantizeSpec(2, 64, 32)
    outputs = [np.ones((2, 64), np.int8), *np.ones((2, 2, 2), np.float32)]
    stored, scales, sums = run_kernel(build_block_quantize(spec, TARGET), outputs, [x])
    assert np.isnan(scales[1, 1])
    assert np.isfinite(scales).sum() == 3
    assert not stored[1, 32:].any()
    assert sums[1, 1] == 0


def test_multiply_add_rounds_once() -> None:
    """The product is halfway between two floats; what is added decides, and f64 loses it."""
    factor, least = np.float32(4097), np.float32(2.0**-40)
    for addend, expected in ((least, 16785410), (-least, 16785408)):
        found = multiply_add(*(np.array([k]) for k in (factor, factor, addend)))
        assert found[0] == expected
    for number in (np.inf, np.nan):
        found = multiply_add(*(np.array([k], np.float32) for k in (number, 1, 1)))
        np.testing.assert_array_equal(found, [number])
