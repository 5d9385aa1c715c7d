"""The figures of this machine's core, measured in seconds."""

from __future__ import annotations

import os
from collections.abc import Mapping

from glow.lowering.target.core import Core
from glow.lowering.target.target import Target
from glow.runtime.calibration.cross_core import cross_core_latency
from glow.runtime.calibration.loops import Loops

MEMORY_BYTES = 1 << 28
"""The most that is read to measure memory."""


def measured_figures(target: Target) -> Mapping[str, float]:
    """The figures that loops show, by their names in the tables; the target is this machine.

    Sizes of caches are those that the system tells, which targets of the host have already.
    The latency between two cores is either of cores that share a last cache or of others: it
    is taken for the one whose figure in the table is nearer. Without a second core there is
    none.
    """
    loops, core = Loops(target), target.core
    pipe = min(core.fma_pipe_bytes, target.vector_bytes) / target.vector_bytes
    load = min(core.load_pipe_bytes, target.vector_bytes) / target.vector_bytes
    largest = max(core.l3_bytes, core.l2_bytes)
    found: dict[str, float] = {
        "clock_hertz": loops.clock_hertz,
        "fma_latency": max(1, round(loops.fma_latency())),
        "fma_pipes": max(1, round(loops.fma_per_cycle() / pipe)),
        "load_pipes": max(1, round(_loads_per_cycle(loops, target) / load)),
        "pause_cycles": round(loops.pause_cycles()),
        "l1_bytes": core.l1_bytes,
        "l2_bytes": core.l2_bytes,
        "l2_bytes_per_cycle": loops.bytes_per_cycle(core.l2_bytes // 2),
        "memory_bytes_per_cycle": loops.bytes_per_cycle(min(MEMORY_BYTES, 8 * largest)),
    }
    if core.l3_bytes:
        found["l3_bytes_per_cycle"] = loops.bytes_per_cycle(core.l3_share)
        found["l3_latency"] = round(loops.load_cycles(core.l3_share))
    return {**found, **_between_cores(core, loops.clock_hertz)}


def _loads_per_cycle(loops: Loops, target: Target) -> float:
    return loops.bytes_per_cycle(target.core.l1_bytes // 2) / target.vector_bytes


def _between_cores(core: Core, clock_hertz: float) -> Mapping[str, float]:
    """The latency from a core to another, under the name that fits it."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    round_trip = cross_core_latency(cores)
    if round_trip is None:
        return {}
    cycles = round(round_trip / 2 * clock_hertz / 1e9)
    middle = (core.shared_l3_latency * core.split_l3_latency) ** 0.5
    is_split = cycles > middle and core.split_l3_latency > core.shared_l3_latency
    return {"split_l3_latency" if is_split else "shared_l3_latency": cycles}
