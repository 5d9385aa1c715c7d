"""Reads each type of MLIR text once: the same letters are the same type wherever they stand.

    memref<1x64x56x56xf32>    vector<16xf32>    index

Types that name an alias or a dialect's attribute are read anew, and so are those that go on
behind what looks like their end.
"""

from __future__ import annotations

import re
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    IndexType,
    IntegerType,
    RankedStructure,
    TensorType,
    VectorType,
)
from xdsl.ir import TypeAttribute
from xdsl.parser import Parser, ParserState
from xdsl.utils.lexer import Input

from glow.frontends.mlir_lexer import BLANKS, QuickLexer

PLAIN_ELEMENTS = (IntegerType, IndexType, AnyFloat)

_PLAIN = r'[^<>#!"@]*'
_SHAPED = rf"(?:tensor|memref|vector)<{_PLAIN}(?:<{_PLAIN}>{_PLAIN})*>"
_TYPE = re.compile(rf"{_SHAPED}|(?:index|[su]?i\d+|b?f\d+)(?![\w$.])", re.ASCII)


class TypeParser(Parser):
    """See the module's docstring."""

    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, "", name)
        self._parser_state = ParserState(QuickLexer(Input(text, name)))
        self._types: dict[str, TypeAttribute] = {}

    def parse_optional_type(self) -> TypeAttribute | None:
        spelled = _TYPE.match(self.lexer.input.content, self.pos)
        if spelled is None:
            return super().parse_optional_type()
        if (known := self._types.get(spelled[0])) is not None:
            self._resume_from(spelled.end())
            return known
        found = super().parse_optional_type()
        blanks = BLANKS.match(self.lexer.input.content, spelled.end())
        if found is not None and blanks is not None and blanks.end() == self.pos:
            self._types[spelled[0]] = found
        return found

    def _parse_dense_literal_type(self) -> RankedStructure[AnyDenseElement]:
        """Parse the type of a constant; xDSL makes the rule that it checks anew each time."""
        start = self.pos
        found = self.parse_optional_type()
        if isinstance(found, TensorType | VectorType):
            shaped = cast("RankedStructure[AnyDenseElement]", found)
            is_plain = isinstance(shaped.element_type, PLAIN_ELEMENTS)
            if is_plain and shaped.has_static_shape():
                return shaped
        self._resume_from(start)
        return super()._parse_dense_literal_type()
