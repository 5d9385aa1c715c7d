"""Searches the order of instructions with the lowest peak of memory.

What is alive depends only on which instructions have run, not on their order, so the
search goes through sets of instructions: a path from the empty set to all of them is an
order, and its peak the most bytes alive on the way. Sets are expanded from the lowest
peak on (Dijkstra's algorithm with maxima for sums), which makes the first complete one
optimal. An instruction that leaves no more alive than before, and fits under the peak so
far, runs at once: to run it later can't help. Networks of narrow branches have few sets
and are ordered exactly; the search gives up after `MOST_STEPS`.

Sets are integers with a bit an instruction.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from glow.passes.instr.dependencies import Dependencies

MOST_STEPS = 40_000
"""So often an instruction is tried, a tenth of a second, before the search gives up."""

COPIES_A_STEP = 16
"""So many instructions that may run next are copied in the time of a step."""


class OrderSearch:
    """The search on one dependency graph."""

    def __init__(self, graph: Dependencies) -> None:
        self.graph = graph
        self.steps = 0
        self.most_steps = MOST_STEPS
        self.users = [0] * len(graph.sizes)
        for number, used in enumerate(graph.uses):
            for buffer in used:
                self.users[buffer] |= 1 << number
        self.before = [sum(1 << other for other in needed) for needed in graph.before]

    def run(self, below: int, most_steps: int = MOST_STEPS) -> list[int] | None:
        """An order of the least peak if that is below a number; None if not, or if
        the budget is spent.
        """
        self.most_steps = most_steps
        everything = (1 << len(self.before)) - 1
        ready = [number for number, before in enumerate(self.before) if not before]
        tickets = count()
        start = self._run_free(0, 0, 0, None, ready)
        # The set, its live bytes, the order that led there, and what may run next.
        queue = [(0, -len(ready), next(tickets), start)]
        seen: set[int] = set()
        while queue and self.steps < self.most_steps:
            peak, _, _, (done, live, path, ready) = heappop(queue)
            if done == everything:
                return _unrolled(path)
            if done in seen:
                continue
            seen.add(done)
            for number in ready:
                during, after = self._step(done, live, number)
                if (reached := max(peak, during)) < below:
                    state = self._run_free(
                        reached, *self._run_one(done, after, path, ready, number)
                    )
                    if state[0] not in seen:
                        rank = -state[0].bit_count()
                        heappush(queue, (reached, rank, next(tickets), state))
        return None

    def _step(self, done: int, live: int, number: int) -> tuple[int, int]:
        """The bytes alive while an instruction runs, and after it."""
        self.steps += 1
        after_it = done | 1 << number
        sizes = self.graph.sizes
        during, freed = live, 0
        for buffer in self.graph.uses[number]:
            users = self.users[buffer]
            if not users & done:
                during += sizes[buffer]
            if users | after_it == after_it:
                freed += sizes[buffer]
        return during, during - freed

    def _run_one(
        self, done: int, after: int, path: Path, ready: list[int], number: int
    ) -> State:
        """The state after one more instruction."""
        self.steps += len(ready) // COPIES_A_STEP
        done |= 1 << number
        following = [other for other in ready if other != number]
        following += [
            other
            for other in sorted(self.graph.after[number])
            if self.before[other] | done == done
        ]
        return done, after, (number, path), following

    def _run_free(
        self, peak: int, done: int, live: int, path: Path, ready: list[int]
    ) -> State:
        """The state after all instructions that cost nothing, or all that the budget tries."""
        waiting = ready
        while True:
            for number in waiting[: self.most_steps - self.steps]:
                during, after = self._step(done, live, number)
                if during <= peak and after <= live:
                    done, live, path, waiting = self._run_one(
                        done, after, path, waiting, number
                    )
                    break
            else:
                return done, live, path, waiting


Path = tuple[int, "Path"] | None
"""An order from its end: the last instruction and what came before."""

State = tuple[int, int, Path, list[int]]


def _unrolled(path: Path) -> list[int]:
    order: list[int] = []
    while path is not None:
        order.append(path[0])
        path = path[1]
    return order[::-1]
