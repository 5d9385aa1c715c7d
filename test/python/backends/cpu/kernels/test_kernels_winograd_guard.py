"""The guard of Winograd convolutions: sizes of pixels, and direct sums for tiles that need them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.conv_testing import LANES, TARGET, to_blocks, to_plain
from support.kernels.kernel_testing import normal, run_kernel
from support.kernels.winograd_testing import AddRelu, convolution, inputs_of, weights_of

from glow.backends.cpu.kernels.convolution.conv2d import pack_channels
from glow.backends.cpu.kernels.winograd.bounds import channel_factors
from glow.backends.cpu.kernels.winograd.direct import (
    WinogradDirectSpec,
    build_winograd_direct,
)
from glow.backends.cpu.kernels.winograd.pixel_sizes import (
    PixelSizesSpec,
    build_pixel_sizes,
)
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.weights import pack_winograd_weights
from glow.backends.cpu.reference.winograd import largest_of_squares
from glow.lowering.loop_builder.magnitudes import INFINITY

UNTOUCHED = 12345.0


def sizes_of(
    x: np.ndarray, factors: np.ndarray, lanes: int, groups: int = 1
) -> np.ndarray:
    """The sizes [N, H, W] of the pixels of [N, C, H, W], by the kernel."""
    batch, channels, height, width = x.shape
    spec = PixelSizesSpec(batch, channels, height * width, lanes, groups)
    kernel = build_pixel_sizes(spec, TARGET)
    out = np.full((batch, height * width), -1, np.int32)
    (found,) = run_kernel(kernel, [out], [to_blocks(x, lanes), factors])
    return found.reshape(batch, height, width)


@pytest.mark.parametrize("lanes", [4, LANES])
@pytest.mark.parametrize("channels", [1, 16, 24, 40])
@pytest.mark.parametrize("plane", [(4, 4), (3, 5), (7, 9), (2, 1)])
def test_sizes_of_pixels(plane: tuple[int, int], channels: int, lanes: int) -> None:
    """Pad lanes hold NaN, which do not count."""
    x = normal(2, channels, *plane)
    factors = np.exp2(np.arange(-(-channels // lanes) * lanes) % 7).astype(np.float32)
    expected = np.abs(x * factors[:channels, None, None]).max(1).view(np.int32)
    found = sizes_of(x, factors.reshape(-1, lanes), lanes)
    np.testing.assert_array_equal(found, expected)


def test_sizes_of_groups() -> None:
    x, scales = normal(4, 20, 5, 7), np.float32([[1], [64]]).repeat(20, 1)
    factors = np.ones((2, -(-20 // LANES) * LANES), np.float32)
    factors[:, :20] = scales
    of_images = np.concatenate([scales, scales])[..., None, None]
    expected = np.abs(x * of_images).max(1).view(np.int32)
    found = sizes_of(x, factors.reshape(-1, LANES), LANES, 2)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_sizes_of_what_is_not_finite(wrong: float) -> None:
    x = normal(1, 20, 5, 5)
    x[0, 17, 2, 3] = wrong
    found = sizes_of(x, np.ones((-(-20 // LANES), LANES), np.float32), LANES)
    expected = np.zeros((1, 5, 5), bool)
    expected[0, 2, 3] = True
    np.testing.assert_array_equal(found >= INFINITY, expected)


SPECS = {
    "tiles that overlap": WinogradSpec(1, 20, 40, (9, 11), has_bias=True),
    "small tiles": WinogradSpec(1, 16, 24, (7, 6), tile=2),
    "large tiles": WinogradSpec(1, 24, 16, (13, 9), tile=6),
    "no pads": WinogradSpec(1, 16, 16, (9, 14), (0, 0, 0, 0)),
    "uneven pads": WinogradSpec(1, 16, 40, (8, 11), (2, 0, 1, 2), tile=2, kernel=5),
    "4x4": WinogradSpec(1, 18, 16, (10, 9), (2, 1, 1, 2), tile=3, kernel=4),
    "5x5": WinogradSpec(1, 16, 16, (11, 9), (2, 2, 2, 2), tile=4, kernel=5),
    "fused": WinogradSpec(1, 16, 72, (34, 60)),
    "pool": WinogradSpec(1, 17, 40, (10, 14), has_bias=True, pool=2),
    "columns": WinogradSpec(1, 20, 40, (17, 3), (2, 0, 0, 0), axes=(0,)),
    "column": WinogradSpec(1, 20, 40, (70, 3), (0, 0, 1, 0), 6, 3, axes=(0,)),
    "rows": WinogradSpec(1, 16, 24, (3, 19), (0, 1, 0, 2), 4, 5, axes=(1,)),
    "two taps": WinogradSpec(1, 16, 24, (2, 29), (0, 1, 0, 0), 5, 2, axes=(1,)),
    "groups": WinogradSpec(5, 20, 40, (9, 11), groups=5),
}


def guarded_sums(
    spec: WinogradSpec, x: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What is stored over `UNTOUCHED` and what should be, [N, OC, OH, OW]."""
    bias, others = normal(spec.out_channels), []
    expected = convolution(x, w, spec)
    if spec.has_bias:
        spec = replace(spec, epilogue=AddRelu())
        expected = largest_of_squares(expected, spec.pool)
        residual = normal(*expected.shape)
        others = [pack_channels(bias, LANES), to_blocks(residual, LANES)]
        expected = np.maximum(expected + bias[:, None, None] + residual, 0)
    factors = channel_factors(w, spec)
    assert factors is not None
    sizes = sizes_of(x, factors, LANES, spec.groups)
    packed = pack_winograd_weights(w, spec, TARGET)
    out = np.full(spec.output_type.get_shape(), UNTOUCHED, np.float32)
    kernel = build_winograd_direct(WinogradDirectSpec(spec), TARGET)
    inputs = [sizes, to_blocks(x, LANES), packed, *others]
    (found,) = run_kernel(kernel, [out], inputs)
    return to_plain(found, spec.out_channels), expected


