"""Whether a backend runs a unit, asked once for each operation; and what none runs."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from glow.backends.backend import get_backend
from glow.backends.refusals import is_asked_about
from glow.passes.graph.partition.graph import Unit


def unsupported_reason(
    unit: Unit, backend: str, refused: Collection[str] = ()
) -> str | None:
    """Why a backend does not run a unit, with the nodes in its regions; None if it does.

    `refused` are names of operations that it should not get.
    """
    asked = get_backend(backend)
    for op in chain.from_iterable(op.walk() for op in unit.ops):
        if op.name in refused:
            return "it is among those that are refused"
        if is_asked_about(op) and (reason := asked.refuses(op)) is not None:
            return reason
    return None
