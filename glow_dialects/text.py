"""The text of what all our operations are made of: properties, operands, regions.

A property has a short form that follows from its declared attribute class (`kind`); one
that may be of several classes is spelled as xDSL spells attributes:

| kind             | text                | kind          | text             |
|------------------|---------------------|---------------|------------------|
| `IntegerAttr`    | `axis 1`            | `UnitAttr`    | `keepdims`       |
| `FloatAttr`      | `epsilon 1.0e-05`   | `StringAttr`  | `mode "reflect"` |
| `DenseArrayBase` | `pads [0, 1, 0, 1]` | several       | `value 1.0 : f32`|
"""

from __future__ import annotations

import math
import re
from collections.abc import Container

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import OpDef, PropertyDef
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from glow.dialects.attributes import (
    array_values,
    float_type_of,
    floats_attr,
    int_attr,
    ints_attr,
)
from glow.dialects.float_text import (
    bits_of_float,
    float_attr_of_bits,
    float_literal,
    parse_float_attr,
)
from glow.dialects.function_attributes import BACKEND

Kind = set[type[Attribute]]

_SPECIAL = re.compile(r"(-?)(inf|nan)\b")
_HEX_ELEMENT = re.compile(r"[\[,]\s*-?\s*0[xX]")


def kind_of(declared: PropertyDef) -> Kind:
    """The attribute classes that a property may have; empty when any may come."""
    return declared.constr.get_bases() or set()


# -- properties


def print_property(printer: Printer, value: Attribute, kind: Kind) -> None:
    """Print a property's value in the short form of its kind."""
    if kind == {UnitAttr}:
        return
    printer.print_string(" ")
    if kind == {DenseArrayBase} and isa(value, DenseArrayBase):
        _print_array(printer, value)
    elif kind == {IntegerAttr} and isa(value, IntegerAttr):
        printer.print_string(str(value.value.data))
    elif kind == {FloatAttr} and isa(value, FloatAttr):
        _print_number(printer, value.value.data, value.type)
    else:
        printer.print_attribute(value)


def _print_number(printer: Printer, value: float, kind: AnyFloat = f32) -> None:
    if not isinstance(value, float) or math.isinf(value):
        printer.print_string(repr(value))
    elif math.isnan(value):
        bits = bits_of_float(value, kind)
        is_plain = bits == bits_of_float(math.nan, kind)
        printer.print_string("nan" if is_plain else f"nan<0x{bits:X}>")
    else:
        printer.print_string(float_literal(value, kind))


def _print_array(printer: Printer, value: DenseArrayBase) -> None:
    with printer.in_square_brackets():
        printer.print_list(
            array_values(value), lambda element: _print_number(printer, element)
        )


def parse_property(parser: Parser, declared: PropertyDef) -> Attribute:
    """Parse the short form of a declared property."""
    kind = kind_of(declared)
    if kind == {UnitAttr}:
        return UnitAttr()
    if kind == {IntegerAttr}:
        return int_attr(parser.parse_integer())
    if kind == {FloatAttr}:
        return _parse_float(parser, float_type_of(declared))
    if kind == {DenseArrayBase}:
        return _parse_array(parser)
    return parser.parse_attribute()


def _parse_float(parser: Parser, float_type: AnyFloat) -> FloatAttr:
    number = _parse_special(parser, float_type)
    if number is None:
        return parse_float_attr(parser, float_type)
    return float_attr_of_bits(bits_of_float(number, float_type), float_type)


def _parse_special(parser: Parser, float_type: AnyFloat = f32) -> float | None:
    """Parse `inf`, `-inf`, `nan` or the NaN of a bit pattern, `nan<0x7FC00001>`."""
    found = _SPECIAL.match(parser.lexer.input.content, parser.pos)
    if found is None:
        return None
    parser.parse_optional_punctuation("-")
    parser.parse_keyword(found[2])
    if found[2] == "inf" or parser.parse_optional_punctuation("<") is None:
        return float(found[0])
    pattern = parse_float_attr(parser, float_type)
    parser.parse_punctuation(">")
    return pattern.value.data


def _parse_number(parser: Parser) -> int | float:
    special = _parse_special(parser)
    return parser.parse_number() if special is None else special


def _parse_array(parser: Parser) -> DenseArrayBase:
    start = parser.pos
    values = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_number(parser)
    )
    if not any(isinstance(value, float) for value in values):
        return ints_attr(*(int(value) for value in values))
    if _HEX_ELEMENT.search(parser.lexer.input.content, start, parser.pos):
        parser.raise_error("bit patterns among floats are spelled nan<0x...>", start)
    return floats_attr(*(float(value) for value in values))


# -- operands


def parse_operands(parser: Parser) -> list[SSAValue]:
    """Parse a possibly empty comma-separated list of defined operands."""
    operands: list[SSAValue] = []
    while (unresolved := parser.parse_optional_unresolved_operand()) is not None:
        operands.append(resolve_defined(parser, unresolved))
        if parser.parse_optional_punctuation(",") is None:
            break
    return operands


def parse_defined_operand(parser: Parser) -> SSAValue:
    """Parse an operand whose type is known because it was defined before."""
    return resolve_defined(parser, parser.parse_unresolved_operand())


def resolve_defined(parser: Parser, unresolved: UnresolvedOperand) -> SSAValue:
    """The value of an operand; an error at the use when it is not defined yet."""
    defined = parser.ssa_values.get(unresolved.operand_name)
    if defined is None or unresolved.index >= len(defined):
        parser.raise_error(
            f"value {unresolved.span.text} is used before it is defined",
            unresolved.span.start,
            unresolved.span.end,
        )
    return defined[unresolved.index]


# -- extra attributes and regions


def print_attributes(
    printer: Printer, op: Operation, *, has_keyword: bool = False
) -> None:
    """Print the extra attributes, that of a backend as `backend "npu"`."""
    attributes = op.attributes
    if BACKEND in attributes:
        printer.print_string(" backend ")
        printer.print_attribute(attributes[BACKEND])
        attributes = {n: each for n, each in attributes.items() if n != BACKEND}
    printer.print_op_attributes(attributes, print_keyword=has_keyword)


def print_attributes_and_regions(
    printer: Printer, op: Operation, definition: OpDef
) -> None:
    """Print what `parse_attributes` and `parse_regions` read."""
    print_attributes(printer, op, has_keyword=bool(definition.regions))
    for region in op.regions:
        printer.print_string(" ")
        printer.print_region(region, print_entry_block_args=True)


def parse_attributes(parser: Parser, definition: OpDef) -> dict[str, Attribute]:
    """Parse the extra attributes; a keyword sets them apart where a region follows."""
    assigned: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("backend") is not None:
        assigned[BACKEND] = StringAttr(parser.parse_str_literal())
    if not definition.regions:
        return assigned | parser.parse_optional_attr_dict()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return assigned if attributes is None else assigned | dict(attributes.data)


def parse_regions(parser: Parser, definition: OpDef) -> list[Region]:
    """Parse as many regions as are present, at most those of the definition."""
    regions: list[Region] = []
    for _ in definition.regions:
        region = parser.parse_optional_region()
        if region is None:
            break
        regions.append(region)
    return regions


def unused_name(base: str, taken: Container[str]) -> str:
    """`base`, or `base_1`, `base_2`, ... where it is taken."""
    name, number = base, 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
