"""Finds the tokens of MLIR text with one regular expression.

xDSL's lexer looks at a character at a time. It is asked for what is rare here: strings,
hexadecimal numbers, `...`, the end of the text and what is wrong.
"""

from __future__ import annotations

import re

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
)

_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
_KINDS = {
    "BARE_IDENT": r"[a-zA-Z_][a-zA-Z0-9_$.]*",
    "PERCENT_IDENT": rf"%{_SUFFIX}",
    "INTEGER_LIT": r"(?!0x)[0-9]++(?!\.)",
    "FLOAT_LIT": r"[0-9]++\.[0-9]*(?:[eE][+-]?[0-9]+)?",
    "HASH_IDENT": rf"#(?!-\}}){_SUFFIX}",
    "EXCLAMATION_IDENT": rf"!{_SUFFIX}",
    "CARET_IDENT": rf"\^{_SUFFIX}",
    "AT_IDENT": r"@[a-zA-Z_][a-zA-Z0-9_$.]*",
    "PUNCTUATION": r"[:,()}\[\]<>=+/*?|]|->|-|\{(?!-#)",
}
_BLANKS = r"(?:\s+|//[^\n]*)*+"
_TOKEN = re.compile(
    _BLANKS + "(?:" + "|".join(f"(?P<{k}>{v})" for k, v in _KINDS.items()) + ")",
    re.ASCII,
)
BLANKS = re.compile(_BLANKS, re.ASCII)


class QuickLexer(MLIRLexer):
    """xDSL's lexer, token for token."""

    def lex(self) -> MLIRToken:
        found = _TOKEN.match(self.input.content, self.pos)
        if found is None:
            return super().lex()
        group = found.lastgroup
        assert group is not None
        start, self.pos = found.span(group)
        kind = (
            KIND_BY_PUNCTUATION_SPELLING[found[group]]
            if group == "PUNCTUATION"
            else MLIRTokenKind[group]
        )
        return Token(kind, Span(start, self.pos, self.input))
