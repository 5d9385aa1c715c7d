"""The parts of the runtime that are LLVM IR in files: read, and chosen for a machine.

A file names in its header whose functions it calls; together they are one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glow.lowering.target.target import Target

ARCHITECTURES = ("x86_64", "aarch64")
"""Those that have a file; `other` stands for all others."""


def native_text(folder: str, *names: str) -> str:
    """The text of some `.ll` files of a folder of the runtime."""
    # Which takes milliseconds to import, and nobody needs where the object is cached.
    from importlib.resources import files

    place = files("glow.runtime").joinpath(folder)
    texts = (place.joinpath(f"{name}.ll").read_text("utf-8") for name in names)
    return "\n".join(texts)


def architecture_of(target: Target) -> str:
    """The file of a target's architecture."""
    name = target.triple.split("-")[0]
    name = {"arm64": "aarch64"}.get(name, name)
    return name if name in ARCHITECTURES else "other"


def system_of(target: Target) -> str:
    """The file of a target's system."""
    return "darwin" if "darwin" in target.triple else "linux"


def parking_of(target: Target) -> str:
    """The file by which threads sleep on a target's system."""
    has_futex = "linux" in target.triple and architecture_of(target) != "other"
    return "park_futex" if has_futex else "park_polling"


def cores_of(target: Target) -> str:
    """The file by which threads keep to cores of their own on a target's system."""
    return "cores_sched" if "linux" in target.triple else "cores_unknown"
