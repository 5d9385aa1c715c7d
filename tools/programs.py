"""Reads the programs that `glow` works on: `.onnx` models and `.mlir` text."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError

SUFFIXES = (".onnx", ".mlir")


def check_program(path: Path) -> None:
    """Raise one line unless `path` is a file of a kind that `glow` reads."""
    if path.suffix not in SUFFIXES:
        raise GlowError(
            f"{path}: unknown kind of file; glow reads {' and '.join(SUFFIXES)}"
        )
    if not path.is_file():
        reason = "is a folder" if path.exists() else "no such file"
        raise GlowError(f"{path}: {reason}")


def read_program(path: Path) -> ModuleOp:
    """The module of a model or of MLIR text, verified."""
    check_program(path)
    return read_mlir_program(path) if path.suffix == ".mlir" else _read_onnx(path)


def read_mlir_program(path: Path) -> ModuleOp:
    """The module of MLIR text with its weights, verified."""
    from glow.diagnostics import verify_module
    from glow.frontends.mlir import read_mlir
    from glow.universe import new_context

    module = read_mlir(path, new_context())
    verify_module(module)
    return module


def _read_onnx(path: Path) -> ModuleOp:
    from glow.frontends.onnx import import_model

    return import_model(path)
