"""How a handler refuses its node."""

from __future__ import annotations


class UnsupportedError(Exception):
    """A handler cannot import its node; the message says what is unsupported."""


def refuse_if(condition: bool, what: str) -> None:
    """Raise an UnsupportedError that names what is unsupported."""
    if condition:
        raise UnsupportedError(what)
