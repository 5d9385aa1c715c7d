"""A program as text, in the generic form, and the file of weights beside it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import IO

from xdsl.printer import Printer

from glow.dialects.errors import UsageError
from glow.dialects.weight_file import write_weight_file
from glow.exporters import RESOURCE
from glow.exporters.programs.export import Program
from glow.frontends.inline_weights import print_resources
from glow.frontends.sidecar import check_replaceable, sidecar_of
from glow.runtime.atomic_output import atomic_path, is_stream


def print_program(program: Program, output: IO[str]) -> None:
    """Write the text of a program, with the weights that are inside it."""
    printer = Printer(output, print_generic_format=True)
    printer.print_op(program.module)
    output.write("\n")
    if program.form == RESOURCE:
        print_resources(program.weights, output)


def write_program(
    program: Program, output: Path | None, stream: IO[str], files: ExitStack
) -> None:
    """Write a program to a stream, which is that of `output`, if any.

    Weights that are not in the text go into a file beside it; raises UsageError without one.
    """
    print_program(program, stream)
    if program.form == RESOURCE or not program.weights:
        return
    if output is None or is_stream(output):
        raise UsageError(
            f"--weights={program.form} writes the weights to a file beside -o FILE"
        )
    sidecar = sidecar_of(output)
    check_replaceable(sidecar)
    write_weight_file(program.weights, files.enter_context(atomic_path(sidecar)))
