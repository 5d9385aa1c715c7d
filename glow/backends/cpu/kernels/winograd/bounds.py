"""For which inputs the bounds of Winograd convolutions hold, as far as weights say it.

The transforms multiply sizes: of inputs, of taps, and of products by the largest sum of magnitudes
in a row of each matrix, once for each axis. A factor for each input channel makes sizes of pixels
that can be compared: it grows with the channel's weights, so that a large channel with small
weights hides no other, and is so large that sums overflow only where such a size does.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from glow.backends.cpu.kernels.winograd.spec import POINTS, WinogradSpec
from glow.backends.cpu.kernels.winograd.weights import kernel_transform

WEIGHT_SIZES = (2.0**-20, 2.0**39)
"""The largest weight: others have direct sums, as their products could leave the range of f32."""

LEAST_SHARE = 2.0**-40
"""Channels with weights that are smaller still beside the largest are taken for this large."""


def patch_gain(spec: WinogradSpec) -> float:
    """How much larger a transformed patch can be than the patch, along one axis."""
    points = POINTS[spec.patch]
    every = prod(1 + point**2 for point in points)
    of_points = (every / (1 + point**2) * (1 + point) for point in points)
    return max(every, *of_points)


def output_gain(spec: WinogradSpec) -> float:
    """How much larger an output can be than the products it is made of, along one axis."""
    powers = range(spec.tile)
    return max(1 + 2 * sum(p**power for p in POINTS[spec.patch]) for power in powers)


def channel_factors(
    weights: NDArray[np.floating], spec: WinogradSpec
) -> NDArray[np.float32] | None:
    """Powers of two [blocks, lanes] for the channels of weights [OC, IC / groups, *kernel plane].

    None where the weights allow no such method.
    """
    factors = [_group_factors(group, spec) for group in np.split(weights, spec.groups)]
    known = [each for each in factors if each is not None]
    return np.concatenate(known) if len(known) == spec.groups else None


def _group_factors(
    weights: NDArray[np.floating], spec: WinogradSpec
) -> NDArray[np.float32] | None:
    """Those of a group."""
    largest = np.abs(weights.reshape(len(weights), -1)).max(0)
    sizes = largest.reshape(spec.in_channels, -1).max(1).astype(np.float64)
    low, high = WEIGHT_SIZES
    if not low <= sizes.max() <= high:
        return None
    taps, axes = np.abs(kernel_transform(spec)).sum(1).max(), len(spec.axes)
    of_inputs = patch_gain(spec) ** axes
    of_sums = of_inputs * (taps * output_gain(spec)) ** axes * spec.in_channels
    sizes = np.maximum(sizes, LEAST_SHARE * sizes.max())
    factors = sizes * max(of_sums, of_inputs / sizes.min())
    padded = np.ones(spec.input_blocks * spec.lanes, np.float32)
    padded[: spec.in_channels] = np.exp2(np.ceil(np.log2(factors)))
    return padded.reshape(-1, spec.lanes)
