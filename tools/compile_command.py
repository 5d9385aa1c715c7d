"""`glow compile`: writes any level of a program, or machine code, to a file."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError, UsageError
from glow.dialects.numerics import WEIGHT_GROWTH
from glow.dialects.printer import mlir_text
from glow.dialects.weights import clone_module
from glow.frontends.mapped_file import files_held
from glow.tools.atomic_output import atomic_path, check_output_file
from glow.tools.program_output import write_program
from glow.tools.programs import read_program
from glow.tools.progress import report, step


@files_held()
def compile_model(
    model: Path,
    stage: str,
    output: Path | None,
    quantize: Path | None = None,
    precision: str = "f32",
    numerics: str = "default",
    target: str = "host",
    memory_limit: int | None = None,
    weight_growth: float = WEIGHT_GROWTH,
    *,
    verbose: bool = False,
) -> None:
    """Lower `model` to `stage` and write it to `output`, or to stdout.

    With `verbose` the kernels are told to stderr, also where `stage` is before them.
    """
    check_destination(stage, output)
    with step(f"reading {model}"):
        module = read_program(model)
    with step(f"compiling to {stage}"):
        from glow.compiler import lower_to

        lower = partial(
            lower_to,
            target=target,
            quantize=quantize or False,
            precision=precision,
            numerics=numerics,
            memory_limit=memory_limit,
            weight_growth=weight_growth,
        )
        if verbose:
            report_kernels(lower(clone_module(module), "instr"), target)
        result = lower(module, stage)
    with ExitStack() as files:
        write_result(result, output, files)


def report_kernels(module: ModuleOp | str | bytes, target: str) -> None:
    """Tell which kernels a planned module has."""
    from glow.backends.backend import get_backend

    assert isinstance(module, ModuleOp)
    for line in get_backend("cpu").inspection().log_lines(module, target):
        report(line)


def check_destination(stage: str, output: Path | None) -> None:
    """Raise before the work where the result could not be written after it."""
    if output is not None:
        check_output_file(output)
    elif stage == "obj":
        raise UsageError("an object file needs -o FILE; text goes to stdout without it")


def write_result(
    result: ModuleOp | str | bytes, output: Path | None, files: ExitStack
) -> None:
    """Write a stage's result, with the weights that it refers to."""
    temporary = None if output is None else files.enter_context(atomic_path(output))
    if isinstance(result, bytes):
        if temporary is None:
            raise GlowError("machine code needs -o FILE")
        temporary.write_bytes(result)
        return
    stream = (
        sys.stdout
        if temporary is None
        else files.enter_context(temporary.open("w", encoding="utf-8"))
    )
    if isinstance(result, ModuleOp):
        write_program(result, mlir_text, output, stream, files)
    else:
        stream.write(result)
