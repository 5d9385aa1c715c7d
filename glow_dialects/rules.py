"""How a rule of an operation says that it is broken."""

from __future__ import annotations

from xdsl.utils.exceptions import VerifyException


def fail_unless(condition: bool, rule: str) -> None:
    """Raise a VerifyException that names the broken rule."""
    if not condition:
        raise VerifyException(rule)
