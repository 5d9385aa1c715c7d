r"""Tells what kind of program a file holds: by its first bytes, whatever it is called.

| begins with | is |
|---|---|
| `ML\xefR` | MLIR's bytecode, which is refused |
| `\x08`, the tag of a model's version | an ONNX model |
| a comment, an alias, an operation | MLIR text |

Where that says nothing the suffix does, of empty and damaged files, too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypeGuard, cast

from glow.dialects.errors import GlowError

TEXT, ONNX = ".mlir", ".onnx"
SUFFIXES = (ONNX, TEXT)

MAGIC = b"ML\xefR"
"""What bytecode begins with; behind it stand its version and the name of its producer."""
HEAD = 4096
"""Bytes that are looked at; the comment above a program may be long."""

_BEGINNING = re.compile(
    rb'(?:\s|//[^\n]*(?:\n|\Z))*(?:(?:module|func)\b|[#!%"]|\w+\.\w+|\{-#|\Z)'
)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """`TEXT` or `ONNX`; None for a file that is neither by content nor by suffix.

    Raises GlowError for bytecode.
    """
    path = Path(path)
    head = head_of(path)
    refuse_bytecode(head, str(path))
    if head.startswith(b"\x08"):
        return ONNX
    if head.strip() and _BEGINNING.match(head) and not _BINARY.search(head):
        return TEXT
    return path.suffix if path.suffix in SUFFIXES else None


def is_text(model: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a model is a file of MLIR text."""
    if not isinstance(model, str | os.PathLike):
        return False
    return kind_of(cast("str | os.PathLike[str]", model)) == TEXT


def head_of(path: Path) -> bytes:
    """The first bytes of a file; none of what is no file, or cannot be read."""
    try:
        if not path.is_file():  # A pipe would be waited for.
            return b""
        with path.open("rb") as file:
            return file.read(HEAD)
    except (OSError, ValueError):
        return b""


def refuse_bytecode(content: bytes, name: str) -> None:
    """Raise GlowError for bytecode, with the command that makes text of it."""
    if not content.startswith(MAGIC):
        return
    file = "" if name == "stdin" else f" {Path(name).name}"
    is_stable = b"StableHLO" in content[:HEAD]
    tool = "stablehlo-translate --deserialize" if is_stable else "mlir-opt"
    raise GlowError(
        "MLIR bytecode, not text",
        location=name,
        hint=f"make text of it with {tool}{file} -o program.mlir",
    )
