"""Native loops that each take the time of one thing: an addition, a load, a pause.

Latencies are of operations that depend on each other; rates are of independent ones. Times
become cycles by the clock rate that a chain of dependent additions shows: by itself for what
the core's own clock decides, and between multiply-adds of vectors, for which some cores lower
their clock, for what takes its time whatever the clock is. The fastest of many runs counts, as
whatever disturbs one makes it longer.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from itertools import pairwise

from glow.lowering.target.target import Target
from glow.runtime.buffers import aligned_empty
from glow.runtime.constants import Bytes
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.native_text import architecture_of, native_text

ROUNDS = 30
PATIENCE_SECONDS = 0.2
"""No round begins later, so that slow memory takes no longer than the rest."""
STEPS = 20_000
LINE_BYTES = 64
CHAIN = 8
"""Operations that depend on each other, in a trip of a loop."""
BUSY_CHAIN = 24
"""The same beside `SUMS` multiply-adds, which take half of the cycles where one begins in each."""
VECTORS = 8
"""Loads in a trip of the loop that reads in order."""
SUMS = 12
"""More than hide the latency of multiply-adds, and fewer than any core's registers."""

LOOP = """
define i64 @{name}(ptr %data, i64 %steps, i64 %mask) nounwind "prefer-vector-width"="512" {{
entry:
  br label %loop
loop:
  %step = phi i64 [ 0, %entry ], [ %next, %loop ]
  {phis}
  {body}
  %next = add i64 %step, 1
  %more = icmp ult i64 %next, %steps
  br i1 %more, label %loop, label %done
done:
  {result}
  ret i64 %result
}}
"""
INTEGER = "%value = phi i64 [ 0, %entry ], [ %new, %loop ]"
WHOLE = "%result = add i64 %new, 0"


