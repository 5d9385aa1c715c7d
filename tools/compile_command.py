"""`glow compile`: writes any level of a program, or machine code, to a file."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.frontends.sidecar import has_weights, save_sidecar, sidecar_of
from glow.tools.atomic_output import atomic_path, check_output_file
from glow.tools.mlir_target import mlir_text
from glow.tools.programs import read_program
from glow.tools.progress import step


def compile_model(
    model: Path,
    stage: str,
    output: Path | None,
    quantize: Path | None = None,
    precision: str = "f32",
    numerics: str = "default",
    target: str = "host",
    memory_limit: int | None = None,
) -> None:
    """Lower `model` to `stage` and write it to `output`, or to stdout."""
    check_destination(stage, output)
    with step(f"reading {model}"):
        module = read_program(model)
    with step(f"compiling to {stage}"):
        from glow.compiler import lower_to

        result = lower_to(
            module,
            stage,
            target=target,
            quantize=quantize or False,
            precision=precision,
            numerics=numerics,
            memory_limit=memory_limit,
        )
    if output is None:
        sys.stdout.write(as_text(result))
    else:
        write_result(result, output)


def check_destination(stage: str, output: Path | None) -> None:
    """Raise before the work where the result could not be written after it."""
    if output is not None:
        check_output_file(output)
    elif stage == "obj":
        raise GlowError("an object file needs -o FILE; text goes to stdout without it")


def as_text(result: ModuleOp | str | bytes) -> str:
    """A stage's result as it is printed."""
    if isinstance(result, bytes):
        raise GlowError("machine code needs -o FILE")
    return result if isinstance(result, str) else mlir_text(result)


def write_result(result: ModuleOp | str | bytes, output: Path) -> None:
    """Write a stage's result, and the weights that it refers to beside it."""
    with ExitStack() as files:
        temporary = files.enter_context(atomic_path(output))
        if isinstance(result, ModuleOp) and has_weights(result):
            sidecar = sidecar_of(output)
            weights = files.enter_context(atomic_path(sidecar))
            save_sidecar(result, weights, sidecar.name)
        if isinstance(result, bytes):
            temporary.write_bytes(result)
        else:
            temporary.write_text(as_text(result), encoding="utf-8")
