"""Reads files of `network_texts.py` in a fresh process: the hashes of what it prints."""

import hashlib
import json
import sys
from pathlib import Path

from glow.dialects.printer import mlir_text
from glow.frontends.mlir import parse_text
from glow.universe import new_context


def printed(file: Path) -> str:
    """The hash of the text of a file, read and printed in the form of its name."""
    module = parse_text(new_context(), file.read_bytes(), str(file))
    text = mlir_text(
        module, generic="generic" in file.name, locations="locations" in file.name
    )
    return hashlib.sha256(text.encode()).hexdigest()


print(json.dumps({name: printed(Path(name)) for name in sys.argv[1:]}))
