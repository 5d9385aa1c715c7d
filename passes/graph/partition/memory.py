"""Strategy `memory`: as few devices as hold the network, in their order.

    --partition='devices=cpu*3:64MiB strategy=memory'

Greedy in the order of the text: each device gets as many nodes as its memory holds, and devices
that are left over get none. Among the cuts of this order that fit, the one with the fewest
crossing bytes is refined (`refine.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.cut_order import (
    PLACES,
    Bounds,
    by_unit,
    cut,
    drawn_order,
    fill,
    orders,
)
from glow.passes.graph.partition.graph import crossing_bytes
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.problem import Problem, too_large
from glow.passes.graph.partition.refine import is_within, refine

NO_BOUNDS = Bounds()

AGAIN = 4
"""Orders that a cut is improved in at a time."""


def memory_devices(problem: Problem) -> list[int]:
    """The device of each unit; raises GlowError that names the first node without room."""
    problem.check_supported()
    filled = [fill_within(problem, order, NO_BOUNDS) for order in orders(problem.graph)]
    counts = [max(labels, default=0) + 1 for labels in filled if labels is not None]
    if not counts:
        raise _no_room(problem)
    fewer = replace(problem, devices=problem.devices[: min(counts)])
    return smallest_cut(fewer, NO_BOUNDS)


def fill_within(
    problem: Problem, order: Sequence[int], bounds: Bounds
) -> list[int] | None:
    """The greedy choice along an order, if all units find room.

    Along another order than the text's, in which parts run, less may be alive at once: so what
    it comes to is looked at again.
    """
    labels = by_unit(order, fill(problem, order, bounds))
    return labels if labels is not None and _fits(problem, labels, bounds) else None


def _fits(problem: Problem, labels: Sequence[int], bounds: Bounds) -> bool:
    return not problem.has_limits() or is_within(problem, labels, bounds)


def smallest_cut(problem: Problem, bounds: Bounds) -> list[int]:
    """The device of each unit, within bounds that some order can be filled in.

    What is best so far is cut again in orders that it is a cut of, until that saves nothing.
    """
    graph = problem.graph
    best = _best_cut(problem, bounds, orders(graph))
    assert best is not None
    while best[0] > 0:
        labels = best[1]
        seeds = range(AGAIN if len(graph) <= PLACES else 1)
        again = (drawn_order(graph, labels, seed) for seed in seeds)
        other = _best_cut(problem, bounds, again)
        if other is None or other[0] >= best[0]:
            break
        best = other
    return best[1]


def _best_cut(
    problem: Problem, bounds: Bounds, some: Iterable[list[int]]
) -> tuple[int, list[int]] | None:
    """The fewest bytes that cross where orders are cut and refined, and the devices."""
    found = (labels for order in some for labels in _choices(problem, order, bounds))
    refined = (refine(problem, labels, bounds) for labels in found)
    return min(
        ((crossing_bytes(problem.graph, labels), labels) for labels in refined),
        default=None,
    )


def _choices(
    problem: Problem, order: Sequence[int], bounds: Bounds
) -> Iterator[list[int]]:
    """The best cut of an order; the greedy one where parts do not fit so."""
    found = cut(problem, order, bounds)
    if found is not None and _fits(problem, found[1], bounds):
        yield found[1]
    elif (labels := fill_within(problem, order, bounds)) is not None:
        yield labels


def _no_room(problem: Problem) -> GlowError:
    """The error for the first unit of the text that finds no room."""
    order = range(len(problem.graph))
    chosen = fill(problem, order, NO_BOUNDS)
    unit = len(chosen)
    able = [n for n, reasons in enumerate(problem.reasons) if reasons[unit] is None]
    needed = MemoryUse(problem.graph, [unit]).nbytes
    if any(problem.fits(device, needed) for device in able):  # By itself.
        able = able[-1:]
        beside = [one for one in order[:unit] if chosen[one] == able[0]]
        needed = MemoryUse(problem.graph, [*beside, unit]).nbytes
    devices = [problem.devices[device] for device in able]
    return too_large(problem.graph, unit, devices, needed)
