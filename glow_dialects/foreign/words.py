"""Attributes that are one word out of a few: `#tosa.rounding_mode<SINGLE_ROUND>`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class Word(ParametrizedAttribute):
    """One word out of a few."""

    word: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """`<SINGLE_ROUND>`."""
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        """`<SINGLE_ROUND>`."""
        printer.print_string(f"<{self.word.data}>")