class Loops:
    """The loops as native code."""

    def __init__(self, target: Target) -> None:
        names = ("clock", "look", "stream", "fma_chain", "fma_sums", "busy")
        self._vector_bytes = target.vector_bytes
        self._library = Library([compile_object(code(target), target)], names)
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
        )
        self._run = {name: kind(self._library.address(name)) for name in names}
        self._scalar_hertz = CHAIN / self._seconds("clock")
        self.clock_hertz = BUSY_CHAIN / self._seconds("busy")
        """While vectors multiply."""

    def _seconds(
        self, name: str, data: int = 0, steps: int = STEPS, mask: int = 0
    ) -> float:
        """The seconds of a trip of a loop."""
        run = self._run[name]
        return fastest(lambda: run(data, steps, mask)) / steps

    def _cycles(self, name: str) -> float:
        """The cycles of a trip of a loop that the core's clock decides."""
        hertz = self.clock_hertz if name == "fma_sums" else self._scalar_hertz
        return self._seconds(name) * hertz

    def pause_cycles(self) -> float:
        """One look of a waiting thread, with the pause after it."""
        return self._cycles("look")

    def fma_latency(self) -> float:
        """From a sum to the next one that adds to it."""
        return self._cycles("fma_chain") / CHAIN

    def fma_per_cycle(self) -> float:
        """Multiply-adds of vectors that begin in a cycle."""
        return SUMS / self._cycles("fma_sums")

    def bytes_per_second(self, buffer: Bytes) -> float:
        """The rate at which a buffer is read in order, again and again where it is small.

        Its size is a power of two.
        """
        trip, size = VECTORS * self._vector_bytes, buffer.size
        steps = max(STEPS, size // trip)
        return trip / self._seconds("stream", buffer.ctypes.data, steps, size - 1)

    def near_bytes_per_cycle(self, size: int) -> float:
        """The same in a cache that has the core's clock."""
        return self.bytes_per_second(filled(size)) / self._scalar_hertz


def filled(size: int) -> Bytes:
    """A buffer of the largest power of two up to so many bytes, whose pages are there."""
    buffer = aligned_empty(1 << (size.bit_length() - 1))
    buffer[:] = 1
    return buffer


def fastest(run: Callable[[], object]) -> float:
    """The seconds of the fastest of some runs."""
    times = [time.perf_counter()]
    while len(times) <= ROUNDS and times[-1] - times[0] < PATIENCE_SECONDS:
        run()
        times.append(time.perf_counter())
    return min(after - before for before, after in pairwise(times))


def code(target: Target) -> str:
    """The loops as LLVM IR."""
    lanes = target.lanes(32)
    look = "call void @pause()\n  %new = load volatile i64, ptr @here"
    parts = (
        native_text("threads", architecture_of(target)),
        "@here = private global i64 0",
        DECLARED.format(lanes=lanes),
        LOOP.format(name="clock", phis=INTEGER, body=_additions(CHAIN), result=WHOLE),
        LOOP.format(name="look", phis=INTEGER, body=look, result=WHOLE),
        reading(target),
        _multiplying("fma_chain", 1, CHAIN, target),
        _multiplying("fma_sums", SUMS, 1, target),
        _multiplying("busy", SUMS, 1, target, BUSY_CHAIN),
    )
    return "\n".join(parts)


DECLARED = """
declare i32 @llvm.vector.reduce.or.v{lanes}i32(<{lanes} x i32>)
declare <{lanes} x float> @llvm.fma.v{lanes}f32(<{lanes} x float>, <{lanes} x float>, <{lanes} x float>)
define private i64 @folded(<{lanes} x i32> %value) {{
  %bits = call i32 @llvm.vector.reduce.or.v{lanes}i32(<{lanes} x i32> %value)
  %wide = zext i32 %bits to i64
  ret i64 %wide
}}
"""  # noqa: E501


def _additions(count: int) -> str:
    """A chain that LLVM cannot shorten."""
    sums = [
        f"%v{n + 1} = {'add' if n % 2 else 'xor'} i64 %v{n}, %step"
        for n in range(count - 1)
    ]
    lines = ["%v0 = add i64 %value, %step", *sums, f"%new = freeze i64 %v{count - 1}"]
    return "\n  ".join(lines)


def reading(target: Target) -> str:
    """The loop that reads vectors in order."""
    kind, size = f"<{target.lanes(32)} x i32>", target.vector_bytes
    lines = [
        f"%far = mul i64 %step, {VECTORS * size}",
        "%offset = and i64 %far, %mask",
        "%place = getelementptr i8, ptr %data, i64 %offset",
    ]
    for n in range(VECTORS):
        lines += [
            f"%at{n} = getelementptr i8, ptr %place, i64 {n * size}",
            f"%read{n} = load {kind}, ptr %at{n}, align {size}",
            f"%new{n} = or {kind} %value{n}, %read{n}",
        ]
    totals = [
        f"%sum{n} = or {kind} {f'%sum{n - 1}' if n else '%new0'}, %new{n}"
        for n in range(VECTORS)
    ]
    return LOOP.format(
        name="stream",
        phis="\n  ".join(
            f"%value{n} = phi {kind} [ zeroinitializer, %entry ], [ %new{n}, %loop ]"
            for n in range(VECTORS)
        ),
        body="\n  ".join(lines),
        result="\n  ".join(
            [*totals, f"%result = call i64 @folded({kind} %sum{VECTORS - 1})"]
        ),
    )


def _multiplying(
    name: str, sums: int, chain: int, target: Target, additions: int = 1
) -> str:
    """A loop with so many sums, each of a chain of multiply-adds, beside a chain of additions."""
    lanes = target.lanes(32)
    kind = f"<{lanes} x float>"
    phis = [
        f"%s{n}.0 = phi {kind} [ zeroinitializer, %entry ], [ %s{n}.{chain}, %loop ]"
        for n in range(sums)
    ]
    steps = [
        multiply_add(f"%s{n}.{k + 1}", "%x", f"%s{n}.{k}", target)
        for k in range(chain)
        for n in range(sums)
    ]
    totals = [
        f"%t{n} = fadd {kind} {f'%t{n - 1}' if n else '%x'}, %s{n}.{chain}"
        for n in range(sums)
    ]
    loop = LOOP.format(
        name=name,
        phis="\n  ".join([*phis, INTEGER]),
        body="\n  ".join([*steps, _additions(additions)]),
        result="\n  ".join(
            [
                *totals,
                f"%bits = bitcast {kind} %t{sums - 1} to <{lanes} x i32>",
                f"%folded = call i64 @folded(<{lanes} x i32> %bits)",
                "%result = add i64 %folded, %new",
            ]
        ),
    )
    given = (
        f"%one = sitofp i64 %steps to float\n  %first = insertelement {kind} poison, "
    )
    given += "float %one, i32 0\n"
    given += f"  %x = shufflevector {kind} %first, {kind} poison, "
    given += f"<{lanes} x i32> zeroinitializer\n  br label %loop"
    return loop.replace("br label %loop", given, 1)


def multiply_add(result: str, factor: str, total: str, target: Target) -> str:
    """`result = factor * factor + total`, on vectors."""
    kind = f"<{target.lanes(32)} x float>"
    if target.fma_instruction:
        function = f"@llvm.fma.v{target.lanes(32)}f32"
        given = f"{kind} {factor}, {kind} {factor}, {kind} {total}"
        return f"{result} = call {kind} {function}({given})"
    return (
        f"{result}.p = fmul {kind} {factor}, {factor}\n"
        f"  {result} = fadd {kind} {result}.p, {total}"
    )
