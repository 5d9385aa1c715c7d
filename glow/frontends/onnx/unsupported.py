"""Collects what a model needs and we lack, for one message about all of it."""

from __future__ import annotations

from glow.dialects.errors import GlowError
from glow.frontends.onnx.messages import NodeProto

MAX_NAMES = 20
"""Node names listed for one operator; the rest is counted."""


class UnsupportedOperators:
    """The unsupported operators of a model with the names of their nodes."""

    def __init__(self) -> None:
        self._nodes: dict[str, list[str]] = {}

    def add(self, proto: NodeProto, name: str, reason: str = "") -> None:
        """Note a node; `reason` tells what of a known operator is unsupported."""
        details = [f"domain {proto.domain}"] if proto.domain else []
        details += [reason] if reason else []
        operator = f"'{proto.op_type}'"
        if details:
            operator += f" ({', '.join(details)})"
        names = self._nodes.setdefault(operator, [])
        if name not in names:
            names.append(name)

    def raise_if_any(self) -> None:
        """Raise one GlowError that lists every operator with its nodes."""
        if not self._nodes:
            return
        count = len(self._nodes)
        verb = "operator is" if count == 1 else "operators are"
        listed = "; ".join(
            f"{operator} at node {_listed(names)}"
            for operator, names in self._nodes.items()
        )
        raise GlowError(f"{count} {verb} not supported: {listed}")


def _listed(names: list[str]) -> str:
    text = ", ".join(f"'{name}'" for name in names[:MAX_NAMES])
    hidden = len(names) - MAX_NAMES
    return f"{text} and {hidden} more" if hidden > 0 else text
