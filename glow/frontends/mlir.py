"""Reads `.mlir` text: positions for every operation, and the weights beside the file.

xDSL's parser keeps no positions, reports an undefined value at the end of the file, lets
exceptions of verifiers and builders through, and needs exponential time on a string
without its closing quote. The subclass here repairs the four; everything that is wrong
with a text is one `ParseError` with its place.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from pathlib import Path
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    RankedStructure,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import AttributeInvT, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span

from glow.diagnostics import did_you_mean
from glow.dialects.errors import GlowError
from glow.frontends.notes import ImportNotes
from glow.frontends.sidecar import attach_sidecar
from glow.verification import verify_module

UNKNOWN = UnknownLoc()

MAX_DENSE_ELEMENTS = 2**28
"""xDSL stores every element of a dense constant, of `dense<0> : tensor<...>` too: a
short text must not make it allocate a machine's whole memory."""

_COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|(?P<closed>"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+")|(?P<open>")'
)
"""Comments and strings as the lexer knows them, with possessive repetition (no
backtracking); a quote that starts no complete string is `open`."""


def check_strings(text: str, name: str) -> None:
    """Raise a `ParseError` at the first string literal that does not end.

    Linear in the text, and it has to run before the lexer, whose own pattern backtracks
    exponentially on such a text.
    """
    for match in _COMMENT_OR_STRING.finditer(text):
        if match["open"]:
            span = Span(match.start(), match.start() + 1, Input(text, name))
            raise ParseError(span, _why_string_fails(text, match.start()))


def _why_string_fails(text: str, start: int) -> str:
    """The reason for which no string literal starts at `start`."""
    line = text[start + 1 : text.find("\n", start) % (len(text) + 1)]
    escape = re.match(r'(?:[^"\\]|\\["nt\\]|\\[0-9A-Fa-f]{2})*+\\(.)', line)
    if escape:
        return f"unknown escape '\\{escape[1]}' in a string literal"
    return "string literal is not closed on its line"


class LocatingParser(Parser):
    """The MLIR parser with a `file:line:col` location for each operation."""

    def __init__(
        self, context: Context, text: str, name: str, *, line_offset: int = 0
    ) -> None:
        check_strings(text, name)
        super().__init__(context, text, name)
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._first_uses: dict[str, Span] = {}

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                self._raise_undefined()
            raise
        except RecursionError:
            self.raise_error("the text nests too deeply")

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            operation = super().parse_operation()
        except (ParseError, RecursionError):
            raise
        except Exception as error:
            # Builders and verifiers of attributes and types know no position.
            self._raise_at(start, error)
        if operation.location == UNKNOWN:
            operation.location = self._location(start)
        return operation

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError as error:
            position = self.lexer.input.content.rfind(name, 0, self.pos)
            known = (operation.name for operation in self.ctx.loaded_ops)
            message = f"unknown operation '{name}'{did_you_mean(name, known)}"
            span = Span(position, position + len(name), self.lexer.input)
            raise ParseError(span, message) from error

    def _parse_dense_literal_type(self) -> RankedStructure[AnyDenseElement]:
        start = self.pos
        dense_type = super()._parse_dense_literal_type()
        count = dense_type.element_count()
        if count > MAX_DENSE_ELEMENTS:
            message = f"dense constant of {count} elements, more than 2^28; a splat of"
            self.raise_error(f"{message} this size is a glow.splat", start, self.pos)
        return dense_type

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        value = super().resolve_operand(operand, type)
        if operand.operand_name in self.forward_ssa_references:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return value

    def _raise_undefined(self) -> None:
        """Raise at the first use of a value that is never defined, if it is known."""
        for name in self.forward_ssa_references:
            if span := self._first_uses.get(name):
                self.raise_error(f"use of undefined value %{name}", span)

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(
            self._file, IntAttr(line + self._line_offset), IntAttr(column)
        )

    def _raise_at(self, position: int, error: Exception) -> NoReturn:
        message = str(error) or type(error).__name__
        span = Span(position, position + 1, self.lexer.input)
        raise ParseError(span, message) from error


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
    return parser.parse_module(implicit_module)


def _decode(text: bytes, name: str) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise GlowError("not UTF-8 text", location=f"{name}:{line}") from error


def read_mlir(
    path: str | os.PathLike[str], context: Context, notes: ImportNotes | None = None
) -> ModuleOp:
    """The module in the file `path`, verified, with the weights of its sidecar file."""
    path = Path(path)
    module = parse_text(context, path.read_bytes(), str(path))
    verify_module(module)
    attach_sidecar(module, path, notes)
    return module
