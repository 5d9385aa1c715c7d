"""The warning that calls of many sizes compile a program each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from glow.open_sizes import UNNAMED, OpenSignature

Calls = Sequence[Sequence[Sequence[int]]]
"""The shapes of the inputs of each."""


def varying_sizes(signature: OpenSignature, calls: Calls) -> list[str]:
    """The open sizes without buckets that calls differ in."""
    known = signature.padding.names if signature.padding else set[str]()
    sizes: dict[str, set[int]] = {}
    for shapes in calls:
        for info, shape in zip(signature.inputs, shapes, strict=True):
            for name, size in zip(info.shape or (), shape, strict=False):
                if isinstance(name, str) and name not in (UNNAMED, *known):
                    sizes.setdefault(name, set()).add(size)
    return [name for name, found in sizes.items() if len(found) > 1]


def tell_of_buckets(signature: OpenSignature, calls: Calls) -> None:
    """Warn that each new size compiles a program, where that is what calls differ in."""
    sizes = varying_sizes(signature, calls)
    if not sizes:
        return
    warnings.warn(
        f"{len(calls)} programs are compiled for calls that differ in {', '.join(sizes)}; "
        f"buckets={{'{sizes[0]}': [16, 64, 256]}}, or 'auto', bounds them if the model allows it",
        stacklevel=2,
    )
