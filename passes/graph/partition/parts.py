"""The parts that a choice of a device for each unit gives: few, large, and in no circle.

Units of one device are a part while what they read of other devices allows: a unit's level is
the number of times that the longest way to it changes the device, and those of one level on one
device are together. Then parts of one device are joined where no way leads out of one through
another device into the other.

    cpu     a    c    d          parts: {a, d} on cpu, {b} on npu, {c} on cpu
    npu       b                  (a -> b -> c, and d reads a alone)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glow.passes.graph.partition.graph import UnitGraph


@dataclass(frozen=True)
class Part:
    """Units that are a function, and the number of their device."""

    device: int
    units: tuple[int, ...]


def form_parts(graph: UnitGraph, devices: Sequence[int]) -> list[Part]:
    """The parts for a device number a unit, each behind those that it reads from."""
    levels: list[int] = []
    for unit, device in enumerate(devices):
        before = graph.predecessors[unit]
        steps = (levels[one] + (devices[one] != device) for one in before)
        levels.append(max(steps, default=0))
    groups: dict[tuple[int, int], list[int]] = {}
    for unit, key in enumerate(zip(levels, devices, strict=True)):
        groups.setdefault(key, []).append(unit)
    members = [groups[key] for key in sorted(groups)]
    joined = _joined(graph, members, [device for _, device in sorted(groups)])
    return [Part(devices[units[0]], tuple(units)) for units in joined]


def _joined(
    graph: UnitGraph, members: list[list[int]], devices: list[int]
) -> list[list[int]]:
    """The groups with those of one device joined while that makes no circle."""
    quotient = Quotient(graph, members)
    first = 0
    while first < len(quotient.members):
        second = first + 1
        while second < len(quotient.members):
            if devices[first] == devices[second] and quotient.may_join(first, second):
                quotient.join(first, second)
                del devices[second]
            else:
                second += 1
        first += 1
    return [sorted(quotient.members[number]) for number in quotient.order()]


class Quotient:
    """Groups of units, and which read from which; reachability is a set of bits a group."""

    def __init__(self, graph: UnitGraph, members: list[list[int]]) -> None:
        self.graph = graph
        self.members = members
        self._update()

    def _update(self) -> None:
        group = {unit: n for n, units in enumerate(self.members) for unit in units}
        self.after = [
            {group[reader] for unit in units for reader in self.graph.successors[unit]}
            - {number}
            for number, units in enumerate(self.members)
        ]
        self.reach = [0] * len(self.members)
        for number in reversed(self.order()):
            for reader in self.after[number]:
                self.reach[number] |= self.reach[reader] | 1 << reader

    def order(self) -> list[int]:
        """The groups, each behind those that it reads from, early ones of the text first.

        Those in a circle are left out.
        """
        waiting = [0] * len(self.members)
        for readers in self.after:
            for reader in readers:
                waiting[reader] += 1
        ready = {n for n, count in enumerate(waiting) if count == 0}
        order: list[int] = []
        while ready:
            number = min(ready, key=lambda n: self.members[n][0])
            ready.remove(number)
            order.append(number)
            for reader in self.after[number]:
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    ready.add(reader)
        return order

    def may_join(self, one: int, other: int) -> bool:
        """Whether no way leads from one to the other through a third."""
        for start, end in ((one, other), (other, one)):
            steps = self.after[start] - {end}
            if any(self.reach[step] >> end & 1 for step in steps):
                return False
        return True

    def join(self, one: int, other: int) -> None:
        """Make two groups one."""
        self.members[one] = sorted(self.members[one] + self.members[other])
        del self.members[other]
        self._update()
