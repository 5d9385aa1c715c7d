"""`glow calibrate`: measures the figures of this machine's core, and stores them in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from glow.lowering.target.core import Core
from glow.lowering.target.core_file import core_text
from glow.lowering.target.target import Target, host_target
from glow.runtime.atomic_output import atomic_path
from glow.runtime.caches.cache_folder import OWNER_ONLY, default_directory
from glow.runtime.caches.calibration import (
    calibration_file,
    settled,
    store_calibration,
)
from glow.runtime.calibration.figures import measured_figures

FILE = "core.json"


def calibrate(output: Path | None) -> None:
    """Measure for some seconds, print the figures beside the table's, write the file."""
    target = host_target()
    figures = {
        name: float(f"{value:.4g}") if isinstance(value, float) else value
        for name, value in measured_figures(target).items()
    }
    print("\n".join(rows(figures, target.core)))
    path = default_directory() / FILE if output is None else output
    if output is None:
        path.parent.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(core_text(target.cpu, target.core, figures), "utf-8")
    print(f"wrote {path}; --target-core={path} compiles by these figures")
    if output is None:
        _keep(target, figures)


def _keep(target: Target, figures: Mapping[str, float]) -> None:
    """Store what compilations for this machine go by."""
    kept, place = settled(figures, target.core), calibration_file()
    if place is None:
        return
    store_calibration(place, core_text(target.cpu, target.core, kept))
    listed = ", ".join(f"{name} {_text(value)}" for name, value in kept.items())
    print(f"compilations for this machine go by {listed or 'the table'}")


def rows(figures: Mapping[str, float], core: Core) -> Iterator[str]:
    """A line for each figure: here, and in the table."""
    yield f"{'figure':24}{'here':>16}{'table of ' + core.family:>26}"
    for name, value in figures.items():
        yield f"{name:24}{_text(value):>16}{_text(getattr(core, name)):>26}"


def _text(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
