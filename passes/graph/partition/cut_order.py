"""Cuts an order of the units into one stretch a device.

`fill` is greedy: each device gets as many of the next units as its bounds allow. `cut` finds,
among all ways to cut the order within the bounds, the one with the fewest bytes that cross: a
stretch costs the bytes of the values that it reads from those before it, so that the best cut of
a beginning into one stretch less is part of the best cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf, isinf
from random import Random

from glow.passes.graph.partition.graph import UnitGraph
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.problem import Problem

TRANSFER_BYTES_PER_SECOND = 5e9
"""Of values between devices of one machine: a copy."""


DRAWN_ORDERS = 16
"""Beside the order of the text: a branching graph has better ones."""


FEW_ORDERS = 2
"""Of a large graph."""

PLACES = 256
"""Where a large graph may be cut."""


@dataclass(frozen=True)
class Bounds:
    """What a stretch may take."""

    seconds: float = inf
    with_transfer: bool = False
    """Whether what it reads from before counts with the time that a copy takes."""


class Stretch:
    """Neighbours in an order that grow by one at the end."""

    def __init__(self, problem: Problem, device: int) -> None:
        self.problem = problem
        self.device = device
        self.compute = 0.0
        self.read_bytes = 0
        self.memory = MemoryUse(problem.graph) if problem.has_limits() else None
        self._inside = set[int]()
        self._read = set[int]()

    def add(self, unit: int) -> None:
        """One more unit."""
        graph = self.problem.graph
        self.compute += self.problem.seconds[self.device][unit]
        self._inside.add(unit)
        for number in graph.reads[unit]:
            flow = graph.flows[number]
            is_new = number not in self._read and flow.source is not None
            if is_new and flow.source not in self._inside:
                self._read.add(number)
                self.read_bytes += flow.nbytes
        if self.memory is not None:
            self.memory.add(unit)

    def seconds(self, bounds: Bounds) -> float:
        """What it takes, by the bounds' measure."""
        moved = self.read_bytes / TRANSFER_BYTES_PER_SECOND
        return self.compute + (moved if bounds.with_transfer else 0.0)

    def keeps(self, bounds: Bounds) -> bool:
        """Whether it is within the bounds, and in the memory of its device."""
        if isinf(self.compute) or self.seconds(bounds) > bounds.seconds:
            return False
        return self.memory is None or self.problem.fits(self.device, self.memory.nbytes)

    def is_over(self, bounds: Bounds) -> bool:
        """Whether it is out of the bounds for good, however it grows."""
        if isinf(self.compute) or self.compute > bounds.seconds:
            return True
        return self.memory is not None and not self.problem.fits(
            self.device, self.memory.constants
        )


def orders(graph: UnitGraph) -> Iterator[list[int]]:
    """The order of the text, and others that follow a chain before the next one begins.

    Half of these follow chains from their ends. Where several go on, one is drawn, the same
    each time.
    """
    yield list(range(len(graph)))
    no_labels = [0] * len(graph)
    for seed in range(DRAWN_ORDERS if len(graph) <= PLACES else FEW_ORDERS):
        yield drawn_order(graph, no_labels, seed)


def drawn_order(graph: UnitGraph, labels: Sequence[int], seed: int) -> list[int]:
    """An order with lower labels first, where units follow each other along chains."""
    random = Random(seed)
    if seed % 2 == 0:
        return _chains(graph.predecessors, graph.successors, labels, random)
    last = max(labels, default=0)
    turned = [last - label for label in labels]
    return _chains(graph.successors, graph.predecessors, turned, random)[::-1]


def _chains(
    before: Sequence[set[int]],
    after: Sequence[set[int]],
    labels: Sequence[int],
    random: Random,
) -> list[int]:
    """Units behind those before them, the one that became ready last first."""
    waiting = [len(some) for some in before]
    ready = [unit for unit, count in enumerate(waiting) if count == 0]
    random.shuffle(ready)
    order: list[int] = []
    while ready:
        lowest = min(labels[unit] for unit in ready)
        unit = next(unit for unit in reversed(ready) if labels[unit] == lowest)
        ready.remove(unit)
        order.append(unit)
        following = sorted(after[unit])
        random.shuffle(following)
        for other in following:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return order


