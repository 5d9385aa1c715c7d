"""Strategy `heterogeneous`: each node on the first device, in their order, that runs it.

    --partition='devices=npu,cpu strategy=heterogeneous unsupported=npu=glow.softmax'

Whether a backend runs a node it says itself (`Backend.supports`); `unsupported` names more
operations that a kind of device should not get. Of several devices of one backend, a node is on
the first that has memory left: constants of all nodes there, and what lives between them.
"""

from __future__ import annotations

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.graph import UnitGraph
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.parts import form_parts
from glow.passes.graph.partition.problem import Problem, too_large

ATTEMPTS = 8
"""With less and less of the memory, which parts of one device take for themselves each."""


def heterogeneous_devices(problem: Problem) -> list[int]:
    """The device of each unit; raises GlowError for one that none runs, or has room for."""
    problem.check_supported()
    devices = [_first(problem, unit, 0) for unit in range(len(problem.graph))]
    if not problem.has_limits():
        return devices
    share = 1.0
    for _ in range(ATTEMPTS):
        devices = _spread(problem, share)
        try:
            problem.check(form_parts(problem.graph, devices))
            break
        except GlowError:
            share *= 0.9
    return devices


def _first(problem: Problem, unit: int, start: int) -> int:
    """The first device, from one on, that runs a unit; as many as there are for none."""
    reasons = problem.reasons
    for device in range(start, len(reasons)):
        if reasons[device][unit] is None:
            return device
    return len(reasons)


def _spread(problem: Problem, share: float) -> list[int]:
    """The first device for each unit that runs it and has a share of its memory left."""
    graph: UnitGraph = problem.graph
    members: list[list[int]] = [[] for _ in problem.devices]
    chosen: list[int] = []
    for unit in range(len(graph)):
        device, needed = _first(problem, unit, 0), 0
        while device < len(problem.devices):
            needed = MemoryUse(graph, [*members[device], unit]).nbytes
            if problem.fits(device, int(needed / share)):
                break
            device = _first(problem, unit, device + 1)
        else:
            able = [
                one
                for one, reasons in zip(problem.devices, problem.reasons, strict=True)
                if reasons[unit] is None
            ]
            raise too_large(graph, unit, able, needed)
        members[device].append(unit)
        chosen.append(device)
    return chosen
