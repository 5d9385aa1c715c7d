"""Moves units between neighbouring parts where fewer bytes cross then.

The method is that of Kernighan and Lin (1970) in the form of Fiduccia and Mattheyses (1982): in
a pass, each unit moves at most once, the one that saves most first, also where it saves nothing;
the pass ends where it was best. So pairs are exchanged, and valleys are left. Passes go on while
they save.

    moves     a unit to a device between those of what it reads from and those of its readers,
              so that parts, in the order of their devices, never read from later ones
    bounds    seconds and memory of each device; on the way a part may be too large by one unit,
              but only a state within all bounds counts as an end

The result never crosses more bytes than what it begins with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isinf

from glow.passes.graph.partition.cut_order import TRANSFER_BYTES_PER_SECOND, Bounds
from glow.passes.graph.partition.graph import flow_bytes
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.problem import Problem

PATIENCE = 64
"""Moves in a row that save nothing, behind which a pass ends."""

PASSES = 12


def refine(problem: Problem, labels: Sequence[int], bounds: Bounds) -> list[int]:
    """Labels with at most as many bytes that cross; those given must be within the bounds."""
    best = list(labels)
    for _ in range(PASSES):
        better = _Pass(problem, best, bounds).run()
        if better is None:
            break
        best = better
    return best


class _Pass:
    """One pass, from labels that keep to the bounds."""

    def __init__(self, problem: Problem, labels: Sequence[int], bounds: Bounds) -> None:
        self.problem, self.graph, self.bounds = problem, problem.graph, bounds
        self.labels = list(labels)
        self.loads = [0.0] * len(problem.devices)
        for unit, device in enumerate(labels):
            self.loads[device] += problem.seconds[device][unit]
        largest = max((max(s) for s in _finite(problem.seconds)), default=0.0)
        self.slack = bounds.seconds + largest
        self.free = set(range(len(labels)))
        self.gains: dict[tuple[int, int], int] = {}
        for unit in self.free:
            self._update(unit)

    def run(self) -> list[int] | None:
        """The best labels on the way, if fewer bytes cross than at the start."""
        saved = best = since = 0
        result: list[int] | None = None
        while since < PATIENCE and (move := self._best_move()) is not None:
            saved += self.gains[move]
            self._move(*move)
            since += 1
            if saved > best and self._is_within():
                best, since, result = saved, 0, list(self.labels)
        return result

    def _best_move(self) -> tuple[int, int] | None:
        """The move that saves most, of those that no part is much too large behind."""
        best: tuple[int, int, int] | None = None
        for (unit, device), gain in self.gains.items():
            if best is not None and (gain, -unit, -device) <= best:
                continue
            added = self.problem.seconds[device][unit]
            if self.loads[device] + added <= self.slack:
                best = gain, -unit, -device
        return None if best is None else (-best[1], -best[2])

    def _move(self, unit: int, device: int) -> None:
        """Move a unit, which then stays."""
        old = self.labels[unit]
        self.loads[old] -= self.problem.seconds[old][unit]
        self.loads[device] += self.problem.seconds[device][unit]
        self.labels[unit] = device
        self.free.discard(unit)
        self._forget(unit)
        for other in self._near(unit):
            self._forget(other)
            if other in self.free:
                self._update(other)

    def _near(self, unit: int) -> set[int]:
        """The units whose gains depend on where a unit is."""
        near: set[int] = set()
        for number in (*self.graph.reads[unit], *self.graph.gives[unit]):
            flow = self.graph.flows[number]
            near.update(flow.readers)
            if flow.source is not None:
                near.add(flow.source)
        return near - {unit}

    def _forget(self, unit: int) -> None:
        for device in range(len(self.problem.devices)):
            self.gains.pop((unit, device), None)

    def _update(self, unit: int) -> None:
        for device in self._allowed(unit):
            self.gains[unit, device] = self._gain(unit, device)

    def _allowed(self, unit: int) -> Iterator[int]:
        """The other devices that a unit may move to."""
        before = (self.labels[one] for one in self.graph.predecessors[unit])
        after = (self.labels[one] for one in self.graph.successors[unit])
        last = len(self.problem.devices) - 1
        for device in range(max(before, default=0), min(after, default=last) + 1):
            is_other = device != self.labels[unit]
            if is_other and not isinf(self.problem.seconds[device][unit]):
                yield device

    def _gain(self, unit: int, device: int) -> int:
        """The bytes that cross less where a unit is on another device."""
        flows = [
            self.graph.flows[number]
            for number in {*self.graph.reads[unit], *self.graph.gives[unit]}
        ]
        old = self.labels[unit]
        before = sum(flow_bytes(flow, self.labels) for flow in flows)
        self.labels[unit] = device
        after = sum(flow_bytes(flow, self.labels) for flow in flows)
        self.labels[unit] = old
        return before - after

    def _is_within(self) -> bool:
        """Whether all parts keep to the bounds."""
        return is_within(self.problem, self.labels, self.bounds)


def is_within(problem: Problem, labels: Sequence[int], bounds: Bounds) -> bool:
    """Whether the part of each device keeps to the seconds and to the device's memory."""
    graph = problem.graph
    for device in range(len(problem.devices)):
        units = [unit for unit, label in enumerate(labels) if label == device]
        seconds = problem.load(device, units)
        if bounds.with_transfer:
            seconds += _read_bytes(problem, labels, device) / TRANSFER_BYTES_PER_SECOND
        if seconds > bounds.seconds * (1 + 1e-9):
            return False
        limit = problem.devices[device].memory_bytes
        if limit is not None and MemoryUse(graph, units).nbytes > limit:
            return False
    return True


def _read_bytes(problem: Problem, labels: Sequence[int], device: int) -> int:
    """The bytes that the part of a device reads from others."""
    return sum(
        flow.nbytes
        for flow in problem.graph.flows
        if flow.source is not None
        and labels[flow.source] != device
        and any(labels[reader] == device for reader in flow.readers)
    )


def _finite(table: Sequence[Sequence[float]]) -> Iterator[list[float]]:
    for row in table:
        yield [number for number in row if number != inf] or [0.0]
