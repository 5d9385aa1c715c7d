"""Reads numbers of MLIR text: a hexadecimal float is the pattern of its bits.

xDSL takes the elements of `dense<0xFF800000> : tensor<f32>` for integers, does not read
`array<f32: 0x7F800000>` at all, and loses the payload of NaNs. Here they are read as
upstream reads them: bit for bit, without a minus, and no wider than the type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    RankedStructure,
)
from xdsl.ir import TypeAttribute
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from glow.dialects.float_text import bits_of_literal, hex_literal, parse_float_attr
from glow.frontends.mlir_types import TypeParser

MAX_DENSE_ELEMENTS = 2**28
"""xDSL stores every element of a dense constant, of `dense<0> : tensor<...>` too: a
short text must not make it allocate a machine's whole memory."""


MAX_INTEGER_BITS = 2**24 - 1
"""MLIR's limit; xDSL computes with the largest number of a type."""

_WIDE_INTEGER = re.compile(r"[su]?i([0-9]+)")


class _Pattern(int):
    """An integer that no float type is too small for; its bits are filled in later."""

    def __float__(self) -> float:
        return 0.0


class LiteralParser(TypeParser):
    """xDSL's parser with the numbers of the module's docstring."""

    _literals: list[Span] | None = None
    """The elements of the constant that is being read, in order."""

    def parse_optional_str_literal(self) -> str | None:
        """Parse a string; xDSL takes one with escapes of UTF-8 for bytes."""
        token = self._current_token
        if token.kind != MLIRTokenKind.BYTES_LIT:
            return super().parse_optional_str_literal()
        try:
            text = StringLiteral.from_span(token.span).bytes_contents.decode("utf-8")
        except UnicodeDecodeError:
            return None
        self._consume_token()
        return text

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        width = _WIDE_INTEGER.fullmatch(self._current_token.text)
        if width and int(width[1]) > MAX_INTEGER_BITS:
            self.raise_error(f"integers have at most {MAX_INTEGER_BITS} bits")
        return super()._parse_optional_integer_or_float_type()

    def _parse_dense_literal_type(self) -> RankedStructure[AnyDenseElement]:
        start = self.pos
        dense_type = super()._parse_dense_literal_type()
        count = dense_type.element_count()
        if count > MAX_DENSE_ELEMENTS:
            message = f"dense constant of {count} elements, more than 2^28; a splat of"
            self.raise_error(f"{message} this size is a glow.splat", start, self.pos)
        return dense_type

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        self._literals = []
        attribute = super().parse_dense_int_or_fp_elements_attr(type)
        literals, self._literals = self._literals, None
        element_type = attribute.get_element_type()
        if isinstance(element_type, AnyFloat):
            data = self._with_patterns(attribute.data.data, literals, element_type)
            return DenseIntOrFPElementsAttr(attribute.type, BytesAttr(data))
        if isinstance(element_type, ComplexType):
            for span in literals:
                if "0x" in span.text.lower():
                    self.raise_error("complex numbers take no hexadecimal parts", span)
        return attribute

    def _parse_tensor_literal_element(self):
        element = super()._parse_tensor_literal_element()
        if self._literals is not None:
            self._literals.append(element.span)
        if isinstance(element.value, int) and hex_literal(element.span.text):
            element.value = _Pattern(element.value)
        return element

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        self._literals = []
        attribute = super()._parse_builtin_densearray_attr()
        literals, self._literals = self._literals, None
        if attribute is None or not isinstance(attribute.elt_type, AnyFloat):
            return attribute
        data = self._with_patterns(attribute.data.data, literals, attribute.elt_type)
        return DenseArrayBase(attribute.elt_type, BytesAttr(data))

    def parse_float(self, *, allow_negative: bool = True) -> float:
        if self._literals is None:
            return super().parse_float(allow_negative=allow_negative)
        span = self._current_token.span
        self._literals.append(span)
        if hex_literal(span.text) is None:
            return super().parse_float(allow_negative=allow_negative)
        self.parse_integer()
        return 0.0

    def parse_optional_builtin_int_or_float_attr(
        self,
    ) -> IntegerAttr | FloatAttr | None:
        start = self.pos
        if hex_literal(self.lexer.input.content, start) is None:
            return super().parse_optional_builtin_int_or_float_attr()
        self.parse_number()
        is_typed = self.parse_optional_punctuation(":") is not None
        float_type = self.parse_type() if is_typed else None
        end = self.pos
        self._resume_from(start)
        if not isinstance(float_type, AnyFloat):
            return super().parse_optional_builtin_int_or_float_attr()
        attribute = parse_float_attr(self, float_type)
        self._resume_from(end)
        return attribute

    def _with_patterns(
        self, data: bytes, literals: Sequence[Span], element_type: AnyFloat
    ) -> bytes:
        """The bytes of a constant with those of its hexadecimal elements filled in."""
        size = element_type.compile_time_size
        patterns = {
            index: self._pattern(span, element_type).to_bytes(size, "little")
            for index, span in enumerate(literals)
            if hex_literal(span.text) is not None
        }
        if len(literals) == 1 and patterns:
            return patterns[0] * (len(data) // size)
        filled = bytearray(data)
        for index, pattern in patterns.items():
            filled[index * size : (index + 1) * size] = pattern
        return bytes(filled)

    def _pattern(self, literal: Span, float_type: AnyFloat) -> int:
        """The bit pattern that a hexadecimal literal spells in a type."""
        try:
            return bits_of_literal(literal.text, float_type)
        except VerifyException as error:
            self.raise_error(str(error), literal)
