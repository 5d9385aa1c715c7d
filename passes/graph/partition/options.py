"""What options of passes say: operations that a kind of device should not get."""

from __future__ import annotations

from collections.abc import Sequence

from glow.dialects.errors import GlowError


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
