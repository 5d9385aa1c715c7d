"""What a strategy chooses from: units, devices, and what each unit costs on each device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isinf

from xdsl.ir import Operation

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.cost import backend_seconds
from glow.passes.graph.partition.devices import PartitionDevice, in_bytes
from glow.passes.graph.partition.graph import UnitGraph
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.parts import Part
from glow.passes.graph.partition.support import unsupported_reason

Seconds = Callable[[str, Operation], float]
"""What an operation takes on a backend."""


Refused = Mapping[str, frozenset[str]]
"""Operations by kind of device that it should not get, beside those it cannot run."""


@dataclass(frozen=True)
class Problem:
    """A graph and the devices that it is divided between."""

    graph: UnitGraph
    devices: Sequence[PartitionDevice]
    refused: Refused
    seconds_of: Seconds = backend_seconds

    @cached_property
    def reasons(self) -> list[list[str | None]]:
        """Why a device does not run a unit, by device and unit; None where it does."""
        known: dict[str, list[str | None]] = {}
        for device in self.devices:
            kind = device.kind
            if kind not in known:
                refused = self.refused.get(kind, frozenset())
                known[kind] = [
                    unsupported_reason(unit, device.backend, refused)
                    for unit in self.graph.units
                ]
        return [known[device.kind] for device in self.devices]

    @cached_property
    def seconds(self) -> list[list[float]]:
        """What a unit takes, by device and unit; infinite where it cannot run."""
        known: dict[str, list[float]] = {}
        for device in self.devices:
            if device.backend not in known:
                known[device.backend] = [
                    sum(self.seconds_of(device.backend, op) for op in unit.ops)
                    for unit in self.graph.units
                ]
        return [
            [
                inf if reason else cost
                for reason, cost in zip(reasons, known[device.backend], strict=True)
            ]
            for device, reasons in zip(self.devices, self.reasons, strict=True)
        ]

    def load(self, device: int, units: Iterable[int]) -> float:
        """The seconds of units on a device."""
        return sum(self.seconds[device][unit] for unit in units)

    def fits(self, device: int, nbytes: int) -> bool:
        """Whether a device has so much memory."""
        limit = self.devices[device].memory_bytes
        return limit is None or nbytes <= limit

    def has_limits(self) -> bool:
        """Whether the memory of any device is limited."""
        return any(device.memory_bytes is not None for device in self.devices)

    def check(self, parts: Sequence[Part]) -> None:
        """Raise GlowError for a node that its device does not run, or does not hold."""
        taken = [0] * len(self.devices)
        for part in parts:
            use, device = MemoryUse(self.graph), self.devices[part.device]
            for unit in part.units:
                reason = self.reasons[part.device][unit]
                if reason is not None:
                    raise self.unsupported(unit, part.device)
                use.add(unit)
                total = taken[part.device] + use.nbytes
                if not self.fits(part.device, total):
                    raise too_large(self.graph, unit, [device], total)
            taken[part.device] += use.nbytes

    def unsupported(self, unit: int, device: int) -> GlowError:
        """The error for a node on a device that does not run it."""
        reason = self.reasons[device][unit]
        return GlowError(
            f"device '{self.devices[device].name}' does not run "
            f"{self.graph.units[unit].ops[0].name}: {reason}",
            node=self.graph.units[unit].name,
        )

    def check_supported(self) -> None:
        """Raise GlowError for a node that no device runs."""
        for unit in range(len(self.graph)):
            if all(isinf(seconds[unit]) for seconds in self.seconds):
                raise self.unsupported(unit, 0)


def too_large(
    graph: UnitGraph, unit: int, devices: Sequence[PartitionDevice], needed: int
) -> GlowError:
    """The error for a node for which there is no memory on devices."""
    best = max(devices, key=lambda device: device.memory_bytes or 0)
    limit = best.memory_bytes or 0
    names = ", ".join(f"'{device.name}'" for device in devices)
    what = "device" if len(devices) == 1 else "devices"
    return GlowError(
        f"the network does not fit {what} {names}: with this node a part takes "
        f"{in_bytes(needed)}, {in_bytes(needed - limit)} more than there are "
        f"({in_bytes(limit)} on '{best.name}')",
        node=graph.units[unit].name,
        hint="give more devices or more memory",
    )
