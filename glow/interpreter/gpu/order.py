"""What happened before what: which events of others each warp of a block knows of.

Warps and barriers with phases have a clock each, and know how far those of others had come when
they last heard of them (vector clocks: Mattern, Virtual Time and Global States, 1988). Who arrives
at a barrier tells it what it knows; who has waited knows what the barrier does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from glow.interpreter.arrays import Array


class Stamp(NamedTuple):
    """An event: the time of a clock."""

    clock: int
    time: int


class Order:
    """The clocks of a block: those of its warps, then those of barriers."""

    def __init__(self, warps: int) -> None:
        self.warps = warps
        self.known = np.eye(warps, dtype=np.int64)
        """What each clock [row] knows of each."""

    def add(self) -> int:
        """A new clock."""
        number = len(self.known)
        self.known = np.pad(self.known, (0, 1))
        self.known[number, number] = 1
        return number

    def now(self, clock: int) -> Stamp:
        """What happens now."""
        return Stamp(clock, int(self.known[clock, clock]))

    def tell(self, clock: int, other: int) -> None:
        """The other clock learns what one knows; what that does from now on is news."""
        self.learn(other, self.known[clock])
        self.known[clock, clock] += 1

    def learn(self, clock: int, known: Array) -> None:
        """A clock learns what was known, maybe before there were others."""
        own = self.known[clock, : len(known)]
        np.maximum(own, known, out=own)

    def meet(self) -> None:
        """All warps know what each knows; what one does from now on is news."""
        self.known[: self.warps] = self.known[: self.warps].max(0)
        own = np.arange(self.warps)
        self.known[own, own] += 1

    def knows(self, warp: int, event: Stamp) -> bool:
        """Whether an event has happened before what a warp does now."""
        return bool(self.known[warp, event.clock] >= event.time)
