"""What a convolution with few nonzero weights is, and how these are packed.

A tile of output channel blocks reads only the input channels that any of its outputs has a
weight for. Groups that do not fill blocks, shuffled channels and pruned filters all look like
that. Packed weights are [entry][kernel row][kernel column][blocks][lanes], an entry for each
(tile, input channel) in order, one such array per `ChannelPart`; the table is where each
tile's entries begin, and where the last one's end, then the channel of each entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import MemRefType, i32

from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.tiling.tiles import (
    MAX_BLOCKS,
    ChannelPart,
    TileModel,
    channel_parts,
)
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.window import Window, plane_runs
from glow.lowering.target.target import Target

Channels = NDArray[np.int32]

TABLE_LOADS = 8
"""What looking up a channel costs, in loads."""

WORTHWHILE = 0.85
"""The share of a dense convolution's time that pays for tables and a second kernel."""


@dataclass(frozen=True)
class SparseConv2dSpec(Conv2dSpec):
    """A convolution of one group whose tiles of `tile_blocks` read channels by a table.

    `entries` are the (tile, input channel) pairs of each part.
    """

    tile_blocks: int = 1
    entries: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[ChannelPart, ...]:
        """The parts of the output channel blocks."""
        return channel_parts(self.output_blocks, self.tile_blocks)

    @property
    def tiles(self) -> int:
        """The number of tiles of output channels."""
        return sum(part.tiles for part in self.parts)

    @property
    def steps(self) -> int:
        """The multiply-adds per output value, on average."""
        return -(-sum(self.entries) * prod(self.window.kernel) // self.tiles)

    @property
    def step_loads(self) -> float:
        """What a step takes to look up its channel, once for all taps."""
        return TABLE_LOADS / prod(self.window.kernel)

    @property
    def packed_weights(self) -> int:
        """The number of packed weights."""
        blocks = sum(
            entries * part.blocks
            for entries, part in zip(self.entries, self.parts, strict=True)
        )
        return blocks * prod(self.window.kernel) * self.lanes

    @property
    def table_type(self) -> MemRefType:
        """The memref type of the table."""
        return types.memref_type((self.tiles + 1 + sum(self.entries),), i32)


@dataclass(frozen=True)
class ChannelLists:
    """The input channels that each tile of `blocks` of the output channel blocks reads."""

    output_blocks: int
    blocks: int
    lists: Sequence[Channels]
    cycles: float = 0
    """The estimated cycles of a plane."""

    @property
    def entries(self) -> tuple[int, ...]:
        """The pairs of each part; a last tile of fewer blocks is a part of its own."""
        return tuple(
            sum(map(len, self.lists[part.first // self.blocks :][: part.tiles]))
            for part in self.parts
        )

    @property
    def parts(self) -> tuple[ChannelPart, ...]:
        """The parts of the output channel blocks."""
        return channel_parts(self.output_blocks, self.blocks)

    def table(self) -> Channels:
        """The table that the kernel reads."""
        starts = [0, *accumulate(map(len, self.lists))]
        return np.concatenate([np.array(starts, np.int32), *self.lists])

    def pack(self, weights: NDArray[np.float32], lanes: int) -> NDArray[np.float32]:
        """The weights [OC, IC, KH, KW] in the order that the kernel reads them, 1-D."""
        padded = np.zeros((self.output_blocks * lanes, *weights.shape[1:]), np.float32)
        padded[: len(weights)] = weights
        width = self.blocks * lanes
        return np.concatenate(
            [
                padded[tile * width :][:width, channels].transpose(1, 2, 3, 0).ravel()
                for tile, channels in enumerate(self.lists)
            ]
        )


def choose_channel_lists(
    weights: NDArray[np.float32], spec: Conv2dSpec, target: Target
) -> ChannelLists | None:
    """The fastest tiles for weights [OC, IC, KH, KW]; None where dense ones do as well."""
    inputs = weights.shape[1]
    if weights[0].reshape(inputs, -1).any(1).all():
        return None  # Looking at all weights would take long.
    used = np.zeros((spec.output_blocks * spec.lanes, inputs), np.bool_)
    used[: len(weights)] = weights.reshape(*weights.shape[:2], -1).any(2)
    split = used.reshape(spec.output_blocks, spec.lanes, inputs)
    blocks: NDArray[np.bool_] = np.logical_or.reduce(split, axis=1)
    choices = range(1, min(MAX_BLOCKS, len(blocks)) + 1)
    sparse = {count: _cycles(blocks, count, spec, target) for count in choices}
    everything = np.ones_like(blocks)
    dense = min(_cycles(everything, count, spec, target) for count in choices)
    best = min(choices, key=sparse.__getitem__)
    if sparse[best] > WORTHWHILE * dense:
        return None
    return ChannelLists(len(blocks), best, _lists(blocks, best), sparse[best])


def _lists(used: NDArray[np.bool_], count: int) -> list[Channels]:
    """The channels that each tile of `count` rows uses."""
    return [
        np.flatnonzero(used[first : first + count].any(0)).astype(np.int32)
        for first in range(0, len(used), count)
    ]


def _cycles(
    used: NDArray[np.bool_], count: int, spec: Conv2dSpec, target: Target
) -> float:
    """The cycles of a plane with tiles of `count` blocks."""
    vector_bytes = spec.lanes * types.bit_width(spec.element) // 8
    taps = prod(spec.window.kernel)
    return sum(
        _tile_cycles(
            TileModel(len(channels) * taps, vector_bytes, target, TABLE_LOADS / taps),
            min(count, len(used) - tile * count),
            spec.window,
        )
        for tile, channels in enumerate(_lists(used, count))
    )


@bounded_cache
def _tile_cycles(model: TileModel, blocks: int, window: Window) -> float:
    """The cycles of a plane for one tile of output channels."""
    walked = window.flattened() if window.is_pointwise else window
    return sum(
        count * model.run_cycles(length, blocks) for count, length in plane_runs(walked)
    )
