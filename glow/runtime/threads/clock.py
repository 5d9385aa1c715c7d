"""`glow_tick`, which generated code calls to note the time.

A trace is 64-bit integers: how many times it holds, then those times in nanoseconds.
"""

from __future__ import annotations

import platform
from functools import cache

from glow.runtime.caches.runtime_objects import runtime_object

MONOTONIC_CLOCK = {"Linux": 1, "Darwin": 6}
"""What `CLOCK_MONOTONIC` is to the C library."""

TICK = """
declare i32 @clock_gettime(i32, ptr)

define void @glow_tick(ptr %trace) nounwind {{
  %now = alloca {{ i64, i64 }}
  %error = call i32 @clock_gettime(i32 {clock}, ptr %now)
  %fraction = getelementptr i8, ptr %now, i64 8
  %seconds = load i64, ptr %now
  %rest = load i64, ptr %fraction
  %whole = mul i64 %seconds, 1000000000
  %time = add i64 %whole, %rest
  %count = load i64, ptr %trace
  %next = add i64 %count, 1
  %place = getelementptr i64, ptr %trace, i64 %next
  store i64 %time, ptr %place
  store i64 %next, ptr %trace
  ret void
}}
"""


@cache
def tick_object() -> bytes:
    """Returns the object of `glow_tick` for this machine."""
    clock = MONOTONIC_CLOCK.get(platform.system(), 1)
    return runtime_object("clock", lambda _: TICK.format(clock=clock))
