"""Writes graphs in the dialects of other compilers: `-t stablehlo`, `--emit=stablehlo`."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import UsageError
from glow.exporters import PARAMETERS, RESOURCE, WEIGHT_FORMS


def chosen_form(module: ModuleOp, weights: str | None, output: Path | None) -> str:
    """Where weights go: as asked for, else in the text where that does not make it too long.

    Raises UsageError for a form that there is not.
    """
    from glow.dialects.weights import used_weights, weights_of
    from glow.exporters.programs.weights import MOST_CHARACTERS
    from glow.runtime.atomic_output import is_stream

    if weights is not None:
        check_form(weights)
        return weights
    if output is None or is_stream(output):
        return RESOURCE
    table = weights_of(module)
    count = sum(2 * table.entry(name).nbytes for name in used_weights(module))
    return RESOURCE if count < MOST_CHARACTERS else PARAMETERS


def check_form(weights: str) -> None:
    """Raise UsageError for a form of weights that no format has."""
    if weights not in WEIGHT_FORMS:
        raise UsageError(
            f"--weights={weights} is none of {', '.join(WEIGHT_FORMS)}, which programs have"
        )


def write_format(
    module: ModuleOp,
    name: str,
    weights: str | None,
    output: Path | None,
    stream: IO[str],
    files: ExitStack,
) -> None:
    """Write a graph to the stream of `output` (None: stdout) in a format."""
    from glow.exporters.programs.export import export_program
    from glow.exporters.programs.text import write_program

    form = chosen_form(module, weights, output)
    target = getattr(import_module(f"glow.exporters.{name}"), name.upper())
    program = export_program(module, target, form)
    write_program(program, output, stream, files)