@pytest.mark.parametrize("name", SPECS)
def test_direct_sums_of_some_tiles(name: str) -> None:
    """Images without outliers and of zeros are left; the outputs around others are direct sums."""
    values = (1e5, np.inf, np.nan)
    spec = replace(SPECS[name], lanes=LANES, batch=2 + len(values))
    x, w = inputs_of(spec), weights_of(spec)
    height, width = spec.plane
    x[1] = 0
    x[2:, 3, height // 2, width // 2 + 1] = values
    found, expected = guarded_sums(spec, x, w)
    stored = found != UNTOUCHED
    assert not stored[:2].any()
    assert stored[2:].any((1, 2, 3)).all()
    # Whatever an infinity or NaN reaches is stored, and so is no tile that is far from it.
    np.testing.assert_array_equal(
        np.isfinite(found[stored]), np.isfinite(expected[stored])
    )
    assert np.isfinite(expected[~stored]).all()
    most = (2 * spec.patch // spec.pool) ** 2
    assert stored.any(1).sum((1, 2)).max() <= most
    finite = stored & np.isfinite(expected)
    wanted = np.where(finite, expected, 0)
    errors = np.abs(np.where(finite, found, 0) - wanted).max(1)
    assert (errors <= 1e-5 * np.abs(wanted).max(1)).all()


@pytest.mark.parametrize(("kernel", "zero_taps"), [(3, False), (4, True)])
def test_a_border_of_zeros_hides_no_window(kernel: int, zero_taps: bool) -> None:
    """An image with a border of zeros is left; a window that is small but for it is not."""
    spec = replace(SPECS["no pads"], lanes=LANES, batch=4, kernel=kernel)
    spec = replace(spec, plane=(14, 15), tile=7 - kernel, has_zero_taps=zero_taps)
    x, w = inputs_of(spec), weights_of(spec)
    if zero_taps:
        w[:, 1::2, -1], w[:, 1::2, :, -1] = 0, 0
    x[:, :, [0, -1]] = 0
    x[:, :, :, [0, -1]] = 0
    x[1, :, :kernel, :kernel] *= 1e-6
    x[2, :, -kernel:, 5 : 5 + kernel] = 0
    x[3, :, 4 : 4 + kernel, -kernel:] *= 1e-6
    found, expected = guarded_sums(spec, x, w)
    stored = (found != UNTOUCHED).any(1)
    assert not stored[0].any()
    assert stored[1, 0, 0]
    assert stored[2, -1, 5]
    assert stored[3, 4, -1]
    errors = np.abs(np.where(found != UNTOUCHED, found - expected, 0))
    assert errors.max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("size", [2.5e38, 1e-40])
def test_images_of_extreme_sizes_have_direct_sums(size: float) -> None:
    spec = replace(SPECS["no pads"], lanes=LANES)
    x = (inputs_of(spec) * 0.2 * size).astype(np.float32)
    w = weights_of(spec) / 100
    found, expected = guarded_sums(spec, x, w)
    assert (found != UNTOUCHED).all()
    lost = 144 * 2.0**-149
    assert (np.abs(found - expected) < 1e-5 * np.abs(expected).max() + lost).all()


def test_zero_taps_multiply_nothing() -> None:
    """Infinities under taps of zero are in no window; elsewhere they are."""
    spec = replace(SPECS["4x4"], lanes=LANES, pads=(0, 0, 0, 0), has_zero_taps=True)
    x, w = inputs_of(spec), weights_of(spec)
    w[:, 1::2, -1], w[:, 1::2, :, -1] = 0, 0
    x[0, 3, 5, 4] = np.inf
    found, _ = guarded_sums(spec, x, w)
    reached = ~np.isfinite(found).all((0, 1))
    expected = np.zeros_like(reached)
    expected[3:6, 2:5] = True
    np.testing.assert_array_equal(reached, expected)


def test_factors_of_channels() -> None:
    """They go with the weights, so that a channel with small weights hides no other."""
    spec = WinogradSpec(1, 20, 16, (8, 8), lanes=16)
    w = weights_of(spec)
    w[:, 3] /= 1024
    w[:, 5] = 0
    factors = channel_factors(w, spec)
    assert factors is not None
    assert factors.shape == (2, 16)
    flat = factors.reshape(-1)
    assert (np.log2(flat) % 1 == 0).all()
    assert flat[0] / flat[3] in (512, 1024, 2048)
    assert 1 <= flat[5] < flat[3]
    for wrong in (np.inf, np.nan, 1e20):
        spoilt = w.copy()
        spoilt[2, 2, 1, 1] = wrong
        assert channel_factors(spoilt, spec) is None
    assert channel_factors(w * np.float32(1e-9), spec) is None
