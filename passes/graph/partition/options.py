"""What a division is, as options and as text."""

from __future__ import annotations

from collections.abc import Sequence

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.balance import TOLERANCE
from glow.passes.graph.partition.devices import PartitionDevice
from glow.passes.graph.partition.divide import Division
from glow.passes.graph.partition.user import parse_map

DEFAULTS = {
    "strategy": "heterogeneous",
    "tolerance": str(TOLERANCE),
    "map": "",
    "unsupported": "",
    "saturate": "false",
}
"""The options of a division, as text."""


def parse_division(text: str, devices: Sequence[PartitionDevice]) -> Division:
    """The division that `strategy=user map=a=cpu:0,b=cpu:1 saturate` says, or `balance`.

    Raises GlowError for an option that there is not.
    """
    found = {**DEFAULTS, **dict(map(_option, text.split()))}
    try:
        tolerance = float(found["tolerance"])
    except ValueError:
        raise GlowError(f"tolerance={found['tolerance']} is no number") from None
    named = parse_map(found["map"].split(",")) if found["map"] else {}
    refused = parse_unsupported([*filter(None, found["unsupported"].split(","))])
    saturate = found["saturate"] == "true"
    return Division(
        devices, found["strategy"], named, tolerance, refused, saturate=saturate
    )


def _option(word: str) -> tuple[str, str]:
    """The name and the value of an option; a bare word is a strategy, or `saturate`."""
    name, equals, value = word.partition("=")
    if not equals:
        return ("saturate", "true") if word == "saturate" else ("strategy", word)
    if name not in DEFAULTS:
        names = ", ".join(DEFAULTS)
        raise GlowError(f"a partition has no option '{name}'", hint=f"one of {names}")
    return name, value


def parse_unsupported(texts: Sequence[str]) -> dict[str, frozenset[str]]:
    """The operations by kind of device of `npu=glow.softmax` texts."""
    found: dict[str, set[str]] = {}
    for text in texts:
        kind, equals, operation = text.partition("=")
        if not (kind and equals and operation):
            raise GlowError(
                f"'{text}' is no kind=operation", hint="such as npu=glow.softmax"
            )
        found.setdefault(kind, set()).add(operation)
    return {kind: frozenset(names) for kind, names in found.items()}
