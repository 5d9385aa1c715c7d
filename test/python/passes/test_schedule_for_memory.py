"""The order of instructions against brute force over all orders."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from glow.passes.instr.dependencies import Dependencies
from glow.passes.instr.order_search import OrderSearch
from glow.passes.instr.schedule_for_memory import (
    best_order,
    least_peak,
    nearest_end_order,
    peak_of,
)


def random_graph(count: int, seed: int, density: float = 0.35) -> Dependencies:
    """Instructions that each write one buffer and read some of the last few."""
    choose = random.Random(seed)
    before: list[set[int]] = [set() for _ in range(count)]
    after: list[set[int]] = [set() for _ in range(count)]
    uses = [[number] for number in range(count)]
    for number in range(count):
        for other in range(max(0, number - 6), number):
            if choose.random() < density:
                before[number].add(other)
                after[other].add(number)
                uses[number].append(other)
    sizes = [64 * choose.randint(1, 50) for _ in range(count)]
    return Dependencies(before, after, uses, sizes)


def all_orders(graph: Dependencies, order: list[int]) -> Iterator[list[int]]:
    """Every order that the graph allows and that starts like this."""
    if len(order) == len(graph.before):
        yield order
    for number, needed in enumerate(graph.before):
        if number not in order and needed <= set(order):
            yield from all_orders(graph, [*order, number])


@pytest.mark.parametrize("seed", range(40))
def test_small_graphs_are_ordered_optimally(seed: int) -> None:
    graph = random_graph(7, seed)
    order = best_order(graph)
    peaks = [peak_of(graph, other) for other in all_orders(graph, [])]
    assert list(order) in all_orders(graph, [])
    assert peak_of(graph, order) == min(peaks)
    assert least_peak(graph) <= min(peaks)


def test_branches_of_many_steps_are_ordered_optimally() -> None:
    """Four chains of eight: each shrinks, so they run one after the other."""
    sizes = [64 * (8 - step) for _ in range(4) for step in range(8)]
    count = len(sizes)
    before = [{n - 1} if n % 8 else set[int]() for n in range(count)]
    after = [{n + 1} if n % 8 < 7 else set[int]() for n in range(count)]
    uses = [[n, *before[n]] for n in range(count)]
    for number in range(4):  # one more instruction reads all ends
        after[8 * number + 7].add(count)
    before.append({8 * number + 7 for number in range(4)})
    after.append(set())
    uses.append(sorted(before[-1]))
    graph = Dependencies(before, after, uses, sizes)
    wide = [number for step in range(8) for number in range(step, count, 8)]
    search = OrderSearch(graph).run(peak_of(graph, [*wide, count]))
    assert search is not None
    assert peak_of(graph, search) == 64 * (8 + 7 + 3)


def test_a_spent_budget_gives_no_order() -> None:
    graph = random_graph(40, 0, density=0.1)
    assert OrderSearch(graph).run(10**9, most_steps=10) is None


def test_weights_are_updated_as_soon_as_their_gradients_are_known() -> None:
    """A chain there and back: step n back reads what step n made, and so does update n."""
    steps = 40
    there, back, updates = (range(k * steps, (k + 1) * steps) for k in range(3))
    before: list[set[int]] = [{n - 1} & set(there) for n in there]
    before += [{n - 1, 2 * steps - 1 - n} for n in back]
    before += [{n - steps, 3 * steps - 1 - n} for n in updates]
    uses = [[n, *needed] for n, needed in enumerate(before)]
    before.append(set(range(3 * steps)))  # the terminator
    uses.append([])
    after = [
        {m for m, needed in enumerate(before) if n in needed} for n in range(len(uses))
    ]
    graph = Dependencies(before, after, uses, [64] * (3 * steps))
    order = nearest_end_order(graph)
    assert sorted(order) == list(range(len(uses)))
    assert all(order.index(m) < order.index(n) for n in order for m in before[n])
    assert peak_of(graph, order) <= 64 * (steps + 3)
    assert peak_of(graph, range(len(uses))) >= 64 * 2 * steps
