"""Prints what the table of a core family needs and this machine can tell.

python benchmarks/core_figures.py

Latencies are of loads that depend on each other, in random order; rates are of vectors that one
thread reads in order. Times become cycles by the clock rate that a chain of dependent additions
shows. The fastest of many runs counts, as whatever disturbs one makes it longer.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.cross_core_latency import cross_core_latency
from glow.lowering.target.target import Target, host_target
from glow.runtime.buffers import aligned_empty
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.native_text import architecture_of, native_text

ROUNDS = 50
STEPS = 20_000
LINE_BYTES = 64
CHAIN = 8
"""Additions in a turn of the loop that tells the clock rate."""
VECTORS = 8
"""Loads in a turn of the loop that reads in order."""

LOOP = """
define i64 @{name}(ptr %data, i64 %steps) nounwind {{
entry:
  br label %loop
loop:
  %step = phi i64 [ 0, %entry ], [ %next, %loop ]
  %value = phi {type} [ zeroinitializer, %entry ], [ %new, %loop ]
  {body}
  %next = add i64 %step, 1
  %more = icmp ult i64 %next, %steps
  br i1 %more, label %loop, label %done
done:
  %result = {result}
  ret i64 %result
}}
"""
WHOLE = {"type": "i64", "result": "add i64 %new, 0"}


def main() -> int:
    """Measure and print."""
    target = host_target()
    for name, here, known in figures(Loops(target), target):
        print(f"{name:24} {here:>8}  {known}")
    return 0


class Loops:
    """The loops as native code."""

    def __init__(self, target: Target) -> None:
        names = ("clock", "look", "chase", "stream")
        self._library = Library([compile_object(code(target), target)], names)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
        self._run = {name: kind(self._library.address(name)) for name in names}
        self.cycles_per_second = 1.0
        self.cycles_per_second = CHAIN / self.cycles("clock")

    def cycles(self, name: str, data: int = 0, steps: int = STEPS) -> float:
        """The cycles of a turn of a loop; seconds before the clock rate is known."""
        run = self._run[name]
        seconds = fastest(lambda: run(data, steps))
        return seconds / steps * self.cycles_per_second


def fastest(run: Callable[[], object]) -> float:
    """The seconds of the fastest of some runs."""
    times = [time.perf_counter()]
    for _ in range(ROUNDS):
        run()
        times.append(time.perf_counter())
    return min(after - before for before, after in pairwise(times))


def figures(loops: Loops, target: Target) -> Iterator[tuple[str, str, str]]:
    """The numbers with those of the table."""
    core = target.core
    yield "", "here", f"table of {core.family}"
    yield "GHz", f"{loops.cycles_per_second / 1e9:.2f}", ""
    yield "pause_cycles", f"{loops.cycles('look'):.0f}", f"{core.pause_cycles}"
    for level, size in (("l1", core.l1_bytes // 2), ("l2", core.l2_bytes // 2)):
        yield f"{level}_latency", f"{chase_cycles(loops, size):.0f}", ""
    yield (
        "l3_latency",
        f"{chase_cycles(loops, core.l3_share):.0f}",
        f"{core.l3_latency}",
    )
    sizes = {
        "l2": core.l2_bytes // 2,
        "l3": core.l3_share,
        "memory": 8 * max(core.l3_bytes, core.l2_bytes),
    }
    for level, size in sizes.items():
        read = stream_rate(loops, size, target.vector_bytes)
        known = getattr(core, f"{level}_bytes_per_cycle")
        yield f"{level}_bytes_per_cycle", f"{read:.1f}", f"{known:g}"
    round_trip = cross_core_latency(sorted(os.sched_getaffinity(0)))
    if round_trip is not None:
        transfer = round_trip / 2 * loops.cycles_per_second / 1e9
        distances = f"{core.shared_l3_latency} shared, {core.split_l3_latency} split"
        yield "cross-core latency", f"{transfer:.0f}", distances


def chase_cycles(loops: Loops, size: int) -> float:
    """The cycles of a load from a buffer of that many bytes."""
    lines = size // LINE_BYTES
    order = np.random.default_rng(0).permutation(lines)
    buffer = aligned_empty(size)
    following = np.frombuffer(buffer, np.int64)[:: LINE_BYTES // 8]
    following[order] = np.roll(order, -1) * LINE_BYTES
    return loops.cycles("chase", buffer.ctypes.data)


def stream_rate(loops: Loops, size: int, vector_bytes: int) -> float:
    """The bytes that are read in a cycle from a buffer of that many bytes."""
    turn, buffer = VECTORS * vector_bytes, aligned_empty(size)
    buffer[:] = 1
    return turn / loops.cycles("stream", buffer.ctypes.data, size // turn)


def code(target: Target) -> str:
    """The loops as LLVM IR."""
    lanes = target.lanes(32)
    sums = [
        f"%v{n + 1} = {'add' if n % 2 else 'xor'} i64 %v{n}, %step"
        for n in range(CHAIN - 1)
    ]
    chain = "\n  ".join(
        ["%v0 = add i64 %value, %step", *sums, f"%new = freeze i64 %v{CHAIN - 1}"]
    )
    look = "call void @pause()\n  %new = load volatile i64, ptr @here"
    chase = "%at = getelementptr i8, ptr %data, i64 %value\n  %new = load i64, ptr %at"
    vector = {
        "type": f"<{lanes} x i32>",
        "result": f"call i64 @folded(<{lanes} x i32> %new)",
    }
    parts = (
        native_text("threads", architecture_of(target)),
        "@here = private global i64 0",
        f"declare i32 @llvm.vector.reduce.or.v{lanes}i32(<{lanes} x i32>)",
        FOLDED.format(lanes=lanes),
        LOOP.format(name="clock", body=chain, **WHOLE),
        LOOP.format(name="look", body=look, **WHOLE),
        LOOP.format(name="chase", body=chase, **WHOLE),
        LOOP.format(name="stream", body=_reading(target), **vector),
    )
    return "\n".join(parts)


FOLDED = """
define private i64 @folded(<{lanes} x i32> %value) {{
  %bits = call i32 @llvm.vector.reduce.or.v{lanes}i32(<{lanes} x i32> %value)
  %wide = zext i32 %bits to i64
  ret i64 %wide
}}
"""


def _reading(target: Target) -> str:
    """The body of a loop that reads vectors in order."""
    kind, size = f"<{target.lanes(32)} x i32>", target.vector_bytes
    lines = [
        f"%offset = mul i64 %step, {VECTORS * size}",
        "%place = getelementptr i8, ptr %data, i64 %offset",
    ]
    for n in range(VECTORS):
        before = f"%sum{n - 1}" if n else "%value"
        lines += [
            f"%at{n} = getelementptr i8, ptr %place, i64 {n * size}",
            f"%read{n} = load {kind}, ptr %at{n}, align {size}",
            f"%sum{n} = or {kind} {before}, %read{n}",
        ]
    return "\n  ".join([*lines, f"%new = freeze {kind} %sum{VECTORS - 1}"])


if __name__ == "__main__":
    sys.exit(main())
