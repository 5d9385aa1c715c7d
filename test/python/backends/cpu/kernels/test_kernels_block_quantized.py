"""Products with weights of a few bits, against NumPy in float64 on the weights as floats."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, relative_error, run_kernel
from xdsl.dialects.builtin import f32

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
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target.target import PRESETS, Target

Array = np.ndarray

SCALE_AND_ADD = RegionEpilogue(
    ScalarRegion.trace(lambda b, x, r, c: b.addf(b.mulf(x, c), r), [f32] * 3),
    ("full", "channel"),
)


def random_weights(
    depth: int, columns: int, form: BlockFormat, seed: int = 0
) -> tuple[BlockWeights, Array]:
    """Weights of a form, and the floats that they are."""
    rng = np.random.default_rng(seed)
    blocks = -(-depth // form.size)
    codes = rng.integers(0, 1 << form.bits, (depth, columns), np.uint8)
    scales = rng.normal(size=(blocks, columns)).astype(np.float32)
    points = rng.integers(0, 1 << form.bits, (blocks, columns), np.uint8)
    held = BlockWeights(form, codes, scales, points if form.has_points else None)
    zero = points if form.has_points else np.full(scales.shape, form.middle)
    spread = [np.repeat(part, form.size, 0)[:depth] for part in (zero, scales)]
    return held, (codes.astype(np.float32) - spread[0].astype(np.float32)) * spread[1]


def floats_of(packed: Array, spec: BlockQuantizedSpec, target: Target) -> Array:
    """The weights in a packed array."""
    found = unpack_block_quantized(packed, spec, target)
    codes, scales = found[: spec.depth], found[spec.depth :]
    return codes * np.repeat(scales, spec.format.size, 0)[: spec.depth]


def product(
    a: Array, held: BlockWeights, config: MatmulConfig | None, target: Target = TARGET
) -> Array:
    """What the kernel gives; whole and in parts it is the same."""
    (depth, columns), rows = held.codes.shape, len(a)
    spec = BlockQuantizedSpec(rows, columns, depth, held.format, config=config)
    packed = pack_block_quantized(held, spec, target)
    out = np.full((rows, columns), np.nan, np.float32)
    (found,) = run_kernel(
        build_block_quantized(spec, target), [out], [a, packed], target
    )
    return found


FORMATS = [
    BlockFormat(4, 32),
    BlockFormat(4, 16, True),
    BlockFormat(8, 16),
    BlockFormat(8, 64, True),
    BlockFormat(2, 16),
    BlockFormat(2, 32, True),
    BlockFormat(4, 8),
]
SHAPES = [(1, 1, 8), (1, 200, 96), (2, 33, 64), (3, 64, 40), (9, 130, 48), (40, 17, 80)]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("rows", "columns", "depth"), SHAPES)
def test_products_are_those_of_the_floats(
    rows: int, columns: int, depth: int, form: BlockFormat
) -> None:
    """Columns that fill no register, and last blocks that are cut short."""
    depth += -depth % form.codes
    held, floats = random_weights(depth, columns, form)
    a = normal(rows, depth)
    spec = BlockQuantizedSpec(rows, columns, depth, form)
    packed = pack_block_quantized(held, spec, TARGET)
    np.testing.assert_array_equal(floats_of(packed, spec, TARGET), floats)
    found = product(a, held, None)
    assert relative_error(found, a.astype(np.float64) @ floats) < 2e-6


@pytest.mark.parametrize("name", ["scalar", "avx2", "avx512", "neon"])
def test_every_target_packs_what_it_reads(name: str) -> None:
    target, form = PRESETS[name], BlockFormat(4, 16, True)
    held, floats = random_weights(72, 83, form)
    for rows in (1, 7):
        spec = BlockQuantizedSpec(rows, 83, 72, form)
        packed = pack_block_quantized(held, spec, target)
        found = floats_of(packed, spec, target)
        np.testing.assert_array_equal(found, floats)
        build_block_quantized(spec, target).function.verify()


@pytest.mark.parametrize("name", ["scalar", "avx2"])
@pytest.mark.parametrize("rows", [1, 6])
def test_targets_that_this_machine_runs(name: str, rows: int) -> None:
    if name == "avx2" and not (TARGET.is_x86 and TARGET.fma_instruction):
        pytest.skip("this machine has no AVX2")
    held, floats = random_weights(48, 37, BlockFormat(4, 32))
    a = normal(rows, 48)
    found = product(a, held, None, PRESETS[name])
    assert relative_error(found, a.astype(np.float64) @ floats) < 2e-6


def test_bias_and_epilogue() -> None:
    form = BlockFormat(4, 32)
    for rows in (1, 23):
        held, floats = random_weights(64, 50, form)
        a, bias = normal(rows, 64), normal(50)
        residual, channel = normal(rows, 50), normal(50)
        spec = BlockQuantizedSpec(rows, 50, 64, form, True, SCALE_AND_ADD)
        packed = pack_block_quantized(held, spec, TARGET)
        out = np.full((rows, 50), np.nan, np.float32)
        kernel = build_block_quantized(spec, TARGET)
        (found,) = run_kernel(kernel, [out], [a, packed, bias, residual, channel])
        exact = (a.astype(np.float64) @ floats + bias) * channel + residual
        assert relative_error(found, exact) < 2e-6


@pytest.mark.parametrize("rows", [1, 5, 14])
def test_tiles_change_no_bit(rows: int) -> None:
    held, _ = random_weights(80, 70, BlockFormat(4, 32, True))
    a = normal(rows, 80)
    spec = BlockQuantizedSpec(rows, 70, 80, held.format)
    expected = product(a, held, None)
    for tile in spec.tiles(TARGET)[::3]:
        config = MatmulConfig(tile.rows, tile.blocks)
        assert replace(spec, config=config).wrong_config(TARGET) is None
        np.testing.assert_array_equal(product(a, held, config), expected)


def test_more_weights_than_the_stack_holds() -> None:
    """Several panels of blocks, and more rows than have sums at once."""
    form = BlockFormat(4, 32)
    held, floats = random_weights(3 * 1024 + 40, 33, form)
    a = normal(70, len(floats))
    spec = BlockQuantizedSpec(70, 33, len(floats), form, config=MatmulConfig(4, 2))
    assert spec.blocks_of_panel(TARGET) * 2 < spec.quantized_blocks
    found = product(a, held, spec.config)
    assert relative_error(found, a.astype(np.float64) @ floats) < 2e-6


def test_nothing_overflows_that_need_not() -> None:
    """Before they are scaled, sums of a block are no larger than the largest number of A."""
    form = BlockFormat(8, 64)
    held, floats = random_weights(64, 16, form)
    small = replace(held, scales=held.scales * np.float32(1e-6))
    a = np.full((1, 64), 3e38, np.float32)
    found = product(a, small, None)
    exact = a.astype(np.float64) @ (floats.astype(np.float64) * 1e-6)
    assert relative_error(found, exact) < 1e-5


@pytest.mark.parametrize("name", ["int4", "uint4", "int8", "uint8", "int2", "uint2"])
@pytest.mark.parametrize("has_points", [False, True])
def test_integers_with_and_without_a_sign(name: str, has_points: bool) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    bits = int(name.lstrip("uint"))
    every = np.arange(1 << bits, dtype=np.uint8)
    codes = np.resize(every, (64, 3)).view(dtype)
    points = np.resize(every[::-1], (2, 3)).view(dtype) if has_points else None
    scales = normal(2, 3)
    held = BlockWeights.of(codes, scales, points, 32)
    assert held.format.has_points == (has_points or name.startswith("u"))
    spec = BlockQuantizedSpec(1, 3, 64, held.format)
    found = floats_of(pack_block_quantized(held, spec, TARGET), spec, TARGET)
    zero = np.zeros((2, 3)) if points is None else points.astype(np.float64)
    exact = codes.astype(np.float64) - np.repeat(zero, 32, 0)
    np.testing.assert_allclose(found, exact * np.repeat(scales, 32, 0), 1e-7)


@pytest.mark.parametrize(("depth", "size"), [(1104, 512), (1104, 1200), (520, 768)])
def test_large_blocks_are_several(depth: int, size: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 16, (depth, 5), np.uint8).view(ml_dtypes.uint4)
    shape = (-(-depth // size), 5)
    points = rng.integers(0, 16, shape, np.uint8).view(ml_dtypes.uint4)
    scales = normal(*shape)
    held = BlockWeights.of(codes, scales, points, size)
    assert held.format == BlockFormat(4, 256, True)
    spread = [
        np.repeat(k.astype(np.float32), size, 0)[:depth] for k in (points, scales)
    ]
    floats = (codes.astype(np.float32) - spread[0]) * spread[1]
    a = normal(1, depth)
    assert relative_error(product(a, held, None), a.astype(np.float64) @ floats) < 2e-6


def test_small_code_keeps_off_the_stack() -> None:
    held, floats = random_weights(64, 20, BlockFormat(4, 32))
    a, target = normal(9, 64), replace(PRESETS["scalar"], for_size=True)
    found = product(a, held, MatmulConfig(2, 2), target)
    assert relative_error(found, a.astype(np.float64) @ floats) < 2e-6


def test_what_the_kernel_cannot_read() -> None:
    assert "the largest have 256" in str(BlockFormat(4, 264).wrong(528))
    assert "both must be multiples of the 8" in str(BlockFormat(4, 32).wrong(36))
    assert "both must be multiples of the 8" in str(BlockFormat(4, 12).wrong(48))
    assert "there are 2, 4, 8" in str(BlockFormat(3, 32).wrong(64))
    with pytest.raises(ValueError, match="multiples"):
        BlockQuantizedSpec(1, 1, 36, BlockFormat(4, 32))
    tall = BlockQuantizedSpec(
        90, 64, 64, BlockFormat(4, 32), config=MatmulConfig(60, 2)
    )
    assert "allow 1 to" in str(tall.wrong_config(TARGET))
    streams = replace(tall, config=MatmulConfig(1, 4, streams=2))
    assert "more than rows and blocks" in str(streams.wrong_config(TARGET))
