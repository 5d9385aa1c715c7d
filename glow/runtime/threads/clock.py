"""`glow_tick`, which generated code calls to note the time.

A trace is 64-bit integers: how many times it holds, then those times in nanoseconds.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from glow.runtime.caches.runtime_objects import runtime_object
from glow.runtime.native_text import native_text, system_of

if TYPE_CHECKING:
    from glow.lowering.target.target import Target


def tick_code(target: Target) -> str:
    """The LLVM IR of `glow_tick`."""
    return native_text("threads", "tick", "clock", system_of(target))


@cache
def tick_object() -> bytes:
    """The object of `glow_tick` for this machine."""
    return runtime_object("clock", tick_code)
