"""How a Winograd convolution is cut, and when it pays: tiles, segments, shared kernels."""

from dataclasses import replace
from itertools import product
from math import gcd, prod

import numpy as np
import pytest
from support.kernels.conv_testing import LANES, TARGET, to_blocks, to_plain
from support.kernels.kernel_testing import guarded, relative_error, run_kernel
from support.kernels.winograd_testing import (
    ERROR,
    WIDE,
    AddRelu,
    convolution,
    inputs_of,
    weights_of,
)

from glow.backends.cpu.kernels.int8_winograd.spec import (
    Int8WinogradSpec,
    buffers_of,
    int8_winograd_tiling,
)
from glow.backends.cpu.kernels.winograd.cost import (
    choose_winograd,
    is_winograd_profitable,
)
from glow.backends.cpu.kernels.winograd.kernel import (
    WinogradPhase,
    build_winograd_phase,
    winograd_phases,
)
from glow.backends.cpu.kernels.winograd.pixel_sizes import pixel_sizes_of
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import (
    WinogradTiling,
    choose_winograd_tiling,
    winograd_tiling,
)
from glow.backends.cpu.kernels.winograd.weights import pack_winograd_weights
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import PRESETS, Target
from glow.runtime.testing import compile_function


def fused_tiling(spec: WinogradSpec) -> WinogradTiling:
    tiling = choose_winograd_tiling(spec, WIDE)
    assert tiling.fused
    return tiling


def test_large_planes_are_fused_and_big_weights_stream_by() -> None:
    small = fused_tiling(WinogradSpec(1, 64, 64, (56, 56)))
    assert small.block_rows * 14 == small.tiles
    wide = fused_tiling(WinogradSpec(1, 64, 64, (224, 224)))
    assert wide.segments > 1
    assert wide.regions <= 16
    big = choose_winograd_tiling(WinogradSpec(1, 512, 512, (28, 28)), WIDE)
    assert not big.fused
    assert (big.regions, big.tiles) == (1, 49)


def test_scratch_of_a_slice_fits_a_near_cache() -> None:
    for channels, plane in product((16, 64, 128, 256), (28, 56, 112, 224)):
        spec = WinogradSpec(1, channels, channels, (plane, plane))
        tiling = choose_winograd_tiling(spec, WIDE)
        blocks = spec.input_blocks + tiling.product_blocks
        elements = blocks * spec.lanes * spec.positions * tiling.tiles
        assert not tiling.fused or elements * 4 <= WIDE.l2_bytes * 3 // 4
        assert not tiling.fused or tiling.tiles % 7 == 0


@pytest.mark.parametrize("preset", ["avx2", "avx512", "neon"])
def test_seven_tile_rows_are_a_block_each_unless_weights_are_far(preset: str) -> None:
    target = PRESETS[preset]
    lanes = target.lanes(32)
    small = choose_winograd_tiling(
        WinogradSpec(1, 64, 64, (28, 28), lanes=lanes), target
    )
    assert (small.fused, small.block_rows, small.shared_blocks) == (True, 1, 7)
    assert (
        small.cycles_with_misses()
        < winograd_tiling(small.spec, target, 7).cycles_with_misses()
    )
    big = choose_winograd_tiling(
        WinogradSpec(1, 512, 512, (28, 28), lanes=lanes), target
    )
    assert not big.fused
    few = choose_winograd_tiling(WinogradSpec(1, 64, 64, (14, 14), lanes=lanes), target)
    assert not few.fused or few.shared_blocks >= 7


def test_products_of_few_channels_all_exist_before_any_is_transformed() -> None:
    few = fused_tiling(WinogradSpec(1, 16, 64, (55, 55)))
    assert few.keeps_products
    assert few.product_blocks == few.spec.output_blocks > few.parts[0].blocks
    many = fused_tiling(WinogradSpec(1, 64, 64, (56, 56)))
    assert not many.keeps_products
    assert many.product_blocks == many.parts[0].blocks < many.spec.output_blocks


@pytest.mark.parametrize("plane", [8, 14, 32, 55, 56, 64, 128, 256])
def test_positions_do_not_share_the_sets_of_a_cache(plane: int) -> None:
    for channels in ((16, 16), (64, 64), (256, 256)):
        tiling = choose_winograd_tiling(
            WinogradSpec(1, *channels, (plane, plane)), WIDE
        )
        places = tiling.patches_type.get_shape()[3]
        assert tiling.tiles <= places <= tiling.tiles + 1
        assert places % 16


@pytest.mark.parametrize("plane", [32, 64, 128, 256])
@pytest.mark.parametrize("target", ["znver5", "x86-64-v3"])
def test_positions_of_bytes_do_not_share_the_sets_of_a_cache(
    target: str, plane: int
) -> None:
    spec = Int8WinogradSpec(1, 64, 64, (plane, plane))
    machine = Target.from_string(target)
    spec = replace(spec, lanes=machine.lanes(32))
    scratch = buffers_of(int8_winograd_tiling(spec, machine))
    distance = machine.core.l1_set_distance
    for buffer, axis in ((scratch.patches, 1), (scratch.products, 2)):
        stride = prod(buffer.get_shape()[axis + 1 :]) * types.byte_width(
            buffer.element_type
        )
        assert gcd(stride, distance) < distance // 4


