"""One step of a recurrent layer: its shapes, its register tile, its packed weights.

Units lie in groups of `blocks` registers. For each group the weights are one stream,
[K][gates][blocks][lanes]: a step of the depth reads all gates of the group's units, whose sums
then meet in registers. Units beyond the last whole register have a group of their own, filled
up with zeros. Pairs of neighbours along the depth that are stored as bf16 share a word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glow.backends.cpu.dialect.config import RecurrenceConfig
from glow.backends.cpu.tiling.matmul_tile import Tile
from glow.lowering.target.target import Target

MAX_ACCUMULATORS = 8
"""Registers of sums from which on a group has one register of units: more make the code of
the gates long."""

WANTED_GROUPS = 8
"""Groups of units, so that threads have equal shares."""


@dataclass(frozen=True)
class StepShape:
    """`rows` hidden states of `units` elements, and `gates` sums for each element.

    `widens`: weights are stored as bf16; the number of units is even then.
    """

    rows: int
    units: int
    gates: int
    widens: bool = False
    config: RecurrenceConfig | None = None
    """Chosen before; else the best one for the target."""

    @property
    def group(self) -> int:
        """How many elements along the depth lie side by side."""
        return 2 if self.widens else 1

    def whole_blocks(self, target: Target) -> int:
        """The registers that units fill."""
        return self.units // target.lanes(32)

    def blocks(self, target: Target) -> int:
        """The registers of units in a group: a divisor of all, so that groups are equal."""
        if self.config:
            return self.config.blocks
        whole = self.whole_blocks(target)
        most = min(MAX_ACCUMULATORS // (self.gates * self.rows), whole // WANTED_GROUPS)
        sizes = range(1, max(1, most) + 1)
        return max(size for size in sizes if whole % size == 0)

    def groups(self, target: Target) -> int:
        """The groups of whole registers."""
        return self.whole_blocks(target) // self.blocks(target)

    def left(self, target: Target) -> int:
        """The units after them."""
        return self.units % target.lanes(32)

    def work_items(self, target: Target) -> int:
        """All groups, which threads share."""
        return self.groups(target) + bool(self.left(target))

    def tile_rows(self, target: Target) -> int:
        """The rows of a register tile: as many as leave registers for weights, evenly."""
        if self.config:
            return self.config.rows
        tiles = -(-self.rows // self._most_rows(target))
        return -(-self.rows // tiles)

    def _most_rows(self, target: Target) -> int:
        sums = self.gates * self.blocks(target)
        return max(1, (target.num_vector_registers - 2) // (sums + 1))

    def unroll(self, target: Target, rows: int) -> int:
        """Steps of the depth with sums of their own, which hide the latency of FMAs."""
        return Tile(rows, self.gates * self.blocks(target)).unroll(target.core)

    def alternates(self, target: Target) -> bool:
        """Whether every other step should read the weights from their end.

        They exceed the nearer caches but not half of the last one; memory is read best in order.
        """
        if self.config:
            return self.config.alternates
        size = self.packed_elements(target) * (2 if self.widens else 4)
        return target.l2_bytes // 2 < size <= target.core.l3_bytes // 2

    def choose_config(self, target: Target) -> RecurrenceConfig:
        """The best configuration for a target."""
        return RecurrenceConfig(
            self.tile_rows(target), self.blocks(target), self.alternates(target)
        )

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the shapes do not allow of the configuration, if so."""
        rows, blocks = self.tile_rows(target), self.blocks(target)
        whole = self.whole_blocks(target)
        if whole % blocks:
            return (
                f"groups of {blocks} blocks: {whole} registers of units are no multiple"
            )
        most = min(self.rows, self._most_rows(target))
        if rows <= most:
            return None
        return (
            f"a tile of {rows} rows and {blocks} blocks: the target's "
            f"{target.num_vector_registers} registers, {self.gates} gates and {self.rows} rows "
            f"allow 1 to {most} rows"
        )

    def packed_elements(self, target: Target) -> int:
        """The size of the packed weights."""
        lanes = target.lanes(32)
        return self.units * self.gates * -(-self.units // lanes) * lanes


def pack_recurrence(
    weights: np.ndarray, shape: StepShape, target: Target, out: np.ndarray
) -> None:
    """[units, gates * units] as the kernel reads it, flat, into `out`."""
    lanes, group = target.lanes(32), shape.group
    steps = shape.units // group
    blocks, groups = shape.blocks(target), shape.groups(target)
    width, end = blocks * lanes, groups * blocks * lanes
    by_gate = weights.reshape(steps, group, shape.gates, shape.units)
    whole = out[: shape.units * shape.gates * end]
    target_view = whole.reshape(groups, steps, shape.gates, width, group)
    source = by_gate[..., :end].reshape(steps, group, shape.gates, groups, width)
    target_view[:] = source.transpose(3, 0, 2, 4, 1)
    rest = out[whole.size :].reshape(steps, shape.gates, -1, group)
    rest[:, :, : shape.units - end] = by_gate[..., end:].transpose(0, 2, 3, 1)
    rest[:, :, shape.units - end :] = 0
