"""`glow calibrate`: measures the figures of this machine's core, and stores them in a file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from glow.dialects.errors import GlowError
from glow.lowering.target.core import Core
from glow.lowering.target.core_file import core_text, figures_of_text
from glow.lowering.target.target import Target, host_target
from glow.runtime.atomic_output import atomic_path
from glow.runtime.caches.cache_folder import OWNER_ONLY, default_directory
from glow.runtime.caches.calibration import (
    calibration,
    calibration_file,
    settled,
    store_calibration,
)
from glow.runtime.calibration.all_cores import CoresBusyError
from glow.runtime.calibration.background import undisturbed
from glow.runtime.calibration.figures import Figures

FILE = "core.json"
WAIT_SECONDS = 2
"""For cores that others use."""


def calibrate(output: Path | None) -> None:
    """Measure for some seconds, print the figures beside the table's, write the file."""
    target, began = host_target(), time.perf_counter()
    measuring = Figures(target)
    alone, measured = undisturbed(measuring.of_a_core)
    shared = _of_all_cores(measuring)
    seconds = time.perf_counter() - began
    figures = {
        name: float(f"{value:.4g}") if isinstance(value, float) else value
        for name, value in {**measured, **(shared or {})}.items()
    }
    print("\n".join(rows(figures, target.core)))
    print(f"measured in {seconds:.1f} s")
    path = default_directory() / FILE if output is None else output
    if output is None:
        path.parent.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(core_text(target.cpu, target.core, figures), "utf-8")
    print(f"wrote {path}; --target-core={path} compiles by these figures")
    if output is not None:
        return
    if alone and shared is not None:
        _keep(target, figures)
    else:
        print("others use this machine: compilations go by what they went by before")


def _of_all_cores(measuring: Figures) -> Mapping[str, float] | None:
    """What all cores do at once; None where others use them."""
    try:
        return measuring.of_all_cores_when_free(WAIT_SECONDS)
    except CoresBusyError:
        return None


def _keep(target: Target, figures: Mapping[str, float]) -> None:
    """Store what compilations for this machine go by."""
    place = calibration_file()
    if place is None:
        return
    kept = settled(figures, target.core, _kept_before(target.core))
    store_calibration(place, core_text(target.cpu, target.core, kept))
    listed = ", ".join(f"{name} {_text(value)}" for name, value in kept.items())
    print(f"compilations for this machine go by {listed or 'the table'}")


def _kept_before(core: Core) -> Mapping[str, float]:
    """What compilations have gone by up to now."""
    try:
        return figures_of_text(calibration(), FILE, core)
    except GlowError:
        return {}


def rows(figures: Mapping[str, float], core: Core) -> Iterator[str]:
    """A line for each figure: here, and in the table."""
    yield f"{'figure':34}{'here':>16}{'table of ' + core.family:>26}"
    for name, value in figures.items():
        yield f"{name:34}{_text(value):>16}{_text(getattr(core, name)):>26}"


def _text(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
