"""The latency between cores: the time that a cache line takes from one to another and back.

Two threads, one on each core, pass a number back and forth: each waits for the other's and
answers with the next one. Who waits for too long gives up, so that no measurement hangs on a
thread that does not get its core.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from glow.lowering.target.target import host_target
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object

RALLIES = 3
"""The fastest counts, as whatever disturbs one makes it longer."""
ANSWERS = 2000
"""Of each player in a rally: 0.1 ms on cores that share an L3, 0.7 on others."""
LOOKS = 200_000_000
"""A player's patience in a rally: about a tenth of a second."""
BYTES = 256
"""The number is in their middle, so that nothing else is in its cache line."""

RALLY = f"""
define i32 @rally(ptr %ball, i64 %first, i64 %end) nounwind {{
entry:
  br label %look
look:
  %awaited = phi i64 [ %first, %entry ], [ %awaited, %miss ], [ %next, %answer ]
  %looks = phi i64 [ {LOOKS}, %entry ], [ %fewer, %miss ], [ %looks, %answer ]
  %seen = load atomic i64, ptr %ball acquire, align 8
  %here = icmp eq i64 %seen, %awaited
  br i1 %here, label %answer, label %miss
miss:
  %fewer = sub i64 %looks, 1
  %patient = icmp ne i64 %fewer, 0
  br i1 %patient, label %look, label %done
answer:
  %reply = add i64 %awaited, 1
  store atomic i64 %reply, ptr %ball release, align 8
  %next = add i64 %awaited, 2
  %more = icmp ult i64 %next, %end
  br i1 %more, label %look, label %done
done:
  %finished = phi i32 [ 0, %miss ], [ 1, %answer ]
  ret i32 %finished
}}
"""
"""Answers `first`, `first + 2` and so on below `end`; returns whether all of them came."""

RALLY_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


def cross_core_latency(cores: Sequence[int]) -> float | None:
    """Returns the nanoseconds of a round trip from the first core to the slowest other.

    None for a single core, where threads cannot choose theirs, or where a core is so busy
    that its thread gave up.
    """
    if len(cores) < 2 or not hasattr(os, "sched_setaffinity"):
        return None
    latencies = [round_trip(cores[0], other) for other in cores[1:]]
    known = [latency for latency in latencies if latency is not None]
    return max(known) if len(known) == len(latencies) else None


def round_trip(one: int, other: int) -> float | None:
    """Returns the nanoseconds between two cores, None where a player gave up."""
    memory = ctypes.create_string_buffer(BYTES)
    rally = RALLY_TYPE(rally_library().address("rally"))

    def play(core: int, number: int) -> float | None:
        """Returns the nanoseconds of a round trip in the fastest rally."""
        os.sched_setaffinity(0, {core})
        times: list[float] = []
        for begin in range(0, 2 * ANSWERS * RALLIES, 2 * ANSWERS):
            start = time.perf_counter_ns()
            if not rally(ball, begin + number, begin + 2 * ANSWERS):
                return None
            times.append((time.perf_counter_ns() - start) / ANSWERS)
        return min(times)

    ball = ctypes.addressof(memory) + BYTES // 2
    with ThreadPoolExecutor(2) as players:
        times = list(players.map(play, (one, other), range(2)))
    return times[0]


@cache
def rally_library() -> Library:
    """Returns the native code, which runs without Python's lock."""
    return Library([compile_object(RALLY, host_target())], ["rally"])
