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

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
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
    float_attr,
    floats_attr,
    int_attr,
    ints_attr,
)

Kind = set[type[Attribute]]


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
        _print_number(printer, value.value.data)
    else:
        printer.print_attribute(value)


def _print_number(printer: Printer, value: float) -> None:
    if isinstance(value, float) and math.isfinite(value):
        printer.print_float(value, f32)
    else:
        printer.print_string(repr(value))


def _print_array(printer: Printer, value: DenseArrayBase) -> None:
    with printer.in_square_brackets():
        printer.print_list(
            array_values(value), lambda element: _print_number(printer, element)
        )


def parse_property(parser: Parser, kind: Kind) -> Attribute:
    """Parse the short form of a property of the given attribute class."""
    if kind == {UnitAttr}:
        return UnitAttr()
    if kind == {IntegerAttr}:
        return int_attr(parser.parse_integer())
    if kind == {FloatAttr}:
        return float_attr(float(_parse_number(parser)))
    if kind == {DenseArrayBase}:
        return _parse_array(parser)
    return parser.parse_attribute()


def _parse_number(parser: Parser) -> int | float:
    """Parse an integer, a float, `inf`, `-inf` or `nan`."""
    negative = parser.parse_optional_punctuation("-") is not None
    for name in ("inf", "nan"):
        if parser.parse_optional_keyword(name) is not None:
            return float(f"-{name}" if negative else name)
    number = parser.parse_optional_number()
    if number is None:
        parser.raise_error("number expected")
    return -number if negative else number


def _parse_array(parser: Parser) -> DenseArrayBase:
    values = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_number(parser)
    )
    if any(isinstance(value, float) for value in values):
        return floats_attr(*(float(value) for value in values))
    return ints_attr(*(int(value) for value in values))


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


def print_attributes_and_regions(
    printer: Printer, op: Operation, definition: OpDef
) -> None:
    """Print what `parse_attributes` and `parse_regions` read."""
    printer.print_op_attributes(op.attributes, print_keyword=bool(definition.regions))
    for region in op.regions:
        printer.print_string(" ")
        printer.print_region(region, print_entry_block_args=True)


def parse_attributes(parser: Parser, definition: OpDef) -> dict[str, Attribute]:
    """Parse the extra attributes; a keyword sets them apart where a region follows."""
    if not definition.regions:
        return parser.parse_optional_attr_dict()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return {} if attributes is None else dict(attributes.data)


def parse_regions(parser: Parser, definition: OpDef) -> list[Region]:
    """Parse as many regions as are present, at most those of the definition."""
    regions: list[Region] = []
    for _ in definition.regions:
        region = parser.parse_optional_region()
        if region is None:
            break
        regions.append(region)
    return regions
