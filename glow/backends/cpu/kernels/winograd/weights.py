"""Transforms and packs the weights of Winograd convolutions, once, when a network is compiled.

All passes of the transform are one matrix [positions, taps] times the weights as a matrix
[taps, all channel pairs]. With the pairs already in packed order the product is the packed array,
so that only the original taps are ever permuted.
"""

from math import prod

import numpy as np
from numpy.typing import NDArray

from glow.backends.cpu.kernels.winograd.spec import BOTH, POINTS, WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import (
    WinogradTiling,
    choose_winograd_tiling,
)
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.target.target import Target

SERIAL_PRODUCT = 2**18
"""The multiplications of a product that OpenBLAS does not share between threads.

Its threads would wait for each other: packing has threads of its own.
"""


def kernel_transform(spec: WinogradSpec) -> NDArray[np.float64]:
    """The matrix [n, r] that evaluates a row of taps at the points.

    It carries the scales of the whole algorithm, so that the other transforms need none.
    """
    points = [0.0]
    for point in POINTS[spec.patch]:
        points += [point, -point]
    rows: list[list[float]] = []
    for k, point in enumerate(points):
        others = points[:k] + points[k + 1 :]
        scale = 1 / prod(point - other for other in others)
        rows.append([scale * point**power for power in range(spec.kernel)])
    return np.array([*rows, [0.0] * (spec.kernel - 1) + [1.0]])


def plane_transform(spec: WinogradSpec) -> NDArray[np.float64]:
    """The matrix [positions, taps] of the passes along all axes that are transformed."""
    single, same = kernel_transform(spec), np.eye(1)
    down, across = (single if axis in spec.axes else same for axis in BOTH)
    return np.kron(down, across).astype(np.float64)


def tap_transforms(
    spec: WinogradSpec,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Those that take taps back, of a column and of a row."""
    down, across = (
        tap_transform(spec) if axis in spec.axes else np.eye(1) for axis in BOTH
    )
    return down, across


def tap_transform(spec: WinogradSpec) -> NDArray[np.float64]:
    """The matrix [r, n] that takes the taps of a row back from its values at the points.

    Its columns are for the value at zero, the sum and the difference of those at each pair of
    points, and the value at infinity. Points that are not needed have zeros. The sum of a pair
    has the even powers, its difference the odd ones, of which so many are solved for.
    """
    scales = kernel_transform(spec)[:, 0]
    last, points = spec.kernel - 1, POINTS[spec.patch]
    taps = np.zeros((spec.kernel, spec.patch))
    taps[0, 0], taps[last, -1] = 1 / scales[0], 1
    for parity in (0, 1):
        unknown = [k for k in range(1, last) if k % 2 == parity]
        known = [k for k in {0, last} if k % 2 == parity]
        rows = np.zeros((len(unknown), spec.patch))
        for pair, point in enumerate(points[: len(unknown)]):
            column = 1 + 2 * pair
            rows[pair, column + parity] = 1 / (2 * scales[column] * point**parity)
            for k in known:
                rows[pair] -= point ** (k - parity) * taps[k]
        powers = [
            [point ** (k - parity) for k in unknown] for point in points[: len(unknown)]
        ]
        if unknown:
            taps[unknown] = np.linalg.solve(np.array(powers), rows)
    return taps


def pack_winograd_weights(
    weights: NDArray[np.floating],
    spec: WinogradSpec,
    target: Target,
    *,
    out: NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """The weights [OC, IC / groups, *kernel plane], transformed in float64 and rounded once,
    packed, 1-D: group after group.

    `out` is where to put them.
    """
    transform = plane_transform(spec)
    packed = np.empty(spec.packed_weights, weights.dtype) if out is None else out
    tiling, start = choose_winograd_tiling(spec, target), 0
    for group in np.split(weights, spec.groups):
        for part in tiling.parts:
            tiles = _channel_tiles(group, spec, part)
            stop = start + spec.positions * tiles.size // prod(spec.kernel_plane)
            panels = packed[start:stop].reshape(
                *tiling.panel(spec.positions, part.tiles), -1
            )
            _transform_into(_by_position(panels, tiling), transform, tiles)
            start = stop
    return packed


def unpack_winograd_weights(
    packed: NDArray[np.floating], spec: WinogradSpec, target: Target
) -> NDArray[np.floating]:
    """The weights [OC, IC / groups, *kernel plane] of a packed array, up to rounding.

    The transform maps taps to more numbers, so its pseudo-inverse undoes it exactly.
    """
    inverse = np.linalg.pinv(plane_transform(spec))
    tiling = choose_winograd_tiling(spec, target)
    groups = np.split(packed, spec.groups)
    return np.concatenate([_unpack_group(group, tiling, inverse) for group in groups])


def _unpack_group(
    packed: NDArray[np.floating], tiling: WinogradTiling, inverse: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Those of a group."""
    parts: list[NDArray[np.floating]] = []
    spec, start = tiling.spec, 0
    for part in tiling.parts:
        width = part.blocks * spec.lanes
        size = spec.positions * spec.in_channels * part.tiles * width
        panels = packed[start : start + size].reshape(
            *tiling.panel(spec.positions, part.tiles), -1
        )
        chosen = _by_position(panels, tiling).reshape(spec.positions, -1)
        taps = (inverse @ chosen.astype(np.float64)).astype(packed.dtype)
        tiles = taps.reshape(-1, part.tiles, spec.in_channels, width)
        plain = tiles.transpose(1, 3, 2, 0)
        parts.append(
            plain.reshape(part.tiles * width, spec.in_channels, *spec.kernel_plane)
        )
        start += size
    return np.concatenate(parts)[: spec.out_channels]


def _by_position(
    panels: NDArray[np.floating], tiling: WinogradTiling
) -> NDArray[np.floating]:
    """Packed panels of weights as a view [position, channel tile, input x width]."""
    return panels.swapaxes(0, 1) if tiling.fused else panels


def _channel_tiles(
    weights: NDArray[np.floating], spec: WinogradSpec, part: ChannelPart
) -> NDArray[np.floating]:
    """The weights of a part as [channel tile, blocks x lanes, input channel, taps]."""
    width = part.blocks * spec.lanes
    first, count = part.first * spec.lanes, part.tiles * width
    chosen = weights[first : first + count].reshape(
        -1, spec.in_channels, prod(spec.kernel_plane)
    )
    if len(chosen) < count:
        chosen = np.pad(chosen, ((0, count - len(chosen)), (0, 0), (0, 0)))
    return chosen.reshape(part.tiles, width, spec.in_channels, -1)


def _transform_into(
    packed: NDArray[np.floating],
    transform: NDArray[np.float64],
    tiles: NDArray[np.floating],
) -> None:
    """Transform [tile, width, input, taps] into [position, tile, input x width]."""
    _, width, inputs, taps = tiles.shape
    step = max(SERIAL_PRODUCT // (transform.size * width), 1)
    for first in range(0, inputs, step):
        chunk = tiles[:, :, first : first + step]
        columns = slice(first * width, (first + chunk.shape[2]) * width)
        ordered = np.empty((taps, chunk.shape[2], width))
        for number, tile in enumerate(chunk):
            ordered[...] = tile.transpose(2, 1, 0)
            packed[:, number, columns] = transform @ ordered.reshape(taps, -1)
