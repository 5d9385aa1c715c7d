"""Strategy `balance`: devices take about the same time, and few bytes cross.

    --partition='devices=cpu*2 strategy=balance tolerance=0.05'

The slowest part is first made as fast as a cut of the network's order allows. Then parts may
take longer than that by `tolerance`, a share, to let fewer bytes cross. The time of a part is
the sum of the backend's estimates (`cost.py`).
"""

from __future__ import annotations

from glow.passes.graph.partition.cut_order import Bounds, orders, smallest_bound
from glow.passes.graph.partition.memory import fill_within, memory_devices, smallest_cut
from glow.passes.graph.partition.problem import Problem

TOLERANCE = 0.1


def balance_devices(problem: Problem, tolerance: float = TOLERANCE) -> list[int]:
    """The device of each unit; raises GlowError where the devices do not hold the network."""
    return balanced(problem, tolerance, with_transfer=False)


def balanced(problem: Problem, tolerance: float, *, with_transfer: bool) -> list[int]:
    """The device of each unit, where the slowest is at most so much slower than the best."""
    problem.check_supported()
    bounds: list[float] = []
    for order in orders(problem.graph):
        bound = smallest_bound(problem, order, with_transfer)
        if bound is not None:
            limits = Bounds(bound, with_transfer)
            if fill_within(problem, order, limits) is not None:
                bounds.append(bound)
    if not bounds:
        return memory_devices(problem)  # Which says what does not fit.
    return smallest_cut(problem, Bounds(min(bounds) * (1 + tolerance), with_transfer))
