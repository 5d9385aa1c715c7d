"""Reads `.mlir` text, and the weights beside the file."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from glow.dialects.errors import GlowError, one_line
from glow.frontends.inline_weights import take_resources
from glow.frontends.kinds import refuse_bytecode
from glow.frontends.mlir_parser import LocatingParser
from glow.frontends.notes import ImportNotes
from glow.frontends.parameters import take_parameters
from glow.frontends.sidecar import attach_sidecar
from glow.garbage_collection import collection_paused
from glow.verification import verify_module


def parse_text(
    context: Context,
    text: str | bytes,
    name: str,
    *,
    implicit_module: bool = True,
    line_offset: int = 0,
) -> ModuleOp:
    """The module that `text` spells; `name` is the file in positions."""
    if isinstance(text, bytes):
        text = _decode(text, name)
    parser = LocatingParser(context, text, name, line_offset=line_offset)
    with collection_paused():
        module = parser.parse_module(implicit_module)
    take_resources(module, parser.resource_keys)
    take_parameters(module)
    return module


def _decode(text: bytes, name: str) -> str:
    refuse_bytecode(text, name)
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise GlowError("not UTF-8 text", location=f"{name}:{line}") from error


def read_mlir(
    path: str | os.PathLike[str], context: Context, notes: ImportNotes | None = None
) -> ModuleOp:
    """The module in the file `path`, verified, with the weights of its sidecar file.

    Raises GlowError with the place of whatever is wrong with it.
    """
    path = Path(path)
    module = _parse_file(path, context)
    verify_module(module)
    attach_sidecar(module, path, notes)
    return module


def _parse_file(path: Path, context: Context) -> ModuleOp:
    if "\0" in str(path):
        raise GlowError(f"no file is named {str(path)!r}: there is a null in it")
    try:
        return parse_text(context, path.read_bytes(), str(path))
    except ParseError as error:
        place = str(error.span.get_location())
        raise GlowError(one_line(error.msg), location=place) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"{path}: {reason}") from error
