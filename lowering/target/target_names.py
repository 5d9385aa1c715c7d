"""Names of targets, from what a user writes."""

from __future__ import annotations

import os
import re

from glow.dialects.errors import GlowError
from glow.lowering.target.target import TRIPLE_END, Target, host_target


def target_name(
    cpu: str | None,
    features: str | None,
    core_file: str | None = None,
    triple: str | None = None,
) -> str:
    """Returns the name of a CPU (the host's) with features such as `+avxvnni,-fma`.

    Raises GlowError for a feature without a sign, a CPU or a triple that is not known, or
    a file that has no figures for its core.
    """
    name = "host" if cpu is None else cpu
    if triple is not None:
        name = f"{triple}{TRIPLE_END}{cpu or ''}"
    for change in filter(None, (features or "").split(",")):
        match = re.fullmatch(r"([-+])([A-Za-z0-9.-]+)", change.strip())
        if match is None:
            raise GlowError(f"feature '{change}' has no sign", hint="+avx2 or -avx2")
        name += f"_{'with' if match[1] == '+' else 'without'}-{match[2]}"
    if core_file is not None:
        name += f"@{os.path.abspath(core_file)}"
    if name != "host":  # Which needs LLVM, and is always known.
        Target.from_string(name)
    return name


def with_feature(name: str, feature: str) -> str:
    """The name of a target with one more feature."""
    return _changed(name, f"_with-{feature}")


def without_matrix_tiles(name: str) -> str:
    """The same target without those, for code whose process may not have asked for them."""
    target = Target.from_string(name)
    if not (target.has_int8_tiles or target.has_bf16_tiles):
        return name
    return _changed(name, "_without-amx-tile")


def _changed(name: str, change: str) -> str:
    base, at, file = name.partition("@")
    return f"{base}{change}{at}{file}"


def runnable_target(name: str) -> Target:
    """Returns a target by name; raises GlowError where this machine cannot run it."""
    target = Target.from_string(name)
    if not target.runs_on(host_target()):
        raise GlowError(
            f"this machine cannot run code for '{name}'",
            hint="glow compile writes object files for other machines",
        )
    return target
