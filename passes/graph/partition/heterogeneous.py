"""Strategy `heterogeneous`: each node on the first device, in their order, that runs it.

    --partition='devices=npu,cpu strategy=heterogeneous unsupported=npu=glow.softmax'

Whether a backend runs a node it says itself (`Backend.refuses`); `unsupported` names more
operations that a kind of device should not get. Of several devices of one backend, a node is on
the first that has memory left: constants of all nodes there, and what lives between them.
"""

from __future__ import annotations

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.memory_use import MemoryUse
from glow.passes.graph.partition.parts import form_parts
from glow.passes.graph.partition.problem import Problem, too_large

ATTEMPTS = 8
"""With less and less of the memory, which parts of one device take for themselves each."""


def heterogeneous_devices(problem: Problem) -> list[int]:
    """The device of each unit; raises GlowError for one that none runs, or has room for."""
    problem.check_supported()
    devices = [_first(problem, unit) for unit in range(len(problem.graph))]
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


def _first(problem: Problem, unit: int) -> int:
    """The first device that runs a unit, which some device does."""
    rows = enumerate(problem.reasons)
    return next(device for device, reasons in rows if reasons[unit] is None)


def _spread(problem: Problem, share: float) -> list[int]:
    """The first device for each unit that runs it and has a share of its memory left."""
    uses = [MemoryUse(problem.graph) for _ in problem.devices]
    chosen: list[int] = []
    for unit in range(len(problem.graph)):
        needed = {
            device: use.with_unit(unit)
            for device, use in enumerate(uses)
            if problem.reasons[device][unit] is None
        }
        fitting = (
            d for d, size in needed.items() if problem.fits(d, int(size / share))
        )
        device = next(fitting, None)
        if device is None:
            able = [problem.devices[number] for number in needed]
            raise too_large(problem.graph, unit, able, min(needed.values()))
        uses[device].add(unit)
        chosen.append(device)
    return chosen
