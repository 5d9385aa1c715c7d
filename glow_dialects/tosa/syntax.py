"""The pretty forms of TOSA's operations, in the spelling of LLVM 22 and in that of LLVM 24.

tosa.transpose %x {perms = array<i32: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
tosa.transpose %x perms([0, 2, 1]) : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser

from glow.dialects.foreign import ForeignOp
from glow.dialects.tosa.attributes import WORDS

Op = TypeVar("Op", bound=ForeignOp)


def parse(cls: type[Op], parser: Parser) -> Op:
    """Operands, properties in one of the spellings, and a function type."""
    operands = (
        parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        or []
    )
    properties = {**_parse_calls(parser), **_parse_dictionary(parser)}
    parser.parse_punctuation(":")
    place = parser.pos
    kind = parser.parse_type()
    if not isinstance(kind, FunctionType):
        # `tosa.const_shape {...} : () -> !tosa.shape<4>` and terminators without arrows.
        kind = FunctionType.from_lists([kind] * len(operands), [])
    if len(kind.inputs) != len(operands):
        parser.raise_error(
            f"{len(operands)} operands, but {len(kind.inputs)} types", place, parser.pos
        )
    values = [
        parser.resolve_operand(operand, one)
        for operand, one in zip(operands, kind.inputs, strict=True)
    ]
    return cls.make(values, kind.outputs.data, properties)


def _parse_calls(parser: Parser) -> Mapping[str, Attribute]:
    """`pad([1, 1, 1, 1]) acc_type(f32) rounding_mode<SINGLE_ROUND>`."""
    found: dict[str, Attribute] = {}
    while (key := parser.parse_optional_identifier()) is not None:
        if parser.parse_optional_punctuation("<") is not None:
            found[key] = _word(key, parser.parse_identifier())
            parser.parse_punctuation(">")
            continue
        parser.parse_punctuation("(")
        found[key] = _parse_value(key, parser)
        parser.parse_punctuation(")")
    return found


def _parse_dictionary(parser: Parser) -> Mapping[str, Attribute]:
    """`{pad = array<i64: 1, 1>, rounding_mode = SINGLE_ROUND}`."""
    found: dict[str, Attribute] = {}

    def parse_entry() -> None:
        key = parser.parse_optional_identifier() or parser.parse_str_literal()
        parser.parse_punctuation("=")
        found[key] = _parse_value(key, parser)

    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_entry)
    return found


def _parse_value(key: str, parser: Parser) -> Attribute:
    if key in WORDS:
        word = parser.parse_optional_identifier()
        return parser.parse_attribute() if word is None else _word(key, word)
    if parser.parse_optional_punctuation("[") is None:
        return parser.parse_attribute()
    numbers: list[int] = []
    while parser.parse_optional_punctuation("]") is None:
        numbers.append(parser.parse_integer())
        parser.parse_optional_punctuation(",")
    return DenseArrayBase.from_list(i64, numbers)


def _word(key: str, word: str) -> Attribute:
    return WORDS[key].new([StringAttr(word)]) if key in WORDS else StringAttr(word)
