"""`glow compile`: writes any level of a program, or machine code, to a file."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from glow.backends.backend import get_backend
from glow.backends.pipeline import GRAPH, Pipeline
from glow.dialects.errors import GlowError, UsageError
from glow.dialects.printer import mlir_text
from glow.dialects.weights import clone_module
from glow.exporters import PROGRAM_FORMATS
from glow.frontends.mapped_file import files_held
from glow.options import CompileOptions
from glow.runtime.atomic_output import atomic_path, check_output_file
from glow.tools.opt.program_formats import FormatRequest, check_form, write_format
from glow.tools.program_output import write_program
from glow.tools.programs import read_program
from glow.tools.progress import report, step

ONNX = "onnx"
"""Not a phase of a pipeline but another way to write the graph."""

BINARY = {"obj": "an object file", ONNX: "an ONNX file"}
"""What is no text."""


@files_held()
def compile_model(
    model: Path,
    phase: str | None,
    output: Path | None,
    options: CompileOptions,
    *,
    weights: str | None = None,
    verbose: bool = False,
) -> None:
    """Lower `model` to the end of a phase (None: the last) and write it to `output`, or stdout.

    `weights` says where those of a program for other compilers go. With `verbose` the kernels
    are told to stderr, also where the phase is before them.
    """
    pipeline = get_backend(options.backend).pipeline(options)
    phase = phase or pipeline.names[-1]
    last = GRAPH if phase == ONNX or phase in PROGRAM_FORMATS else phase
    check_phase(pipeline, last)
    check_destination(phase, output)
    if weights is not None:
        check_form(weights)
    with step(f"reading {model}"):
        module = read_program(model, options)
    with step(f"compiling to {phase}"):
        from glow.compiler import lower

        lower_to = lower_and_report if verbose else lower
        result = lower_to(module, last, options)
    if phase == ONNX:
        result = onnx_bytes(result)
    with ExitStack() as files:
        if phase in PROGRAM_FORMATS:
            assert isinstance(result, ModuleOp)
            stream = open_result(output, files)
            request = FormatRequest(phase, weights, options)
            write_format(result, request, output, stream, files)
        else:
            write_result(result, output, files)


def open_result(output: Path | None, files: ExitStack) -> IO[str]:
    """The stream of a text that appears as a whole; stdout without a file."""
    if output is None:
        return sys.stdout
    temporary = files.enter_context(atomic_path(output))
    return files.enter_context(temporary.open("w", encoding="utf-8"))


def onnx_bytes(module: ModuleOp | str | bytes) -> bytes:
    """The ONNX file of a graph."""
    from glow.exporters.onnx import export_bytes

    assert isinstance(module, ModuleOp)
    return export_bytes(module)


def lower_and_report(
    module: ModuleOp, phase: str, options: CompileOptions
) -> ModuleOp | str | bytes:
    """Lower a module to the end of a phase, and on to where its kernels are known."""
    from glow.compiler import lower

    pipeline, kept = get_backend(options.backend).pipeline(options), list[ModuleOp]()
    planned, names = pipeline.compile_from, pipeline.names
    before = not pipeline.is_compiled(phase)

    def watch(done: str) -> None:
        if before and not kept and names.index(done) >= names.index(phase):
            kept.append(clone_module(module))
        if done == planned:
            report_kernels(module, options)

    result = lower(module, planned if before else phase, options, watch)
    return kept[0] if before else result


def report_kernels(module: ModuleOp, options: CompileOptions) -> None:
    """Tell which kernels a planned module has."""
    inspection = get_backend(options.backend).inspection()
    for line in inspection.log_lines(module, options.target):
        report(line)


def check_phase(pipeline: Pipeline, phase: str) -> None:
    """Raise UsageError for a phase that the backend does not have."""
    try:
        pipeline[phase]
    except GlowError as error:
        raise UsageError(f"--compile-to: {error.message}", hint=error.hint) from None


def check_destination(phase: str, output: Path | None) -> None:
    """Raise before the work where the result could not be written after it."""
    if output is not None:
        check_output_file(output)
    elif phase in BINARY:
        raise UsageError(
            f"{BINARY[phase]} needs -o FILE; text goes to stdout without it"
        )


def write_result(
    result: ModuleOp | str | bytes, output: Path | None, files: ExitStack
) -> None:
    """Write a phase's result, with the weights that it refers to."""
    if isinstance(result, bytes):
        if output is None:
            raise GlowError("machine code needs -o FILE")
        files.enter_context(atomic_path(output)).write_bytes(result)
        return
    stream = open_result(output, files)
    if isinstance(result, ModuleOp):
        write_program(result, mlir_text, output, stream, files)
    else:
        stream.write(result)