def test_blocks_are_small_where_weights_are_near() -> None:
    near = fused_tiling(WinogradSpec(1, 16, 32, (128, 128)))
    assert near.has_resident_weights
    assert near.block_rows == 1
    far = fused_tiling(WinogradSpec(1, 64, 64, (56, 56)))
    assert not far.has_resident_weights


@pytest.mark.parametrize(
    "spec",
    [
        WinogradSpec(1, 16, 16, (3, 9)),
        WinogradSpec(1, 16, 16, (5, 9), (0, 0, 0, 0)),
        WinogradSpec(1, 16, 16, (9, 9), (2, 1, 1, 1)),
        WinogradSpec(1, 16, 16, (9, 9), tile=3),
        WinogradSpec(1, 16, 16, (9, 9), (1, 1, 1, 1), axes=(0,)),
        WinogradSpec(1, 16, 16, (9, 9), (3, 0, 0, 0), axes=(0,)),
        WinogradSpec(1, 16, 16, (16, 16), (0, 0, 0, 0), pool=2, axes=(1,)),
    ],
)
def test_unsupported_specs_are_refused(spec: WinogradSpec) -> None:
    assert not spec.supported()
    assert not is_winograd_profitable(spec, TARGET)
    with pytest.raises(ValueError, match="Winograd convolution: needs"):
        build_winograd_phase("kernel", WinogradPhase("patches", spec, ()), TARGET)


@pytest.mark.parametrize(
    ("channels", "plane", "tile"),
    [
        ((64, 64), 56, 4),
        ((64, 64), 224, 4),
        ((128, 128), 28, 4),
        ((256, 256), 14, 4),
        ((512, 512), 28, 4),
        ((512, 512), 7, 2),
        ((3, 64), 224, None),
        ((8, 16), 28, None),
        ((64, 64), 5, None),
        ((64, 64), 3, None),
    ],
)
def test_choice_of_the_tile(
    channels: tuple[int, int], plane: int, tile: int | None
) -> None:
    """The choices that measurements of both kernels confirm."""
    chosen = choose_winograd(WinogradSpec(1, *channels, (plane, plane)), WIDE)
    assert (chosen and chosen.tile) == tile


@pytest.mark.parametrize(
    ("kernel", "plane", "tile"),
    [
        (3, (512, 1), 6),
        (3, (64, 8), 6),
        (3, (8, 64), 4),
        (3, (4, 128), 4),
        (5, (512, 1), 4),
        (2, (2048, 1), 7),
        (2, (4, 512), None),
        (3, (3, 170), None),
    ],
)
def test_choice_of_the_tile_of_lines(
    kernel: int, plane: tuple[int, int], tile: int | None
) -> None:
    """Patches of 8, unless the plane has fewer rows than such tiles fill well."""
    pads = (kernel - 1, 0, 0, 0)
    spec = WinogradSpec(1, 128, 128, plane, pads, kernel=kernel, axes=(0,))
    chosen = choose_winograd(spec, WIDE)
    assert (chosen and chosen.tile) == tile


@pytest.mark.parametrize(
    ("channels", "plane", "tile"), [(64, 224, 6), (64, 54, 6), (256, 14, 4)]
)
def test_fast_numerics_may_choose_a_larger_tile(
    channels: int, plane: int, tile: int
) -> None:
    spec = WinogradSpec(1, channels, channels, (plane, plane))
    chosen = choose_winograd(spec, WIDE, accurate=False)
    assert chosen is not None
    assert chosen.tile == tile


def test_packing_does_not_depend_on_bias_and_epilogue() -> None:
    spec = WinogradSpec(1, 20, 24, (7, 9))
    w = weights_of(spec)
    other = replace(spec, has_bias=True, epilogue=AddRelu())
    np.testing.assert_array_equal(
        pack_winograd_weights(w, spec, TARGET), pack_winograd_weights(w, other, TARGET)
    )


def test_phases_share_kernels_whatever_the_epilogue() -> None:
    plain = WinogradSpec(1, 512, 512, (14, 14))
    other = replace(plain, has_bias=True, epilogue=AddRelu())
    before, after = winograd_phases(plain, WIDE), winograd_phases(other, WIDE)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False]
    assert after[2].operands == ("output", "products", "bias", "epilogue_operands")


