"""Transforms and packs the weights of Winograd convolutions, once, when a network is compiled.

Both passes of the transform are one matrix [(m + 2)^2, 9] times the weights as a matrix [9, all
channel pairs]. With the pairs already in packed order the product is the packed array, so that
only the nine original taps are ever permuted.
"""

from math import prod

import numpy as np
from numpy.typing import NDArray

from glow.lowering.instr_to_loops.tiles import ChannelPart
from glow.lowering.instr_to_loops.winograd_spec import (
    POINTS,
    WinogradSpec,
    choose_winograd_tiling,
)
from glow.lowering.target import Target

CHUNK = 16 * 1024
"""Channel pairs transformed at a time: their float64 results stay in a cache."""


def kernel_transform(tile: int) -> NDArray[np.float64]:
    """The matrix [m + 2, 3] that evaluates a row of taps at the points.

    It carries the scales of the whole algorithm, so that the other transforms need none.
    """
    points = [0.0]
    for point in POINTS[tile]:
        points += [point, -point]
    rows: list[list[float]] = []
    for k, point in enumerate(points):
        others = points[:k] + points[k + 1 :]
        scale = 1 / prod(point - other for other in others)
        rows.append([scale, scale * point, scale * point**2])
    return np.array([*rows, [0.0, 0.0, 1.0]])


def pack_winograd_weights(
    weights: NDArray[np.floating],
    spec: WinogradSpec,
    target: Target,
    *,
    out: NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """The weights [OC, IC, 3, 3], transformed in float64 and rounded once, packed, 1-D.

    `out` is where to put them.
    """
    single = kernel_transform(spec.tile)
    transform = np.kron(single, single).astype(np.float64)
    packed = np.empty(spec.packed_weights, weights.dtype) if out is None else out
    start = 0
    for part in choose_winograd_tiling(spec, target).parts:
        taps = _packed_taps(weights, spec, part)
        stop = start + spec.positions * taps.shape[1]
        _transform_into(packed[start:stop].reshape(spec.positions, -1), transform, taps)
        start = stop
    return packed


def unpack_winograd_weights(
    packed: NDArray[np.floating], spec: WinogradSpec, target: Target
) -> NDArray[np.floating]:
    """The weights [OC, IC, 3, 3] of a packed array, up to rounding.

    The transform maps 9 numbers to more, so its pseudo-inverse undoes it exactly.
    """
    single = kernel_transform(spec.tile)
    inverse = np.linalg.pinv(np.kron(single, single))
    parts: list[NDArray[np.floating]] = []
    start = 0
    for part in choose_winograd_tiling(spec, target).parts:
        width = part.blocks * spec.lanes
        size = spec.positions * spec.in_channels * part.tiles * width
        chosen = packed[start : start + size].reshape(spec.positions, -1)
        taps = (inverse @ chosen.astype(np.float64)).astype(packed.dtype)
        tiles = taps.reshape(9, part.tiles, spec.in_channels, width)
        plain = tiles.transpose(1, 3, 2, 0)
        parts.append(plain.reshape(part.tiles * width, spec.in_channels, 3, 3))
        start += size
    return np.concatenate(parts)[: spec.out_channels]


def _packed_taps(
    weights: NDArray[np.floating], spec: WinogradSpec, part: ChannelPart
) -> NDArray[np.floating]:
    """The weights of a part as [9, channel tile x input channel x blocks x lanes]."""
    width = part.blocks * spec.lanes
    first, count = part.first * spec.lanes, part.tiles * width
    chosen = weights[first : first + count].reshape(-1, spec.in_channels, 9)
    if len(chosen) < count:
        chosen = np.pad(chosen, ((0, count - len(chosen)), (0, 0), (0, 0)))
    tiles = chosen.reshape(part.tiles, width, spec.in_channels, 9)
    return np.ascontiguousarray(tiles.transpose(3, 0, 2, 1)).reshape(9, -1)


def _transform_into(
    packed: NDArray[np.floating],
    transform: NDArray[np.float64],
    taps: NDArray[np.floating],
) -> None:
    for start in range(0, taps.shape[1], CHUNK):
        columns = slice(start, start + CHUNK)
        packed[:, columns] = transform @ taps[:, columns].astype(np.float64)
