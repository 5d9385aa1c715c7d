"""Writes graphs in the dialects of other compilers: `-t stablehlo`, `--emit=stablehlo`."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp

from glow.backends.backend import DEFAULT_BACKEND
from glow.dialects.errors import UsageError
from glow.exporters import PARAMETERS, RESOURCE, UPSTREAM_LOOPS, WEIGHT_FORMS
from glow.options import CompileOptions

if TYPE_CHECKING:
    from io import TextIOWrapper

    from glow.exporters.programs.export import Program


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


@dataclass(frozen=True)
class FormatRequest:
    """Which format, where weights go, and for which machine what is compiled."""

    name: str
    weights: str | None = None
    options: CompileOptions = field(default_factory=CompileOptions)

    @classmethod
    def of(cls, name: str, args: argparse.Namespace) -> FormatRequest:
        """What a command line of `glow-opt` asks for."""
        options = CompileOptions(args.backend or DEFAULT_BACKEND)
        return cls(name, args.weights, options)


def write_format(
    module: ModuleOp,
    request: FormatRequest,
    output: Path | None,
    stream: IO[str],
    files: ExitStack,
) -> None:
    """Write a graph to the stream of `output` (None: stdout) in a format."""
    from glow.exporters.programs.export import export_program
    from glow.exporters.programs.text import write_program

    name = request.name
    if name == UPSTREAM_LOOPS:
        program = upstream_program(module, request.options)
    else:
        form = chosen_form(module, request.weights, output)
        target = getattr(import_module(f"glow.exporters.{name}"), name.upper())
        program = export_program(module, target, form, request.options.numerics)
    write_program(program, output, stream, files)


def upstream_program(module: ModuleOp, options: CompileOptions) -> Program:
    """A program of any level down to instructions as loops that other tools compile."""
    from glow.backends.backend import get_backend
    from glow.backends.bundle_program import BundleRequest
    from glow.compiler import lower
    from glow.exporters.upstream_loops import upstream_loops

    backend = get_backend(options.backend)
    planned = lower(module, backend.pipeline(options).compile_from, options)
    assert isinstance(planned, ModuleOp)
    request = BundleRequest(options)
    return upstream_loops(backend.loop_program({"network": planned}, request))


def write_onnx(module: ModuleOp, output: IO[str]) -> None:
    """Write the bytes of an ONNX file to an output that is open for text."""
    from glow.exporters.onnx import export_bytes

    content = export_bytes(module)
    output.flush()
    cast("TextIOWrapper", output).buffer.write(content)