def test_segments_of_columns_are_work_items() -> None:
    """A plane of few rows of tiles has blocks enough for threads, and no tile is in two."""
    spec = WinogradSpec(1, 128, 128, (4, 128), (2, 0, 0, 0), axes=(0,), lanes=LANES)
    tiling = winograd_tiling(spec, TARGET, 1, 8, fused=True)
    (phase,) = winograd_phases(spec, TARGET, tiling)
    assert build_winograd_phase("kernel", phase, TARGET, tiling).work_items == 8
    assert tiling.regions == 8
    square = WinogradSpec(1, 128, 128, (56, 56), lanes=LANES)
    rows = winograd_tiling(square, TARGET, 1, 2, fused=True)
    assert rows.regions == rows.row_blocks


@pytest.mark.parametrize("target", ["avx2", "avx512", "neon"])
def test_no_segment_of_a_row_is_empty(target: str) -> None:
    """Of 49 tiles eight segments of 7 would be one too many, which began behind the row."""
    chosen, lanes = PRESETS[target], PRESETS[target].lanes(32)
    for rows, across in product((1, 2, 8), range(20, 120)):
        plane, pads = (6 * rows + 2, across), (0, 0, 0, 0)
        spec = WinogradSpec(1, 64, 64, plane, pads, 6, 3, lanes=lanes, axes=(0,))
        tiling = choose_winograd_tiling(spec, chosen)
        assert (tiling.segments - 1) * tiling.tiles_across < across


def test_concurrent_calls_do_not_share_scratch() -> None:
    """A call writes the scratch region of its first work item and no other."""
    spec = WinogradSpec(1, 16, 16, (32, 32), lanes=LANES)
    tiling = winograd_tiling(spec, TARGET, 1, fused=True)
    (phase,) = winograd_phases(spec, TARGET, tiling)
    written = ("output", "patches", "products", "sizes")
    assert phase.operands[: phase.writes] == written
    kernel = build_winograd_phase("kernel", phase, TARGET, tiling)
    assert kernel.work_items == tiling.regions == 8
    output = np.zeros(spec.output_type.get_shape(), np.float32)
    patches = np.full(tiling.patches_type.get_shape(), np.nan, np.float32)
    products = np.full(tiling.products_type.get_shape(), np.nan, np.float32)
    source = to_blocks(inputs_of(spec), LANES)
    packed = pack_winograd_weights(weights_of(spec), spec, TARGET)
    pixels = pixel_sizes_of(spec)
    sizes = np.full(pixels.sizes_type.get_shape(), -1, np.int32)
    factors = np.ones(pixels.factors_type.get_shape(), np.float32)
    arguments = map(guarded, (source, factors, packed))
    compile_function(kernel.function, target=TARGET)(
        output, patches, products, sizes, *arguments, 3, 6
    )
    measured = sizes.reshape(spec.plane)[:, 0] >= 0
    assert list(np.flatnonzero(measured)) == list(range(12, 24))
    for scratch in (patches, products):
        assert np.isfinite(scratch[3]).all()
        assert np.isnan(np.delete(scratch, 3, axis=0)).all()
    rows = np.abs(output).max(axis=(0, 1, 3, 4)) > 0
    assert list(np.flatnonzero(rows)) == list(range(12, 24))


@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 0, 0, 0)])
@pytest.mark.parametrize("segments", [1, 3])
def test_blocks_may_overlap(segments: int, pads: tuple[int, ...]) -> None:
    """Seven tile rows in blocks of two, five tiles across in three segments of two.

    Every pixel is measured.
    """
    plane = (28 - sum(pads) // 2, 20 - sum(pads) // 2)
    spec = WinogradSpec(2, 20, 16, plane, pads, lanes=LANES)
    tiling = winograd_tiling(
        spec, TARGET, 1 if segments > 1 else 2, segments, fused=True
    )
    (phase,) = winograd_phases(spec, TARGET, tiling)
    kernel = build_winograd_phase("kernel", phase, TARGET, tiling)
    x, w = inputs_of(spec), weights_of(spec)
    scratch = [
        np.zeros(type_.get_shape(), np.float32)
        for type_ in (tiling.patches_type, tiling.products_type)
    ]
    packed = pack_winograd_weights(w, spec, TARGET)
    output = np.full(spec.output_type.get_shape(), np.inf, np.float32)
    pixels = pixel_sizes_of(spec)
    factors = np.exp2(np.arange(spec.input_blocks * LANES) % 7).astype(np.float32)
    sizes = guarded(np.full(pixels.sizes_type.get_shape(), -1, np.int32))
    rest = [to_blocks(x, LANES), factors.reshape(-1, LANES), packed]
    (output,) = run_kernel(kernel, [output], [*scratch, sizes, *rest])
    whole = [*map(guarded, [output, *scratch]), sizes, *map(guarded, rest)]
    compile_function(kernel.function, target=TARGET)(*whole, 0, kernel.work_items)
    largest = np.abs(x * factors[:20, None, None]).max(1).view(np.int32)
    np.testing.assert_array_equal(sizes.reshape(largest.shape), largest)
    expected = convolution(x, w, spec)
    assert relative_error(to_plain(output, 16), expected) < ERROR[4]
