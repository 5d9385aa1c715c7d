"""What this machine's processor is, as text for keys of caches; read without LLVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from glow.lowering.target.cache_sizes import cache_sizes
from glow.lowering.target.target import host_target

PROCESSORS = "/proc/cpuinfo"

IDENTITY = {
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part",
}  # fmt: skip
"""What tells processors apart on x86 and on ARM; clock rates change by the minute."""


@cache
def machine() -> str:
    """Returns text that is the same only for processors that run the same code."""
    try:
        lines = list(_first_processor())
    except OSError:
        lines = []
    if not lines:
        return repr(host_target())
    return "\n".join([os.uname().machine, *lines, repr(sorted(cache_sizes().items()))])


def _first_processor() -> Iterator[str]:
    with open(PROCESSORS, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                break
            name, _, value = line.partition(":")
            if name.strip() in IDENTITY:
                yield f"{name.strip()}: {value.strip()}"
