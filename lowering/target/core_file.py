"""Figures of one machine's core in a file, which stand before those of its family's table.

    {"format": "glow core figures 1", "cpu": "znver5", "family": "zen5",
     "figures": {"clock_hertz": 4.1e9, "l2_bytes_per_cycle": 62.8, ...}}

`glow calibrate` writes one, `--target-core=FILE` uses it. The core's family is then the table's
with a digest of the figures, `zen5-1f0c52d6`, so that text says by which figures its layouts were
chosen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from glow.dialects.errors import GlowError
from glow.lowering.target.core import FIGURES, WHOLE_FIGURES, Core

FORMAT = "glow core figures 1"


def core_text(cpu: str, core: Core, figures: Mapping[str, float]) -> str:
    """The content of a file."""
    parts = {"format": FORMAT, "cpu": cpu, "family": core.family, "figures": figures}
    return json.dumps(parts, indent=2) + "\n"


def core_of_file(path: str, core: Core) -> Core:
    """A core with the figures of a file; raises GlowError for a file that has none for it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise GlowError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise GlowError(f"{path} has no figures of a core: {error}") from error
    found = core_of_text(text, path, core)
    if found is core:
        raise GlowError(f"{path}: there are no figures")
    return found


def core_of_text(text: str, path: str, core: Core) -> Core:
    """The same for the content of a file; the core itself where there are no figures."""
    known = figures_of_text(text, path, core)
    if not known:
        return core
    digest = sha256(repr(sorted(known.items())).encode()).hexdigest()[:8]
    return replace(core, family=f"{core.family}-{digest}", **cast("Any", known))


def figures_of_text(text: str, path: str, core: Core) -> Mapping[str, float]:
    """The figures of the content of a file; raises GlowError where they are none for the core."""
    parts = _read(text, path)
    if parts.get("family") != core.family:
        raise GlowError(
            f"{path}: the figures are of {parts.get('family')!r}, the target is of "
            f"'{core.family}'",
            hint="glow calibrate measures the machine that it runs on",
        )
    figures = parts.get("figures")
    if not isinstance(figures, dict):
        raise GlowError(f"{path}: there are no figures")
    return {
        name: _figure(path, name, value)
        for name, value in cast("dict[str, object]", figures).items()
    }


def _read(text: str, path: str) -> Mapping[str, Any]:
    try:
        parts: object = json.loads(text)
    except ValueError as error:
        raise GlowError(f"{path} has no figures of a core: {error}") from error
    if not isinstance(parts, dict):
        raise GlowError(f"{path} has no figures of a core")
    found = cast("dict[str, Any]", parts)
    if found.get("format") != FORMAT:
        raise GlowError(f"{path} has no figures of a core (format '{FORMAT}')")
    return found


def _figure(path: str, name: str, value: object) -> float:
    """One figure; raises GlowError for an unknown name or an impossible value."""
    if name not in FIGURES:
        raise GlowError(f"{path}: there is no figure '{name}'")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(cast("float", value)) if is_number else math.nan
    if not math.isfinite(number) or number <= 0:
        raise GlowError(f"{path}: {name} must be a number above 0, not {value!r}")
    if name not in WHOLE_FIGURES:
        return number
    if number != int(number):
        raise GlowError(f"{path}: {name} must be a whole number, not {value!r}")
    return int(number)
