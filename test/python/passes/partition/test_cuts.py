"""Cuts of random graphs: valid, never worse than the greedy one, and near the best there is."""

from math import inf

import pytest
from support.runtime.unit_graphs import (
    RandomGraph,
    best_bytes,
    memory_of,
    random_problem,
)

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.balance import balance_devices
from glow.passes.graph.partition.cut_order import Bounds, orders, smallest_bound
from glow.passes.graph.partition.graph import crossing_bytes
from glow.passes.graph.partition.memory import fill_within, memory_devices, smallest_cut
from glow.passes.graph.partition.parts import form_parts
from glow.passes.graph.partition.pipeline import pipeline_devices
from glow.passes.graph.partition.problem import Problem
from glow.passes.graph.partition.refine import is_within, refine

GRAPHS = range(75)
FACTOR = 3
"""Of the fewest bytes that can cross, what cuts have at most; 300 graphs came to 2.74."""

OPTIMAL = 0.8
"""The share of graphs whose cut is the best; of 300 it was 0.93."""


def problem_of(seed: int, memory_bytes: int | None = None) -> Problem:
    return random_problem(RandomGraph(3 + seed % 14, seed), 2 + seed % 2, memory_bytes)


def bounds_of(problem: Problem) -> Bounds:
    found = (smallest_bound(problem, order, False) for order in orders(problem.graph))
    return Bounds(1.1 * min(one for one in found if one is not None))


def check_order(problem: Problem, labels: list[int]) -> None:
    """No part reads from a later one."""
    assert len(labels) == len(problem.graph)
    for unit, before in enumerate(problem.graph.predecessors):
        assert all(labels[one] <= labels[unit] for one in before)


def test_cuts_are_near_the_best() -> None:
    optimal = 0
    for seed in GRAPHS:
        problem = problem_of(seed)
        bounds = bounds_of(problem)
        labels = smallest_cut(problem, bounds)
        check_order(problem, labels)
        assert is_within(problem, labels, bounds)
        crossing = crossing_bytes(problem.graph, labels)
        best = best_bytes(problem, bounds)
        assert best <= crossing <= FACTOR * best, seed
        optimal += crossing == best
    assert optimal >= OPTIMAL * len(GRAPHS)


@pytest.mark.parametrize("memory_bytes", [None, 700])
def test_moves_never_cross_more_than_greedy(memory_bytes: int | None) -> None:
    compared = improved = 0
    for seed in GRAPHS:
        problem = problem_of(seed, memory_bytes)
        order = list(range(len(problem.graph)))
        bounds = Bounds(smallest_bound(problem, order, False) or inf)
        before = fill_within(problem, order, bounds)
        if before is None:
            continue  # The devices do not hold the network.
        after = refine(problem, before, bounds)
        check_order(problem, after)
        assert is_within(problem, after, bounds)
        saved = crossing_bytes(problem.graph, before)
        saved -= crossing_bytes(problem.graph, after)
        assert saved >= 0
        compared, improved = compared + 1, improved + (saved > 0)
    assert compared > 40
    assert improved > compared / 5


def test_parts_fit_memory_or_the_error_names_a_node() -> None:
    fits, errors = 0, list[GlowError]()
    for seed in GRAPHS:
        problem = problem_of(seed, 500)
        for choose in (memory_devices, balance_devices, pipeline_devices):
            try:
                labels = choose(problem)
            except GlowError as error:
                errors.append(error)
                continue
            fits += 1
            check_order(problem, labels)
            problem.check(form_parts(problem.graph, labels))
            for device in range(len(problem.devices)):
                assert memory_of(problem, labels, device) <= 500
    assert fits > 60
    assert len(errors) > 10
    for error in errors:
        assert error.node is not None
        assert "more than there are" in error.message


def test_as_few_devices_as_hold_the_network() -> None:
    graph = RandomGraph(12, 3)
    whole = memory_of(random_problem(graph, 1), [0] * 12, 0)
    assert set(memory_devices(random_problem(graph, 3, whole))) == {0}
    assert set(memory_devices(random_problem(graph, 3, whole - 1))) == {0, 1}


def test_the_tolerance_trades_balance_for_bytes() -> None:
    for seed in GRAPHS[:20]:
        problem = problem_of(seed)
        crossing = [
            crossing_bytes(problem.graph, balance_devices(problem, tolerance))
            for tolerance in (0.0, 100.0)
        ]
        assert crossing[1] == 0 <= crossing[0]


def test_parts_of_any_choice_have_no_circle() -> None:
    import numpy as np

    for seed in GRAPHS:
        graph = RandomGraph(3 + seed % 14, seed)
        random = np.random.default_rng(seed)
        devices = [int(d) for d in random.integers(0, 3, len(graph))]
        parts = form_parts(graph, devices)
        place = {unit: n for n, part in enumerate(parts) for unit in part.units}
        assert sorted(place) == list(range(len(graph)))
        for unit, before in enumerate(graph.predecessors):
            assert devices[unit] == parts[place[unit]].device
            assert all(place[one] <= place[unit] for one in before)
