"""Floats as text that every reader of MLIR takes for the same bits.

xDSL prints some finite numbers, all infinities and NaNs as hexadecimal bit patterns, and
reads such a pattern among the elements of a constant as an integer; its conversions also
lose the payload of NaNs. Here a finite number is a decimal, always with a point, and what
is not finite is the pattern:

    12582912.0 : f32    1.25829120e+07    (xDSL: 0x4B400000)
    -inf : f16          0xfc00
"""

from __future__ import annotations

import math
import re
import struct
from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    FloatData,
)
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

FloatT = TypeVar("FloatT", bound=AnyFloat)

FRACTION_BITS: dict[type[Attribute], int] = {
    Float16Type: 10,
    BFloat16Type: 7,
    Float32Type: 23,
    Float64Type: 52,
}
"""The width of the fraction of each type whose patterns are kept bit for bit."""

PRECISIONS: dict[type[Attribute], int] = {Float32Type: 9, Float64Type: 17}
"""The decimal digits that tell all numbers of a type apart, where MLIR prints so many."""

_HEX_LITERAL = re.compile(r"-?\s*0[xX][0-9a-fA-F]+")

DOUBLE_FRACTION = 52
DOUBLE_EXPONENT = 0x7FF << DOUBLE_FRACTION


def bits_of_float(value: float, float_type: AnyFloat) -> int:
    """The bit pattern of `value` in a type, with a NaN's sign and payload."""
    fraction_bits = FRACTION_BITS.get(type(float_type))
    if not math.isnan(value) or fraction_bits is None:
        return int.from_bytes(float_type.pack((value,)), "little")
    (double,) = struct.unpack("<Q", struct.pack("<d", value))
    sign, payload = double >> 63, double & ((1 << DOUBLE_FRACTION) - 1)
    quiet = 1 << (fraction_bits - 1)
    fraction = payload >> (DOUBLE_FRACTION - fraction_bits) or quiet
    width = 8 * float_type.compile_time_size
    exponent = (1 << (width - 1)) - (1 << fraction_bits)
    return sign << (width - 1) | exponent | fraction


def float_of_bits(bits: int, float_type: AnyFloat) -> float:
    """The number of a bit pattern; a NaN keeps its sign and payload."""
    size = float_type.compile_time_size
    (value,) = float_type.unpack(bits.to_bytes(size, "little"), 1)
    fraction_bits = FRACTION_BITS.get(type(float_type))
    if not math.isnan(value) or fraction_bits is None:
        return value
    fraction = bits & ((1 << fraction_bits) - 1)
    sign = bits >> (8 * size - 1)
    payload = fraction << (DOUBLE_FRACTION - fraction_bits)
    double = sign << 63 | DOUBLE_EXPONENT | payload
    return struct.unpack("<d", struct.pack("<Q", double))[0]


def float_attr_of_bits(bits: int, float_type: FloatT) -> FloatAttr[FloatT]:
    """The attribute of a bit pattern; `FloatAttr(...)` would make every NaN quiet."""
    value = FloatData(float_of_bits(bits, float_type))
    return cast("FloatAttr[FloatT]", FloatAttr.new((value, float_type)))


def float_literal(value: float, float_type: AnyFloat) -> str:
    """The text of a float of a type, as the module's docstring says."""
    if not math.isfinite(value):
        digits = 2 * float_type.compile_time_size
        return f"0x{bits_of_float(value, float_type):0{digits}x}"
    short = f"{value:.5e}"
    if _rounds_to(float(short), value, float_type):
        mantissa, exponent = short.split("e")
        return f"{mantissa}0e{exponent}"
    precision = PRECISIONS.get(type(float_type))
    text = repr(value) if precision is None else f"{value:.{precision}g}"
    return text if "." in text else f"{value:.{(precision or 17) - 1}e}"


def _rounds_to(number: float, value: float, float_type: AnyFloat) -> bool:
    """Whether a number is `value` once it is stored in a type."""
    try:
        return float_type.unpack(float_type.pack((number,)), 1)[0] == value
    except OverflowError:
        return False


def hex_literal(text: str, start: int = 0) -> str | None:
    """The hexadecimal number that stands at a place of a text, minus included."""
    found = _HEX_LITERAL.match(text, start)
    return found[0] if found else None


def bits_of_literal(literal: str, float_type: AnyFloat) -> int:
    """The bit pattern that a hexadecimal literal spells.

    Raises VerifyException for a negative one, or one that is wider than the type.
    """
    if literal.startswith("-"):
        raise VerifyException("a hexadecimal float is a bit pattern and takes no minus")
    bits = int(literal, 16)
    if bits >> (8 * float_type.compile_time_size):
        raise VerifyException(f"{literal} has more bits than {float_type}")
    return bits


def parse_float_attr(parser: AttrParser, float_type: AnyFloat) -> FloatAttr:
    """Parse a number, or the bit pattern of one, as an attribute of a type."""
    start = parser.pos
    literal = hex_literal(parser.lexer.input.content, start)
    number = parser.parse_number()
    if literal is None:
        return FloatAttr(float(number), float_type)
    try:
        return float_attr_of_bits(bits_of_literal(literal, float_type), float_type)
    except VerifyException as error:
        parser.raise_error(str(error), start, start + len(literal))
