"""How a Winograd convolution is cut, and when it pays: tiles, segments, shared kernels."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.kernels.conv_testing import TARGET
from support.kernels.winograd_testing import WIDE, AddRelu, weights_of

from glow.backends.cpu.kernels.winograd.cost import (
    choose_winograd,
    is_winograd_profitable,
)
from glow.backends.cpu.kernels.winograd.kernel import (
    WinogradPhase,
    build_winograd_phase,
    winograd_phases,
)
from glow.backends.cpu.kernels.winograd.spec import (
    POINTS,
    WinogradSpec,
    WinogradTiling,
    choose_winograd_tiling,
)
from glow.backends.cpu.kernels.winograd.weights import pack_winograd_weights


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
        assert not tiling.fused or tiling.tiles % 14 == 0


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
    ("channels", "plane", "tile"), [(64, 224, 6), (64, 54, 6), (256, 14, 4)]
)
def test_fast_numerics_may_choose_a_larger_tile(
    channels: int, plane: int, tile: int
) -> None:
    spec = WinogradSpec(1, channels, channels, (plane, plane))
    chosen = choose_winograd(spec, WIDE, max(POINTS))
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
