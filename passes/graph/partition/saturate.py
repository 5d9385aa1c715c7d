"""Copies of a divided network on the devices that are left over (`saturate`).

    part0 on cpu:0, part1 on cpu:1, and cpu:2, cpu:3 are free
  becomes
    part0 on cpu:0 and cpu:2, part1 on cpu:1 and cpu:3

A copy is a whole network more: each device in use gets one more of its backend, with as much
memory as its parts take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.parts import Part
from glow.passes.graph.partition.problem import Problem


def replicas(problem: Problem, parts: Sequence[Part]) -> Mapping[int, list[int]]:
    """The devices of the copies, by the device that they copy."""
    needed: dict[int, int] = {}
    for part in parts:
        nbytes = MemoryUse(problem.graph, part.units).nbytes
        needed[part.device] = needed.get(part.device, 0) + nbytes
    free = [number for number in range(len(problem.devices)) if number not in needed]
    copies: dict[int, list[int]] = {device: [] for device in needed}
    while (more := _one_more(problem, needed, free)) is not None:
        for device, copy in more.items():
            copies[device].append(copy)
            free.remove(copy)
    return copies


def _one_more(
    problem: Problem, needed: Mapping[int, int], free: Sequence[int]
) -> dict[int, int] | None:
    """A free device for each one in use; None where one has none."""
    chosen: dict[int, int] = {}
    for device, nbytes in sorted(needed.items(), key=lambda item: -item[1]):
        backend = problem.devices[device].backend
        able = [
            number
            for number in free
            if number not in chosen.values()
            and problem.devices[number].backend == backend
            and problem.fits(number, nbytes)
        ]
        if not able:
            return None
        chosen[device] = able[0]
    return chosen or None
