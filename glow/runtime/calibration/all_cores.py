"""What all cores do at once: they read, and they wait for each other.

Two native programs run as those of networks do, on the threads of the pool: a run takes as long as
the slowest thread. It counts where the process had all these cores all the time, and the fastest
of some counts.
"""

from __future__ import annotations

import time

import numpy as np

from glow.lowering.target.target import Target
from glow.runtime.buffers import aligned_zeros
from glow.runtime.calibration.loops import DECLARED, VECTORS, reading
from glow.runtime.constants import Bytes
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.threads.thread_pool import MAX_THREADS, thread_pool

RUNS = 12
CALLS = 200
"""Kernel calls of a run, each with a barrier."""
PASSES = 4
"""Times that a run reads what is in a cache."""
PATIENCE_SECONDS = 0.25
"""No run begins later, where cores are short."""
CROWDED = 1.2
"""Time times cores over the process's time on them, from which others had them."""
PAGE = 4096
"""What a thread writes is in a page of its own, so that nothing else is in its cache line."""

PROGRAMS = f"""
declare void @glow_barrier(ptr, i64)

; A thread reads its part of `data`; the parts of a plan go round by `turn`.
; plan: [0] turn, [1] parts, [2] bytes of a part, [3] trips of the loop
define void @read(ptr %data, ptr %plan, ptr %results, i64 %thread, i64 %threads, ptr %barrier) {{
  %parts.at = getelementptr i64, ptr %plan, i64 1
  %bytes.at = getelementptr i64, ptr %plan, i64 2
  %steps.at = getelementptr i64, ptr %plan, i64 3
  %turn = load i64, ptr %plan
  %parts = load i64, ptr %parts.at
  %bytes = load i64, ptr %bytes.at
  %steps = load i64, ptr %steps.at
  %place = add i64 %thread, %turn
  %part = urem i64 %place, %parts
  %offset = mul i64 %part, %bytes
  %begin = getelementptr i8, ptr %data, i64 %offset
  %mask = sub i64 %bytes, 1
  %value = call i64 @stream(ptr %begin, i64 %steps, i64 %mask)
  %line = mul i64 %thread, {PAGE}
  %result = getelementptr i8, ptr %results, i64 %line
  store i64 %value, ptr %result
  ret void
}}

; Kernels that write a line, and read what the next thread wrote before a barrier.
define void @meet(ptr %data, ptr %plan, ptr %results, i64 %thread, i64 %threads, ptr %barrier) {{
entry:
  %after = add i64 %thread, 1
  %next = urem i64 %after, %threads
  %mine.at = mul i64 %thread, {PAGE}
  %next.at = mul i64 %next, {PAGE}
  %mine = getelementptr i8, ptr %results, i64 %mine.at
  %other = getelementptr i8, ptr %results, i64 %next.at
  br label %call
call:
  %count = phi i64 [ 0, %entry ], [ %more, %call ]
  store volatile i64 %count, ptr %mine
  call void @glow_barrier(ptr %barrier, i64 %threads)
  %value = load volatile i64, ptr %other
  %more = add i64 %count, 1
  %again = icmp ult i64 %more, {CALLS}
  br i1 %again, label %call, label %done
done:
  ret void
}}
"""


Plan = np.ndarray[tuple[int], np.dtype[np.int64]]


class CoresBusyError(Exception):
    """Other processes have the cores."""


class AllCores:
    """The programs on so many threads, at least two."""

    def __init__(self, target: Target, threads: int) -> None:
        self.threads = min(threads, MAX_THREADS)
        self.parts = 1 << (self.threads - 1).bit_length()
        """The parts of a buffer: a power of two, one a thread at least."""
        self._pool = thread_pool()
        self._trip = VECTORS * target.vector_bytes
        lanes = target.lanes(32)
        text = f"{DECLARED.format(lanes=lanes)}\n{reading(target)}\n{PROGRAMS}"
        imports = {"glow_barrier": self._pool.barrier_address}
        image = compile_object(text, target)
        self._programs = Library([image], ["read", "meet"], imports)
        self._results = aligned_zeros(self.threads * PAGE)

    def barrier_seconds(self) -> float:
        """One more kernel call and the barrier before it; raises CoresBusyError."""
        return self._fastest("meet", 0, np.zeros(1, np.int64)) / CALLS

    def bytes_per_second(self, buffer: Bytes) -> float:
        """The rate at which each thread reads from memory while all do; raises CoresBusyError.

        Each reads a part of the buffer that others have read before; its size is a power of two.
        """
        return self._rate(buffer, passes=1, turn=self.parts // 2 + 1)

    def near_bytes_per_second(self, buffer: Bytes) -> float:
        """The same from a cache that holds all of the buffer: each thread reads its own part."""
        return self._rate(buffer, passes=PASSES, turn=0)

    def _rate(self, buffer: Bytes, *, passes: int, turn: int) -> float:
        size = buffer.size // self.parts
        steps = size // self._trip * passes
        plan = np.array([0, self.parts, size, steps], np.int64)
        seconds = self._fastest("read", buffer.ctypes.data, plan, turn)
        return steps * self._trip / seconds

    def _fastest(self, name: str, data: int, plan: Plan, turn: int = 0) -> float:
        """The seconds of the fastest run of those that had all cores."""
        program, times = self._programs.address(name), list[float]()
        end = time.perf_counter() + PATIENCE_SECONDS
        for _ in range(RUNS):
            began, had = time.perf_counter(), time.process_time()
            used = self._pool.run(
                program, data, plan.ctypes.data, self._results.ctypes.data, self.threads
            )
            wall, spent = time.perf_counter() - began, time.process_time() - had
            if used == self.threads and wall * used < CROWDED * spent:
                times.append(wall)
            plan[0] += turn
            if time.perf_counter() > end:
                break
        if not times:
            raise CoresBusyError
        return min(times)
