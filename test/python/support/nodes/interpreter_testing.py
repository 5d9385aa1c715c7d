"""What the tests of the interpreter share."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from glow.frontends.mlir import parse_text
from glow.universe import new_context


def parse(text: str) -> ModuleOp:
    """The verified module of a text."""
    module = parse_text(new_context(), text, "test.mlir")
    module.verify()
    return module
