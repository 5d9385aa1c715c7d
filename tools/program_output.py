"""Writes programs with their weights: in a file beside the text, or in the text itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.weight_table import Array
from glow.frontends.inline_weights import (
    print_resources,
    put_weights_inline,
    resource_characters,
)
from glow.frontends.sidecar import (
    check_replaceable,
    has_weights,
    save_sidecar,
    sidecar_of,
)
from glow.runtime.atomic_output import atomic_path, is_stream
from glow.tools.progress import report


def write_weights(
    module: ModuleOp, output: Path | None, files: ExitStack
) -> Mapping[str, Array]:
    """Write the weights of a module that is printed to `output`, or to stdout (None).

    They are written beside a file, which appears when `files` closes. For a pipe or device
    they are returned by key: `print_resources` writes them behind the text. On a terminal
    they are left out, which a note says. Raises GlowError where the file would replace one
    of somebody else.
    """
    if not has_weights(module):
        return {}
    if output is None and sys.stdout.isatty():
        report("weights are not printed; -o FILE writes them beside the program")
        return {}
    if output is None or is_stream(output):
        return put_weights_inline(module)
    sidecar = sidecar_of(output)
    check_replaceable(sidecar)
    save_sidecar(module, files.enter_context(atomic_path(sidecar)), sidecar.name)
    return {}


def write_program(
    module: ModuleOp,
    text: Callable[[ModuleOp], str],
    output: Path | None,
    stream: IO[str],
    files: ExitStack,
    *,
    longest_resource: int | None = None,
) -> None:
    """Write a module as `text` spells it to a stream, and its weights as they go with it.

    Weights in the text that take more than `longest_resource` characters are left out.
    """
    weights = write_weights(module, output, files)
    stream.write(text(module))
    if longest_resource is not None:
        weights = {
            key: array
            for key, array in weights.items()
            if resource_characters(array) <= longest_resource
        }
    print_resources(weights, stream)
