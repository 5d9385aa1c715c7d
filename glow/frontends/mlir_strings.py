"""Finds strings of MLIR text that do not end, before the lexer sees them."""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span

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
