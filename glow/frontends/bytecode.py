"""Tells MLIR's bytecode from text, whatever the file is called."""

from __future__ import annotations

from pathlib import Path

from glow.dialects.errors import GlowError

MAGIC = b"ML\xefR"
"""What bytecode begins with; behind it stand its version and the name of its producer."""
HEAD = 64
"""Bytes in which all of that is."""


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


def refuse_bytecode_file(path: Path) -> None:
    """The same for a file, if there is one that can be read."""
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return
    refuse_bytecode(head, str(path))
