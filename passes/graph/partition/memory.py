"""Strategy `memory`: as few devices as hold the network, in their order.

    --partition='devices=cpu*3:64MiB strategy=memory'

Greedy in the order of the text: each device gets as many nodes as its memory holds, and devices
that are left over get none. Among the cuts of this order that fit, the one with the fewest
crossing bytes is refined (`refine.py`).
"""

from __future__ import annotations

from dataclasses import replace

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.crossing import crossing_bytes
from glow.passes.graph.partition.cut_order import Bounds, cut, fill, orders
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.problem import Problem, too_large
from glow.passes.graph.partition.refine import refine

NO_BOUNDS = Bounds()


def memory_devices(problem: Problem) -> list[int]:
    """The device of each unit; raises GlowError that names the first node without room."""
    problem.check_supported()
    filled = [
        (order, fill(problem, order, NO_BOUNDS)) for order in orders(problem.graph)
    ]
    size = len(problem.graph)
    whole = [(order, devices) for order, devices in filled if len(devices) == size]
    if not whole:
        raise _no_room(problem, *filled[0])
    count = min(max(devices, default=0) + 1 for _, devices in whole)
    fewer = replace(problem, devices=problem.devices[:count])
    return smallest_cut(fewer, NO_BOUNDS)


def smallest_cut(problem: Problem, bounds: Bounds) -> list[int]:
    """The device of each unit within bounds that some cut of an order keeps to."""
    found = [cut(problem, order, bounds) for order in orders(problem.graph)]
    choices = [labels for _, labels in filter(None, found)]
    refined = [refine(problem, labels, bounds) for labels in choices]
    return min(refined, key=lambda labels: crossing_bytes(problem.graph, labels))


def _no_room(problem: Problem, order: list[int], devices: list[int]) -> GlowError:
    """The error for the first unit behind those that have a device."""
    unit = order[len(devices)]
    able = [
        number
        for number, reasons in enumerate(problem.reasons)
        if reasons[unit] is None
    ]
    last = able[-1]
    beside = [
        one for one, device in zip(order, devices, strict=False) if device == last
    ]
    alone = MemoryUse(problem.graph, [unit]).nbytes
    largest = max(problem.devices[number].memory_bytes or 0 for number in able)
    needed = MemoryUse(problem.graph, [*beside, unit]).nbytes
    if alone > largest:
        needed = alone
    some = able if alone > largest else [last]
    return too_large(
        problem.graph, unit, [problem.devices[number] for number in some], needed
    )
