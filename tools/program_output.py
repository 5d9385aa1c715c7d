"""Writes programs with their weights."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from glow.frontends.sidecar import (
    check_replaceable,
    has_weights,
    save_sidecar,
    sidecar_of,
)
from glow.tools.atomic_output import atomic_path, is_stream
from glow.tools.progress import report


def write_weights(module: ModuleOp, output: Path | None, files: ExitStack) -> None:
    """Write the weights of a module that is printed to `output`, or to stdout (None).

    They are written beside a file, which appears when `files` closes. Raises GlowError where
    that would replace a file of somebody else.
    """
    if not has_weights(module):
        return
    if output is None or is_stream(output):
        report("weights are not printed; -o FILE writes them beside the program")
        return
    sidecar = sidecar_of(output)
    check_replaceable(sidecar)
    save_sidecar(module, files.enter_context(atomic_path(sidecar)), sidecar.name)


def write_program(
    module: ModuleOp,
    text: Callable[[ModuleOp], str],
    output: Path | None,
    stream: IO[str],
    files: ExitStack,
) -> None:
    """Write a module as `text` spells it to a stream, and its weights as they go with it."""
    write_weights(module, output, files)
    stream.write(text(module))
