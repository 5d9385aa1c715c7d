"""Weights for GPUs, whose kernels for many threads read the depth of an output in a row.

    matmul [K, N]                  -> [N, K]
    conv2d [O, C / group, kh, kw]  -> [O, C / group / lanes, kh, kw, lanes]
    recurrence [H, gates * H]      -> [H, gates, H], the last one the depth

A row is filled up with zeros to 16 bytes, which one copy of a thread takes; so are the outputs of
a convolution to whole blocks. Blocks of channels have 16 bytes, too. Weights have no
configuration: tiles are chosen when kernels are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import ConvConfig, MatmulConfig, RecurrenceConfig
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import ChannelLists
from glow.backends.cpu.layout.conv_shape import ConvShape, WinogradChoice
from glow.backends.cpu.layout.packing import TargetPacker
from glow.dialects.weight_table import Array, DeferredArray

if TYPE_CHECKING:
    from glow.backends.cpu.kernels.matmul.block_quantized_weights import BlockWeights

ROW_BYTES = 16
"""What rows of weights are a multiple of."""


def padded_row(elements: int, size: int) -> int:
    """The elements of a row of weights of so many bytes each."""
    unit = ROW_BYTES // size
    return -(-elements // unit) * unit


@dataclass(frozen=True)
class RowPacker(TargetPacker):
    """Packs rows, and chooses nothing: transformed or sparse weights have no kernels."""

    @property
    def has_floats(self) -> bool:
        """No: groups have no kernels of rows, whatever their elements."""
        return False

    @property
    def blocks_are_registers(self) -> bool:
        """No: each number has a thread, in whatever order."""
        return False

    @property
    def merges_columns(self) -> bool:
        """No: windows are read as they are."""
        return False

    @property
    def tabulates_borders(self) -> bool:
        """No: images are padded with bytes."""
        return False

    def panel_width(self, weights: Array, rows: int) -> int:
        """None: matrices are picked, and multiplied then."""
        return 0

    def block_panels(self, weights: BlockWeights, rows: int) -> None:
        """None: they are made floats before they are picked."""
        return

    @property
    def widens_bytes(self) -> bool:
        """No: tensor cores take bytes."""
        return False

    @property
    def reads_signed_bytes(self) -> bool:
        """No: tensor cores take unsigned ones beside signed ones."""
        return False

    def conv2d(
        self, weights: Array, shape: ConvShape, config: ConvConfig | None
    ) -> DeferredArray:
        """[O, C / group, kh, kw] as one flat array."""
        if config is not None:
            return super().conv2d(weights, shape, config)
        return self._conv_rows(weights, shape, 1 if shape.plain_input else self.lanes)

    def int8_conv2d(
        self,
        weights: Array,
        shape: ConvShape,
        block_lanes: int,
        config: ConvConfig | None,
    ) -> DeferredArray:
        """The same of bytes, for an image in blocks of that size."""
        if config is not None:
            return super().int8_conv2d(weights, shape, block_lanes, config)
        return self._conv_rows(weights, shape, block_lanes)

    def _conv_rows(
        self, weights: Array, shape: ConvShape, block_lanes: int
    ) -> DeferredArray:
        outputs, inputs, *kernel = weights.shape
        group, blocks = shape.group, -(-inputs // block_lanes)
        each = outputs // group
        rows = -(-each // self.lanes) * self.lanes
        depth = blocks * block_lanes * prod(kernel)
        row = padded_row(depth, weights.itemsize)

        def write(out: Array) -> None:
            whole = np.zeros(
                (group, rows, blocks * block_lanes, *kernel), weights.dtype
            )
            whole[:, :each, :inputs] = weights.reshape(group, each, inputs, *kernel)
            split = whole.reshape(group, rows, blocks, block_lanes, *kernel)
            target = out.reshape(group, rows, row)
            ordered = split.transpose(0, 1, 2, 4, 5, 3).reshape(group, rows, depth)
            target[..., :depth], target[..., depth:] = ordered, 0

        return DeferredArray((group * rows * row,), weights.dtype, write, weights)

    def matmul(
        self,
        weights: Array,
        rows: int,
        config: MatmulConfig | None = None,
        *,
        wide: bool = False,
    ) -> DeferredArray:
        """[K, N] as one flat array."""
        if config is not None:
            return super().matmul(weights, rows, config, wide=wide)
        return self._matmul_rows(weights)

    def _matmul_rows(self, weights: Array) -> DeferredArray:
        depth, columns = weights.shape
        row = padded_row(depth, weights.itemsize)

        def write(out: Array) -> None:
            target = out.reshape(columns, row)
            target[:, :depth], target[:, depth:] = weights.T, 0

        return DeferredArray((columns * row,), weights.dtype, write, weights)

    def recurrence(
        self, weights: Array, rows: int, gates: int, config: RecurrenceConfig | None
    ) -> DeferredArray:
        """[H, gates * H] as one flat array: a unit's gates lie side by side."""
        if config is not None:
            return super().recurrence(weights, rows, gates, config)
        units = len(weights)
        row = padded_row(units, weights.itemsize)

        def write(out: Array) -> None:
            target = out.reshape(units, gates, row)
            by_gate = weights.reshape(units, gates, units)
            target[..., :units] = by_gate.transpose(2, 1, 0)
            target[..., units:] = 0

        return DeferredArray((units * gates * row,), weights.dtype, write, weights)

    def recurrence_config(self, weights: Array, rows: int, gates: int) -> None:
        """None."""

    def conv2d_config(
        self, shape: ConvShape, element: Attribute = f32, *, computed: bool = False
    ) -> ConvConfig | None:
        """None but for computed weights, which the CPU's kernels pack and read."""
        if computed:
            return super().conv2d_config(shape, element, computed=True)
        return None

    def int8_conv2d_config(
        self, shape: ConvShape, block_lanes: int
    ) -> ConvConfig | None:
        """None."""
        return None

    def matmul_config(
        self, weights: Array, rows: int, *, widens: bool = False, wide: bool = False
    ) -> MatmulConfig | None:
        """None."""
        return None

    def choose_channel_lists(
        self, weights: Array, shape: ConvShape
    ) -> ChannelLists | None:
        """None."""
        return None

    def choose_winograd(self, shape: ConvShape) -> WinogradChoice | None:
        """None."""
        return None
