"""What was measured of this machine's core, as compilations for `host` go by it.

A file in `calibration/` in the cache folder, for this processor and frequency policy, and for the
list of figures: where there are others, the machine is measured again. It holds only figures that
are far from the table's: what noise changes is left to the table, and the others are rounded, so
that two measurements give the same code. Of a core that has a table of its own, these are figures
that the machine around it decides. A process looks once; `host,uncalibrated` and `GLOW_TUNING=off`
never do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from math import log
from pathlib import Path

from glow.dialects.errors import GlowError
from glow.lowering.target.core import FIGURES, WHOLE_FIGURES, Core
from glow.runtime.caches.cache_folder import default_directory, open_private, whole_file

FOLDER = "calibration"
SWITCH = "GLOW_TUNING"
"""`off` for code that is the same on all machines: `glow.tuning.choices` asks it too."""

PROCESSORS = "/proc/cpuinfo"
IDENTITY = {
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part",
}  # fmt: skip
"""What tells processors apart on x86 and on ARM; clock rates change by the minute."""

POLICY = "/sys/devices/system/cpu"
POLICY_FILES = (
    "cpu0/cpufreq/scaling_driver",
    "cpu0/cpufreq/scaling_governor",
    "cpu0/cpufreq/scaling_max_freq",
    "cpufreq/boost",
    "intel_pstate/no_turbo",
)
"""What decides at which frequencies cores run, where the system says it."""

NOISE = 1.25
"""A figure has to be so many times the table's, or such a part; and it is rounded to such steps."""
IMPOSSIBLE = 32.0
"""A figure that is so far from the table's was not measured."""

GENERIC = "generic-"
"""Families of cores without a table, which take all figures."""
OF_MACHINE = (
    "barrier_cycles", "clock_hertz", "contended_l3_bytes_per_cycle",
    "contended_memory_bytes_per_cycle", "l3_bytes_per_cycle", "memory_bytes_per_cycle",
    "shared_l3_latency", "split_l3_latency",
)  # fmt: skip
"""Figures that one core family has several of."""


def processor() -> str:
    """Text that only processors with the same code have; empty where the system says nothing."""
    try:
        return "\n".join(_first_processor())
    except OSError:
        return ""


def _first_processor() -> Iterator[str]:
    with open(PROCESSORS, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                break
            name, _, value = line.partition(":")
            if name.strip() in IDENTITY:
                yield f"{name.strip()}: {value.strip()}"


def frequency_policy() -> str:
    """How cores choose their frequencies; empty in machines that do not say it."""
    return "\n".join(_first_line(Path(POLICY, name)) for name in POLICY_FILES)


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def calibration_file() -> Path | None:
    """Where this machine's figures are; None where it is unknown, or nobody is to look."""
    if os.environ.get(SWITCH) == "off":
        return None
    return _file(default_directory())


@cache
def _file(base: Path) -> Path | None:
    identity = processor()
    if not identity:
        return None
    parts = (*FIGURES, identity, frequency_policy())
    key = sha256("\n".join(parts).encode()).hexdigest()[:16]
    return base / FOLDER / f"{key}.json"


def calibration() -> str:
    """The content of the file, as this process has found it first; empty without one."""
    path = calibration_file()
    return "" if path is None else _content(path)


@cache
def _content(path: Path) -> str:
    try:
        with open(open_private(path, path.parent.parent), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def calibrated(core: Core) -> Core:
    """A core of this machine with its figures; a damaged file has none."""
    text = calibration()
    return _with_figures(core, text) if text else core


@cache
def _with_figures(core: Core, text: str) -> Core:
    from glow.lowering.target.core_file import core_of_text

    try:
        return core_of_text(text, FOLDER, core)
    except GlowError:
        return core


def settled(
    figures: Mapping[str, float], core: Core, before: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Those of measured figures that count, rounded; those of `before` that they are still near."""
    is_generic = core.family.startswith(GENERIC)
    found: dict[str, float] = {}
    for name, value in figures.items():
        known = float(getattr(core, name))
        if not known or not (is_generic or name in OF_MACHINE):
            continue
        kept = (before or {}).get(name)
        if kept and _times(value, kept) <= NOISE:
            found[name] = kept
        elif NOISE < _times(value, known) < IMPOSSIBLE:
            rounded = NOISE ** round(log(value, NOISE))
            is_whole = name in WHOLE_FIGURES
            found[name] = (
                max(1, round(rounded)) if is_whole else float(f"{rounded:.3g}")
            )
    return found


def _times(one: float, other: float) -> float:
    """How many times the smaller figure the larger one is."""
    return max(one / other, other / one) if one > 0 else IMPOSSIBLE


def store_calibration(path: Path, text: str) -> None:
    """Keep the figures that count for later processes."""
    with whole_file(path, path.parent.parent) as file:
        file.write(text.encode())
