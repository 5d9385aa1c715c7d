"""Random graphs of units for the partitioner, and their best cuts, found by trying all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np

from glow.passes.graph.partition.cut_order import Bounds
from glow.passes.graph.partition.devices import PartitionDevice
from glow.passes.graph.partition.graph import Flow, crossing_bytes
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.problem import Problem
from glow.passes.graph.partition.refine import is_within


class RandomGraph:
    """What strategies look at of a `UnitGraph`, without any IR."""

    def __init__(self, size: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.units = [_unit(number, random) for number in range(size)]
        readers: list[set[int]] = [set() for _ in range(size)]
        for unit in range(1, size):
            near = max(0, unit - int(random.integers(2, size)))
            for _ in range(int(random.integers(0, 3))):
                readers[int(random.integers(near, unit))].add(unit)
        self.flows = [
            Flow(
                None, unit, tuple(sorted(some)), int(random.integers(1, 100)), not some
            )
            for unit, some in enumerate(readers)
        ]
        self.predecessors = [set() for _ in range(size)]
        self.successors = [set(some) for some in readers]
        self.gives = [[unit] for unit in range(size)]
        self.reads = [[] for _ in range(size)]
        for unit, some in enumerate(readers):
            for reader in some:
                self.predecessors[reader].add(unit)
                self.reads[reader].append(unit)

    def __len__(self) -> int:
        return len(self.units)


def _unit(number: int, random: np.random.Generator) -> SimpleNamespace:
    """A unit of one operation, with a constant of its own."""
    constants = {number: int(random.integers(0, 64))}
    op = SimpleNamespace(walk=list, seconds=float(random.integers(1, 20)))
    return SimpleNamespace(constants=constants, name=f"n{number}", ops=(op,))


def random_problem(
    graph: RandomGraph, count: int, memory_bytes: int | None = None
) -> Problem:
    """A graph on devices of one kind, whose memory may be limited."""
    devices = [
        PartitionDevice(f"cpu:{number}", "cpu", memory_bytes) for number in range(count)
    ]
    return Problem(graph, devices, {}, lambda _, op: op.seconds)


def all_choices(problem: Problem, bounds: Bounds) -> Iterator[list[int]]:
    """Every choice of devices in which no part reads from a later one, within the seconds."""
    graph, count = problem.graph, len(problem.devices)
    labels: list[int] = []
    loads = [0.0] * count

    def extend() -> Iterator[list[int]]:
        unit = len(labels)
        if unit == len(graph):
            yield labels
            return
        first = max((labels[one] for one in graph.predecessors[unit]), default=0)
        for device in range(first, count):
            seconds = problem.seconds[device][unit]
            if loads[device] + seconds > bounds.seconds * (1 + 1e-9):
                continue
            labels.append(device)
            loads[device] += seconds
            yield from extend()
            labels.pop()
            loads[device] -= seconds

    yield from extend()


def best_bytes(problem: Problem, bounds: Bounds) -> int:
    """The fewest bytes that can cross within bounds."""
    return min(
        crossing_bytes(problem.graph, labels)
        for labels in all_choices(problem, bounds)
        if not problem.has_limits() or is_within(problem, labels, bounds)
    )


def memory_of(problem: Problem, labels: Sequence[int], device: int) -> int:
    """The bytes of a device's part."""
    units = [unit for unit, label in enumerate(labels) if label == device]
    return MemoryUse(problem.graph, units).nbytes
