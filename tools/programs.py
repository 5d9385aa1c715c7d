"""Reads the programs that `glow` works on: `.onnx` models and `.mlir` text."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from glow.dialects.errors import GlowError
from glow.frontends.kinds import SUFFIXES, kind_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.options import CompileOptions


def check_program(path: Path) -> None:
    """Raise one line unless `path` is a file of a kind that `glow` reads."""
    if kind_of(path) is None:
        raise GlowError(
            f"{path}: unknown kind of file; glow reads {' and '.join(SUFFIXES)}"
        )
    if not path.is_file():
        reason = "is not a file" if path.exists() else "no such file"
        reason = "is a folder" if path.is_dir() else reason
        raise GlowError(f"{path}: {reason}")


def read_program(path: Path, options: CompileOptions | None = None) -> ModuleOp:
    """The module of a model or of MLIR text, verified.

    With buckets it is that of the ones for the options' shapes. Raises GlowError for a model
    with sizes or values that the options leave open.
    """
    from glow.compiler import load

    check_program(path)
    if options is not None and options.buckets:
        from glow.bucketing.buckets import at_buckets

        options = at_buckets(options, partial(load, path))
    return load(path, options)
