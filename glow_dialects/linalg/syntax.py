"""The pretty forms of linalg's operations.

linalg.conv_2d_nchw_fchw {strides = ...} ins(%x, %w : ...) outs(%y : ...) -> tensor<...>
linalg.transpose ins(%x : ...) outs(%y : ...) permutation = [1, 0]
linalg.generic {indexing_maps = ..., iterator_types = [...]} ins(...) outs(...) {...} -> ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.parser import Parser

from glow.dialects.foreign import ForeignOp

Op = TypeVar("Op", bound=ForeignOp)


def parse(cls: type[Op], parser: Parser) -> Op:
    """All forms: attributes, a body in front, operands, lists, a body, results."""
    found: dict[str, Attribute] = {}
    body: Region | None = None
    short = None
    if cls.name in ("linalg.map", "linalg.reduce"):
        short = _parse_short_body(parser)
    if short is None:
        found.update(parser.parse_optional_attr_dict())
    _parse_entries(parser, found)
    ins = _parse_operands(parser, "ins")
    outs = _parse_operands(parser, "outs")
    _parse_entries(parser, found)
    if cls.name == "linalg.generic":
        body = parser.parse_region()
    elif short is not None:
        body = _short_region(parser, short, ins, outs)
    else:
        found.update(parser.parse_optional_attr_dict())
        body = _parse_body(parser)
    results: Sequence[Attribute] = [one.type for one in outs]
    if parser.parse_optional_punctuation("->") is not None:
        several = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_type
        )
        results = several if several is not None else [parser.parse_type()]
    found["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(ins), len(outs)])
    return cls.make([*ins, *outs], results, found, [] if body is None else [body])


def _parse_entries(parser: Parser, found: dict[str, Attribute]) -> None:
    """`permutation = [1, 0]`, `indexing_maps = [...]`, `dimension(1)`, `attrs = {...}`."""
    while True:
        for key in ENTRIES:
            if parser.parse_optional_keyword(key) is not None:
                break
        else:
            return
        if parser.parse_optional_punctuation("(") is not None:
            found[key] = parser.parse_attribute()
            parser.parse_punctuation(")")
            continue
        parser.parse_punctuation("=")
        if key == "attrs":
            found.update(parser.parse_optional_attr_dict())
        elif key in LISTS:
            numbers = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
            found[key] = DenseArrayBase.from_list(i64, numbers)
        else:
            found[key] = parser.parse_attribute()


LISTS = ("permutation", "dimensions")
ENTRIES = (*LISTS, "indexing_maps", "dimension", "kind", "attrs")


def _parse_operands(parser: Parser, keyword: str) -> list[SSAValue]:
    """`ins(%a, %b : tensor<2xf32>, tensor<2xf32>)`; none where it is left out."""
    if parser.parse_optional_keyword(keyword) is None:
        return []
    parser.parse_punctuation("(")
    place = parser.pos
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return [*parser.resolve_operands(operands, types, place)]


def _parse_body(parser: Parser) -> Region | None:
    """`(%a: f32, %b: f32) {...}`, as `linalg.reduce` and `linalg.map` have it."""
    arguments = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_argument
    )
    return None if arguments is None else parser.parse_region(arguments)


def _parse_short_body(parser: Parser) -> tuple[str, dict[str, Attribute]] | None:
    """`{ arith.addf {fastmath = ...} }`: one operation of the elements."""
    if parser.parse_optional_punctuation("{") is None:
        return None
    name = parser.parse_identifier()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation("}")
    return name, attributes


def _short_region(
    parser: Parser,
    short: tuple[str, dict[str, Attribute]],
    ins: Sequence[SSAValue],
    outs: Sequence[SSAValue],
) -> Region:
    """The body that is meant: arguments in order, for a reduction what is reduced last."""
    name, attributes = short
    kinds = [getattr(one.type, "element_type") for one in (*ins, *outs)]  # noqa: B009
    block = Block(arg_types=kinds)
    made, ends = parser.ctx.get_op(name), parser.ctx.get_op("linalg.yield")
    operands = list(block.args)[: len(ins)]
    if len(kinds) == 2 and len(ins) == 1 and _takes_two(name):
        operands = list(block.args)
    op = made.create(operands=operands, result_types=kinds[-1:], properties=attributes)
    block.add_ops([op, ends.create(operands=op.results)])
    return Region(block)


def _takes_two(name: str) -> bool:
    """Whether an operation of `arith` has two operands."""
    return name.startswith("arith.") and name not in ("arith.negf",)


def parse_yield(cls: type[Op], parser: Parser) -> Op:
    """`linalg.yield %a, %b : f32, i64`."""
    place = parser.pos
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    attributes = parser.parse_optional_attr_dict()
    if not operands:
        return cls.make([], [], attributes)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    values = parser.resolve_operands(operands, types, place)
    return cls.make(values, [], attributes)


def parse_index(cls: type[Op], parser: Parser) -> Op:
    """`linalg.index 1 : index`."""
    number = IntegerAttr(parser.parse_integer(), i64)
    parser.parse_punctuation(":")
    return cls.make([], [parser.parse_type()], {"dim": number})
