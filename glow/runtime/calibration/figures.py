"""The figures of this machine's core, measured in about a second."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import cached_property
from math import ceil, inf

from glow.lowering.target.core import Core
from glow.lowering.target.target import Target
from glow.runtime.calibration.all_cores import AllCores, CoresBusyError
from glow.runtime.calibration.cross_core import cross_core_latency
from glow.runtime.calibration.loops import Loops, filled
from glow.runtime.constants import Bytes
from glow.runtime.threads.cores import available_cores

PAUSE_SECONDS = 0.25
"""How long to wait for cores that others have."""
TOO_MUCH = 0.2
"""Operations a cycle that no pipe began, where the clock was measured too slow."""
MEMORY_BYTES = 1 << 28
"""The most that is read to measure memory."""


class Figures:
    """What loops show, by the names in the tables; the target is this machine.

    Sizes of caches are those that the system tells, which targets of the host have already.
    """

    def __init__(self, target: Target) -> None:
        self._target, self._loops = target, Loops(target)
        largest = max(target.core.l3_bytes, target.core.l2_bytes)
        self._last_bytes = last_bytes(target.core)
        self._memory: Bytes = filled(min(MEMORY_BYTES, 8 * largest))

    def of_a_core(self) -> Mapping[str, float]:
        """The figures of one core, while the others may do anything."""
        loops, core = self._loops, self._target.core
        pipe, load = map(self._share, (core.fma_pipe_bytes, core.load_pipe_bytes))
        near = loops.near_bytes_per_cycle(core.l1_bytes // 2)
        memory = loops.bytes_per_second(self._memory)
        found: dict[str, float] = {
            "clock_hertz": loops.clock_hertz,
            "fma_latency": max(1, round(loops.fma_latency())),
            "fma_pipes": pipes(loops.fma_per_cycle() / pipe),
            "load_pipes": pipes(near / self._target.vector_bytes / load),
            "pause_cycles": round(loops.pause_cycles()),
            "l1_bytes": core.l1_bytes,
            "l2_bytes": core.l2_bytes,
            "l2_bytes_per_cycle": loops.near_bytes_per_cycle(core.l2_bytes // 2),
            "memory_bytes_per_cycle": memory / loops.clock_hertz,
        }
        if core.l3_bytes:
            last = loops.bytes_per_second(filled(self._last_bytes))
            found["l3_bytes_per_cycle"] = last / loops.clock_hertz
        return found

    def of_all_cores(self) -> Mapping[str, float]:
        """The figures of all cores, none of a single one; raises CoresBusyError."""
        if available_cores() < 2:
            return {}
        core, cores, hertz = self._target.core, self._all_cores, self._loops.clock_hertz
        barrier = cores.barrier_seconds()  # It takes least where cores are short.
        memory = cores.bytes_per_second(self._memory)
        found: dict[str, float] = {
            "barrier_cycles": max(1, round(barrier * hertz)),
            "contended_memory_bytes_per_cycle": memory / hertz,
        }
        if fits_last_cache(core, cores.parts):
            last = filled(min(MEMORY_BYTES, cores.parts * self._last_bytes))
            rate = cores.near_bytes_per_second(last)
            found["contended_l3_bytes_per_cycle"] = rate / hertz
        return {**found, **_between_cores(core, hertz)}

    def of_all_cores_when_free(self, seconds: float = inf) -> Mapping[str, float]:
        """The same, tried again for so long; raises CoresBusyError."""
        end = time.perf_counter() + seconds
        while True:
            try:
                return self.of_all_cores()
            except CoresBusyError:
                if time.perf_counter() > end:
                    raise
                time.sleep(PAUSE_SECONDS)

    @cached_property
    def _all_cores(self) -> AllCores:
        return AllCores(self._target, available_cores())

    def _share(self, pipe_bytes: int) -> float:
        """The part of a vector that goes through a pipe in a cycle."""
        width = self._target.vector_bytes
        return min(pipe_bytes, width) / width


def last_bytes(core: Core) -> int:
    """What a core reads to measure the last cache: more than its second one holds."""
    return max(core.l3_share, 2 * core.l2_bytes)


def fits_last_cache(core: Core, parts: int) -> bool:
    """Whether last caches hold so much for each of so many cores."""
    size = last_bytes(core)
    return core.l3_bytes > 0 and (
        size == core.l3_share or parts * size <= core.l3_bytes
    )


def pipes(rate: float) -> int:
    """The pipes of a core that began so many operations a cycle.

    Whoever disturbs a measurement makes it lower, and nothing makes it more than a little higher.
    """
    return max(1, ceil(rate - TOO_MUCH))


def _between_cores(core: Core, clock_hertz: float) -> Mapping[str, float]:
    """The latency from a core to another, under the name that fits it.

    It is either of cores that share a last cache or of others: it is taken for the one whose figure
    in the table is nearer.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    round_trip = cross_core_latency(cores)
    if round_trip is None:
        return {}
    cycles = round(round_trip / 2 * clock_hertz / 1e9)
    middle = (core.shared_l3_latency * core.split_l3_latency) ** 0.5
    is_split = cycles > middle and core.split_l3_latency > core.shared_l3_latency
    return {"split_l3_latency" if is_split else "shared_l3_latency": cycles}