def longest(
    problem: Problem, order: Sequence[int], start: int, device: int, bounds: Bounds
) -> int:
    """The end of the longest stretch from a start that a device may have."""
    stretch, end = Stretch(problem, device), start
    for place in range(start, len(order)):
        stretch.add(order[place])
        if stretch.is_over(bounds):
            break
        if stretch.keeps(bounds):
            end = place + 1
    return end


def fill(problem: Problem, order: Sequence[int], bounds: Bounds) -> list[int]:
    """The device of each unit of a beginning of the order, the longest that there is room for.

    It is as long as the order where all fit.
    """
    devices: list[int] = []
    for device in range(len(problem.devices)):
        end = longest(problem, order, len(devices), device, bounds)
        devices += [device] * (end - len(devices))
    return devices


def by_unit(order: Sequence[int], devices: Sequence[int]) -> list[int] | None:
    """The device of each unit by number, of those along an order; None if some have none."""
    if len(devices) < len(order):
        return None
    return [device for _, device in sorted(zip(order, devices, strict=True))]


def cut(
    problem: Problem, order: Sequence[int], bounds: Bounds
) -> tuple[int, list[int]] | None:
    """The fewest bytes that cross, and the device of each unit by number; None if none fit.

    Of cuts that are as good, the first devices get more. Of a long order some places are looked
    at: the greedy ones, and in each of `PLACES` windows the one that fewest bytes cross.
    """
    size, count = len(order), len(problem.devices)
    places = _places(problem, order, bounds)
    best: list[dict[int, tuple[int, int]]] = [{0: (0, 0)}]
    for device in range(count):
        reached: dict[int, tuple[int, int]] = {}
        for start, (before, _) in best[-1].items():
            for end, crossing in _ends(problem, order, start, device, bounds):
                if end not in places:
                    continue
                found = before + crossing, -start
                if end not in reached or found < reached[end]:
                    reached[end] = found
        best.append(reached)
    if size not in best[-1]:
        return None
    labels, end = [0] * size, size
    for device in reversed(range(count)):
        start = -best[device + 1][end][1]
        for unit in order[start:end]:
            labels[unit] = device
        end = start
    return best[-1][size][0], labels


def _places(problem: Problem, order: Sequence[int], bounds: Bounds) -> set[int]:
    """The places of an order where a stretch may end."""
    size = len(order)
    if size <= PLACES:
        return set(range(size + 1))
    crossing = _bytes_across(problem.graph, order)
    starts = [number * size // PLACES for number in range(PLACES + 1)]
    windows = (range(first, end) for first, end in pairwise(starts))
    least = {min(window, key=crossing.__getitem__) for window in windows}
    filled = fill(problem, order, bounds)
    changes = {n for n in range(1, len(filled)) if filled[n] != filled[n - 1]}
    return least | changes | {0, size}


def _bytes_across(graph: UnitGraph, order: Sequence[int]) -> list[int]:
    """The bytes that cross each place of an order, each value once."""
    place = {unit: number for number, unit in enumerate(order)}
    steps = [0] * (len(order) + 1)
    for flow in graph.flows:
        if flow.source is not None and flow.readers:
            steps[place[flow.source] + 1] += flow.nbytes
            steps[max(place[reader] for reader in flow.readers) + 1] -= flow.nbytes
    return list(accumulate(steps))


def _ends(
    problem: Problem, order: Sequence[int], start: int, device: int, bounds: Bounds
) -> Iterator[tuple[int, int]]:
    """The ends of stretches from a start that a device may have, with the bytes they read."""
    yield start, 0
    stretch = Stretch(problem, device)
    for place in range(start, len(order)):
        stretch.add(order[place])
        if stretch.is_over(bounds):
            return
        if stretch.keeps(bounds):
            yield place + 1, stretch.read_bytes


def smallest_bound(
    problem: Problem, order: Sequence[int], with_transfer: bool
) -> float | None:
    """The seconds of the slowest stretch where that is as fast as can be; None if none fit."""

    def reaches(seconds: float) -> bool:
        return len(fill(problem, order, Bounds(seconds, with_transfer))) == len(order)

    return bisect_bound(reaches, problem)


def bisect_bound(reaches: Callable[[float], bool], problem: Problem) -> float | None:
    """The smallest number of seconds that is enough, to a thousandth."""
    if not reaches(inf):
        return None
    finite = [s for seconds in problem.seconds for s in seconds if not isinf(s)]
    low, high = 0.0, 2 * sum(finite) + 1e-9
    while not reaches(high):
        high *= 2
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
