"""The warning that calls of many sizes compile a program each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from glow.open_sizes import UNNAMED, OpenSignature

TOLD_PROGRAMS = 8
"""So many programs for calls of other sizes are worth a warning, since each takes a while."""


def varying_sizes(
    signature: OpenSignature, calls: Iterable[Sequence[Sequence[int]]]
) -> list[str]:
    """The open sizes without buckets that calls, of such shapes of their inputs, differ in."""
    known = signature.padding.names if signature.padding else set[str]()
    sizes: dict[str, set[int]] = {}
    for shapes in calls:
        for info, shape in zip(signature.inputs, shapes, strict=True):
            for name, size in zip(info.shape or (), shape, strict=False):
                if isinstance(name, str) and name not in (UNNAMED, *known):
                    sizes.setdefault(name, set()).add(size)
    return [name for name, found in sizes.items() if len(found) > 1]


def tell_of_buckets(sizes: Sequence[str]) -> None:
    """Warn that each new size compiles a program."""
    warnings.warn(
        f"{TOLD_PROGRAMS} programs are compiled for calls that differ in {', '.join(sizes)}; "
        f"buckets={{'{sizes[0]}': [16, 64, 256]}}, if the model allows it, bounds them",
        stacklevel=2,
    )
