"""Reorders instructions so that fewer bytes are alive at once (Glow's scheduler).

The best order is NP-hard to find. Four candidates are cheap and good, and the one with
the lowest peak is kept, the given order on a tie:

- the given order, with each buffer alive from its first to its last use;
- Glow's child-memory-size order: depth first from the results, and of what an
  instruction needs first that which takes the most memory beyond its own result;
- depth first from the ends, the nearest end first: in a step of training each weight is
  updated as soon as its gradient is known, which frees gradients and activations;
- list scheduling: of the instructions that may run next, the one after which the fewest
  bytes are alive.

Where the peak is more than some instruction needs for itself, `order_search` looks for
an order with a lower one: within its budget it finds the lowest.

    relu @out %a, @in %x  (large)           relu @out %a, @in %x
    relu @out %b, @in %y  (large)     ->    pool @out %c, @in %a
    pool @out %c, @in %a  (small)           relu @out %b, @in %y
    pool @out %d, @in %b  (small)           pool @out %d, @in %b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.passes.instr.accesses import AccessTable, functions_of
from glow.passes.instr.arrange import arrange, working_ops
from glow.passes.instr.dependencies import Dependencies, dependencies_of
from glow.passes.instr.order_search import OrderSearch

Order = Sequence[int]

MOST_READY = 64
"""List scheduling looks at so many instructions a step, which keeps it linear."""


def peak_of(graph: Dependencies, order: Order) -> int:
    """The largest number of bytes alive at once."""
    remaining = use_counts(graph)
    started = [False] * len(graph.sizes)
    live = peak = 0
    for number in order:
        for buffer in graph.uses[number]:
            if not started[buffer]:
                started[buffer] = True
                live += graph.sizes[buffer]
        peak = max(peak, live)
        for buffer in graph.uses[number]:
            remaining[buffer] -= 1
            if not remaining[buffer]:
                live -= graph.sizes[buffer]
    return peak


def use_counts(graph: Dependencies) -> list[int]:
    """How many instructions use each buffer."""
    counts = [0] * len(graph.sizes)
    for used in graph.uses:
        for buffer in used:
            counts[buffer] += 1
    return counts


def child_memory_order(graph: Dependencies) -> list[int]:
    """Depth first; of the operations before one, the most demanding first."""
    roots = [number for number, after in enumerate(graph.after) if not after]
    return _depth_first(graph, roots)


def nearest_end_order(graph: Dependencies) -> list[int]:
    """Depth first from what only the terminator waits for; that comes first which has the
    fewest operations before it.
    """
    before: list[int] = []
    for number, needed in enumerate(graph.before):
        reached = 1 << number
        for other in needed:
            reached |= before[other]
        before.append(reached)
    last = {len(graph.after) - 1}
    ends = [number for number, after in enumerate(graph.after) if after <= last]
    return _depth_first(graph, sorted(ends, key=lambda end: before[end].bit_count()))


def _depth_first(graph: Dependencies, roots: Sequence[int]) -> list[int]:
    children = _children_by_need(graph)
    order: list[int] = []
    done = [False] * len(children)
    for root in roots:
        if done[root]:
            continue
        stack = [(root, iter(children[root]))]
        done[root] = True
        while stack:
            number, pending = stack[-1]
            child = next((child for child in pending if not done[child]), None)
            if child is None:
                order.append(number)
                stack.pop()
            else:
                done[child] = True
                stack.append((child, iter(children[child])))
    return order


def _children_by_need(graph: Dependencies) -> list[list[int]]:
    """What comes right before each operation, by falling need beyond its result.

    The need of an operation is the memory for its tree: while one child is computed,
    the results of those before are alive (Sethi and Ullman's numbering with sizes).
    """
    result_size = _sizes_of_first_uses(graph)
    need: list[int] = []
    sorted_children: list[list[int]] = []
    for number, before in enumerate(graph.before):
        children = sorted(
            before, key=lambda child: (result_size[child] - need[child], child)
        )
        held = most = 0
        for child in children:
            most = max(most, held + need[child])
            held += result_size[child]
        need.append(max(most, held + result_size[number]))
        sorted_children.append(children)
    return sorted_children


def _sizes_of_first_uses(graph: Dependencies) -> list[int]:
    """The bytes of the buffers that each operation is the first to use."""
    seen: set[int] = set()
    sizes: list[int] = []
    for used in graph.uses:
        sizes.append(sum(graph.sizes[buffer] for buffer in used if buffer not in seen))
        seen.update(used)
    return sizes


def list_order(graph: Dependencies) -> list[int]:
    """Always the ready operation that leaves the fewest bytes alive."""
    waiting = [len(before) for before in graph.before]
    remaining = use_counts(graph)
    total = list(remaining)
    ready = [number for number, count in enumerate(waiting) if not count]
    order: list[int] = []

    def growth(number: int) -> tuple[int, int]:
        born = dying = 0
        for buffer in graph.uses[number]:
            size = graph.sizes[buffer]
            born += size if remaining[buffer] == total[buffer] else 0
            dying += size if remaining[buffer] == 1 else 0
        return born - dying, number

    while ready:
        best = min(ready[:MOST_READY], key=growth)
        ready.remove(best)
        order.append(best)
        for buffer in graph.uses[best]:
            remaining[buffer] -= 1
        for number in sorted(graph.after[best]):
            waiting[number] -= 1
            if not waiting[number]:
                ready.append(number)
    return order


def best_order(graph: Dependencies) -> Order:
    """The candidate with the lowest peak, or a better one that the search finds."""
    candidates = (
        range(len(graph.before)),
        child_memory_order(graph),
        list_order(graph),
        nearest_end_order(graph),
    )
    best = min(candidates, key=lambda order: peak_of(graph, order))
    peak = peak_of(graph, best)
    if peak > least_peak(graph):
        best = OrderSearch(graph).run(peak) or best
    return best


def least_peak(graph: Dependencies) -> int:
    """The bytes of the buffers of the most demanding instruction: no order has less."""
    return max(
        (sum(graph.sizes[buffer] for buffer in used) for used in graph.uses), default=0
    )


def schedule(function: func.FuncOp) -> None:
    """Reorder the function's own instructions; a loop is one of them."""
    block = function.body.block
    table = AccessTable(block, working_ops(block))
    order = best_order(dependencies_of(table))
    arrange(block, [table.ops[number] for number in order])


@dataclass(frozen=True)
class ScheduleForMemoryPass(ModulePass):
    """Order instructions so that few bytes are alive at once."""

    name = "schedule-for-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Schedule each function."""
        for function in functions_of(op):
            schedule(function)
