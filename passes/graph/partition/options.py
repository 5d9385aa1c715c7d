"""What a division is, as options and as text."""

from __future__ import annotations

from collections.abc import Sequence

from glow.dialects.errors import GlowError
from glow.passes.graph.partition.balance import TOLERANCE
from glow.passes.graph.partition.devices import PartitionDevice
from glow.passes.graph.partition.divide import Division
from glow.passes.graph.partition.user import parse_map


def parse_division(text: str, devices: Sequence[PartitionDevice]) -> Division:
    """The division that `strategy=user map=a=cpu:0,b=cpu:1 saturate` says, or `balance`.

    Raises GlowError for an option that there is not.
    """
    found = {"strategy": "heterogeneous", "tolerance": str(TOLERANCE)}
    found |= {"map": "", "unsupported": "", "saturate": "false"}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals:
            name, value = (
                ("saturate", "true") if word == "saturate" else ("strategy", word)
            )
        if name not in found:
            raise GlowError(
                f"a partition has no option '{name}'", hint=f"one of {', '.join(found)}"
            )
        found[name] = value
    try:
        tolerance = float(found["tolerance"])
    except ValueError:
        raise GlowError(f"tolerance={found['tolerance']} is no number") from None
    return Division(
        devices,
        found["strategy"],
        parse_map(found["map"].split(",")) if found["map"] else {},
        tolerance,
        parse_unsupported(list(filter(None, found["unsupported"].split(",")))),
        found["saturate"] == "true",
    )


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
