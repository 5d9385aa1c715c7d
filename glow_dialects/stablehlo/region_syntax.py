"""The pretty forms of operations with regions, and of convolutions.

stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : ...
stablehlo.while(%i = %c) : tensor<i32> cond {...} do {...}
stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {...}
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.parser import Parser, UnresolvedOperand

from glow.dialects.stablehlo.attributes import ConvAttr, parse_integers
from glow.dialects.stablehlo.operation import StableHloOp
from glow.dialects.stablehlo.syntax import Op, finish, integers_attr


def convolution(cls: type[Op], parser: Parser) -> Op:
    """A convolution, whose window has what is not the default."""
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_unresolved_operand
    )
    parser.parse_keyword("dim_numbers")
    parser.parse_punctuation("=")
    numbers = ConvAttr.new(ConvAttr.parse_dimensions(parser))
    parser.parse_punctuation(",")
    parser.parse_keyword("window")
    parser.parse_punctuation("=")
    attributes: dict[str, Attribute] = {"dimension_numbers": numbers}

    def parse_field() -> None:
        key = parser.parse_identifier()
        parser.parse_punctuation("=")
        name, value = _parse_window(parser, key)
        attributes[name] = value

    parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_field)
    return finish(cls, parser, operands, attributes)


WINDOW = {
    "stride": "window_strides",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
}


def _parse_window(parser: Parser, key: str) -> tuple[str, Attribute]:
    if key == "pad":
        pairs = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_integers(parser)
        )
        shape = TensorType(i64, [len(pairs), 2])
        flat = [number for pair in pairs for number in pair]
        return "padding", DenseIntOrFPElementsAttr.from_list(shape, flat)
    if key == "reverse":
        flags = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, _parse_flag(parser)
        )
        return "window_reversal", DenseArrayBase.from_list(
            i1, np.array(flags, bool).tolist()
        )
    if key not in WINDOW:
        parser.raise_error(f"unknown part of a window: '{key}'")
    return WINDOW[key], integers_attr(parse_integers(parser))


def _parse_flag(parser: Parser):
    def parse() -> bool:
        flag = parser.parse_optional_boolean()
        return bool(parser.parse_integer()) if flag is None else flag

    return parse


def reduce(cls: type[Op], parser: Parser) -> Op:
    """A reduction by one operation, or by a region."""
    inputs: list[UnresolvedOperand] = []
    starts: list[UnresolvedOperand] = []
    while not inputs or parser.parse_optional_punctuation(",") is not None:
        parser.parse_punctuation("(")
        inputs.append(parser.parse_unresolved_operand())
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        starts.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(")")
    combiner = None
    if parser.parse_optional_keyword("applies") is not None:
        combiner = parser.parse_identifier()
    parser.parse_keyword("across")
    parser.parse_keyword("dimensions")
    parser.parse_punctuation("=")
    attributes = {"dimensions": integers_attr(parse_integers(parser))}
    more = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    function = parser.parse_type()
    if not isinstance(function, FunctionType):
        parser.raise_error("a reduction needs the types of operands and results")
    takes, gives = function.inputs.data, function.outputs.data
    operands = [*inputs, *starts]
    if len(takes) != len(operands):
        parser.raise_error(f"{len(operands)} operands, but {len(takes)} types")
    if combiner is None:
        body = _parse_reducer(parser)
    else:
        body = _body_of(parser, combiner, takes[-1])
    values = [
        parser.resolve_operand(operand, one)
        for operand, one in zip(operands, takes, strict=True)
    ]
    return cls.make(values, gives, {**attributes, **more}, [body])


def _body_of(parser: Parser, name: str, scalar: Attribute) -> Region:
    """The region that a short form stands for: one operation on two scalars."""
    combine = parser.ctx.get_optional_op(name)
    end = parser.ctx.get_optional_op("stablehlo.return")
    if combine is None or end is None or not issubclass(combine, StableHloOp):
        parser.raise_error(f"no reduction applies '{name}'")
    block = Block(arg_types=[scalar, scalar])
    op = combine.make(block.args, [scalar], {})
    block.add_ops([op, end.create(operands=op.results)])
    return Region(block)


def _parse_reducer(parser: Parser) -> Region:
    """`reducer(%a: t, %b: t) (%c: u, %d: u) {...}`, a pair for each result."""
    parser.parse_keyword("reducer")
    left: list[Parser.Argument] = []
    right: list[Parser.Argument] = []
    while parser.parse_optional_punctuation("(") is not None:
        left.append(_parse_located(parser))
        parser.parse_punctuation(",")
        right.append(_parse_located(parser))
        parser.parse_punctuation(")")
    return parser.parse_region([*left, *right])


def _parse_located(parser: Parser) -> Parser.Argument:
    """`%a: tensor<f32> loc("x")`."""
    argument = parser.parse_argument()
    parser.parse_optional_location()
    return argument


def loop(cls: type[Op], parser: Parser) -> Op:
    """A loop: the states with their starts, their types, a condition and a body."""
    names: list[Parser.UnresolvedArgument] = []
    starts: list[UnresolvedOperand] = []

    def parse_state() -> None:
        names.append(parser.parse_argument(expect_type=False))
        parser.parse_optional_location()
        parser.parse_punctuation("=")
        starts.append(parser.parse_unresolved_operand())

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_state)
    types: list[Attribute] = []
    if names:
        parser.parse_punctuation(":")
        types.append(parser.parse_type())
        while parser.parse_optional_punctuation(",") is not None:
            types.append(parser.parse_type())
    if len(types) != len(names):
        parser.raise_error(f"{len(names)} states, but {len(types)} types")
    more = parser.parse_optional_attr_dict_with_keyword()
    parser.parse_keyword("cond")
    condition = parser.parse_region(_arguments(names, types))
    parser.parse_keyword("do")
    body = parser.parse_region(_arguments(names, types))
    values = [
        parser.resolve_operand(operand, one)
        for operand, one in zip(starts, types, strict=True)
    ]
    return cls.make(values, types, dict(more.data) if more else {}, [condition, body])


def _arguments(
    names: Sequence[Parser.UnresolvedArgument], types: Sequence[Attribute]
) -> list[Parser.Argument]:
    return [name.resolve(one) for name, one in zip(names, types, strict=True)]
