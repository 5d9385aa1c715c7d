"""Transforms and packs weights of bytes, once, when a network is compiled."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from glow.backends.cpu.kernels.int8_winograd.spec import (
    KERNEL,
    PAIR,
    Int8WinogradSpec,
    int8_winograd_tiling,
)
from glow.backends.cpu.kernels.winograd.tiling import WinogradTiling
from glow.dialects.weight_table import Array, DeferredArray
from glow.lowering.target.target import Target

LARGEST_BYTE = 255


def largest_sum(weights: Array) -> int:
    """The largest size of a sum of bytes times the weights [OC, IC, 3, 3]."""
    rows = weights.reshape(len(weights), -1)
    above, below = (
        clipped.sum(1, dtype=np.int32)
        for clipped in (rows.clip(min=0), rows.clip(max=0))
    )
    return LARGEST_BYTE * int(max(above.max(initial=0), -below.min(initial=0)))


def pack(weights: Array, spec: Int8WinogradSpec, target: Target) -> DeferredArray:
    """The weights [OC, IC / groups, 3, 3], transformed and packed, 1-D of i16: group after
    group.
    """

    def write(out: Array) -> None:
        start, parts = 0, int8_winograd_tiling(spec, target).parts
        for group in np.split(weights, spec.groups):
            whole = _transformed(group, spec)
            for part in parts:
                first = part.first * spec.lanes
                chosen = whole[:, first : first + part.tiles * part.blocks * spec.lanes]
                shape = (spec.positions, part.tiles, part.blocks, spec.lanes, -1, PAIR)
                panels = chosen.reshape(shape).transpose(1, 0, 4, 2, 3, 5)
                out[start : start + panels.size] = panels.reshape(-1)
                start += panels.size

    return DeferredArray((spec.packed_weights,), np.dtype(np.int16), write, weights)


def _transformed(weights: Array, spec: Int8WinogradSpec) -> NDArray[np.int16]:
    """[position, output channel, input channel] of a group, zeros in channels that fill blocks.

    Its numbers have 16 bits, so that products of floats are exact.
    """
    taps = np.array(spec.form.taps, np.float32)
    plain = cast("NDArray[np.int8]", weights).reshape(-1, KERNEL**2)
    positions = np.kron(taps, taps) @ plain.T.astype(np.float32)
    outputs, inputs = spec.output_blocks * spec.lanes, spec.channels
    whole = np.zeros((spec.positions, outputs, inputs), np.int16)
    channels = whole[:, : spec.out_channels, : spec.in_channels]
    channels[...] = positions.reshape(channels.shape)
    return whole


def unpack(packed: Array, spec: Int8WinogradSpec, target: Target) -> Array:
    """The weights [OC, IC / groups, 3, 3] of a packed array, of i8."""
    tiling, groups = int8_winograd_tiling(spec, target), np.split(packed, spec.groups)
    return np.concatenate([_unpack_group(group, spec, tiling) for group in groups])


def _unpack_group(
    packed: Array, spec: Int8WinogradSpec, tiling: WinogradTiling
) -> Array:
    """Those of a group."""
    parts: list[NDArray[np.float64]] = []
    start = 0
    for part in tiling.parts:
        shape = (
            *(part.tiles, spec.positions, spec.channels // PAIR),
            *(part.blocks, spec.lanes, PAIR),
        )
        count = part.tiles * part.blocks * spec.lanes
        size = spec.positions * spec.channels * count
        panels = packed[start : start + size].reshape(shape)
        plain = panels.transpose(0, 3, 4, 2, 5, 1).astype(np.float64)
        parts.append(plain.reshape(count, spec.channels, spec.positions))
        start += size
    whole = np.concatenate(parts)[: spec.out_channels, : spec.in_channels]
    patches = whole.reshape(*whole.shape[:2], spec.patch, spec.patch)
    inverse = np.linalg.pinv(np.array(spec.form.taps, np.float64))
    taps = np.einsum("rp,oipq,sq->oirs", inverse, patches, inverse, optimize=True)
    return np.rint(taps).astype(np.int8)
