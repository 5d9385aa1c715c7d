"""The pretty forms of StableHLO's operations, by family.

Most of the operations are spelled in one of a few ways, which differ in what is between
operands and types:

    stablehlo.add %a, %b : tensor<4xf32>
    stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    stablehlo.compare LT, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>

Where the pretty form has other names than the generic one, properties get those of the
generic form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Region
from xdsl.parser import Parser, UnresolvedOperand

from glow.dialects.stablehlo.attributes import (
    ChloComparisonDirectionAttr,
    ChloComparisonTypeAttr,
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    DotAttr,
    PrecisionAttr,
    parse_integers,
)
from glow.dialects.stablehlo.operation import StableHloOp

Op = TypeVar("Op", bound=StableHloOp)

Syntax: TypeAlias = Callable[[type[Op], Parser], Op]

NAMES: Mapping[str, Mapping[str, str]] = {
    "broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "dynamic_broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "transpose": {"dims": "permutation"},
    "reverse": {"dims": "dimensions"},
    "concatenate": {"dim": "dimension"},
    "iota": {"dim": "iota_dimension"},
    "dynamic_iota": {"dim": "iota_dimension"},
    "get_dimension_size": {"dim": "dimension"},
    "dynamic_slice": {"sizes": "slice_sizes"},
    "pad": {
        "low": "edge_padding_low",
        "high": "edge_padding_high",
        "interior": "interior_padding",
    },
    "broadcast": {"sizes": "broadcast_sizes"},
    "fft": {"type": "fft_type", "length": "fft_length"},
    "rng": {"distribution": "rng_distribution"},
    "rng_bit_generator": {"algorithm": "rng_algorithm"},
}
"""The generic form's names of what the pretty form calls otherwise."""


def integers_attr(values: Sequence[int]) -> DenseArrayBase:
    """`array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, values)


def parse_operand_list(parser: Parser) -> list[UnresolvedOperand]:
    """Operands up to what is none, the comma before which is taken too."""
    operands: list[UnresolvedOperand] = []
    while (operand := parser.parse_optional_unresolved_operand()) is not None:
        operands.append(operand)
        if parser.parse_optional_punctuation(",") is None:
            break
    return operands


def finish(
    cls: type[Op],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    attributes: Mapping[str, Attribute],
    regions: Sequence[Region] = (),
) -> Op:
    """What is behind all forms: attributes, and types in one of their spellings."""
    more = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    takes, gives = _parse_types(parser, len(operands))
    if len(takes) != len(operands):
        parser.raise_error(f"{len(operands)} operands, but {len(takes)} types")
    values = [
        parser.resolve_operand(operand, one)
        for operand, one in zip(operands, takes, strict=True)
    ]
    return cls.make(values, gives, {**attributes, **more}, regions)


def _parse_types(
    parser: Parser, count: int
) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """The types of operands and results.

    They are a function type, with parentheses or without; the one of all; or that of a
    predicate and that of the rest.
    """
    first = parser.parse_type()
    if isinstance(first, FunctionType):
        return first.inputs.data, first.outputs.data
    if parser.parse_optional_punctuation("->") is not None:
        return [first] * count, _parse_results(parser)
    types = [first]
    while parser.parse_optional_punctuation(",") is not None:
        types.append(parser.parse_type())
    if parser.parse_optional_punctuation("->") is not None:
        return types, _parse_results(parser)
    if len(types) == 1:
        return types * count, types
    return [types[0], *types[1:2] * (count - 1)], types[1:2]


def _parse_results(parser: Parser) -> Sequence[Attribute]:
    several = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_type
    )
    return several if several is not None else [parser.parse_type()]


def plain(cls: type[Op], parser: Parser) -> Op:
    """`add %a, %b : tensor<4xf32>`."""
    return finish(cls, parser, parse_operand_list(parser), {})


def keyed(cls: type[Op], parser: Parser) -> Op:
    """`pad %x, %v, low = [0], high = [1], interior = [0] : ...`."""
    names = NAMES.get(cls.name.partition(".")[2], {})
    operands = parse_operand_list(parser)
    attributes: dict[str, Attribute] = {}
    while (key := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        attributes[names.get(key, key)] = _parse_value(parser)
        if parser.parse_optional_punctuation(",") is None:
            break
    return finish(cls, parser, operands, attributes)


def reduced_precision(cls: type[Op], parser: Parser) -> Op:
    """`reduce_precision %x, format = e5m10 : ...`."""
    operands = parse_operand_list(parser)
    parser.parse_keyword("format")
    parser.parse_punctuation("=")
    bits = re.fullmatch(r"e(\d+)m(\d+)", parser.parse_identifier())
    if bits is None:
        parser.raise_error(
            "a format is e, bits of the exponent, m, bits of the mantissa"
        )
    names = ("exponent_bits", "mantissa_bits")
    counts = {
        name: IntegerAttr(int(count), i32)
        for name, count in zip(names, bits.groups(), strict=True)
    }
    return finish(cls, parser, operands, counts)


def _parse_value(parser: Parser) -> Attribute:
    """A list of integers, an integer, a truth value, or a word."""
    numbers = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_integer
    )
    if numbers is not None:
        return integers_attr(numbers)
    flag = parser.parse_optional_boolean()
    if flag is not None:
        return BoolAttr.from_bool(flag)
    number = parser.parse_optional_integer()
    if number is not None:
        return IntegerAttr(number, i64)
    word = parser.parse_optional_identifier()
    return parser.parse_attribute() if word is None else StringAttr(word)


def dot(cls: type[Op], parser: Parser) -> Op:
    """`dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ...`."""
    operands = parse_operand_list(parser)
    lists: dict[str, list[int]] = {}
    attributes: dict[str, Attribute] = {}
    while (key := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        if key == "precision":
            attributes["precision_config"] = parse_precision(parser)
        elif key == "algorithm":
            attributes[key] = _parse_algorithm(parser)
        else:
            kind = key.removesuffix("_dims") + "_dimensions"
            lists[f"lhs_{kind}"] = parse_integers(parser)
            parser.parse_keyword("x")
            lists[f"rhs_{kind}"] = parse_integers(parser)
        if parser.parse_optional_punctuation(",") is None:
            break
    if "dot_dimension_numbers" in cls.get_irdl_definition().properties:
        attributes["dot_dimension_numbers"] = DotAttr.of(lists)
    return finish(cls, parser, operands, attributes)


def _parse_algorithm(parser: Parser) -> Attribute:
    """`<lhs_precision_type = tf32, ...>`: a hint, of which the text is kept."""
    parts: list[str] = []

    def parse_field() -> None:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        value = parser.parse_optional_type() or _parse_value(parser)
        parts.append(f"{name} = {value}")

    parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
    return StringAttr(", ".join(parts))


def parse_precision(parser: Parser) -> ArrayAttr[Attribute]:
    """`[DEFAULT, DEFAULT]`."""
    words = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_identifier
    )
    return ArrayAttr([PrecisionAttr.new([StringAttr(word)]) for word in words])


def constant(cls: type[Op], parser: Parser) -> Op:
    """`constant dense<0.0> : tensor<f32>`."""
    attributes = parser.parse_optional_attr_dict()
    value = parser.parse_attribute()
    result = getattr(value, "type", None)
    if not isinstance(result, Attribute):
        parser.raise_error("a constant needs elements with a type")
    return cls.make([], [result], {**attributes, "value": value})


def compare(cls: type[Op], parser: Parser) -> Op:
    """`compare LT, %a, %b, FLOAT : ...`."""
    direction = StringAttr(parser.parse_identifier())
    parser.parse_punctuation(",")
    operands = parse_operand_list(parser)
    is_chlo = cls.name.startswith("chlo.")
    direction_class = (
        ChloComparisonDirectionAttr if is_chlo else ComparisonDirectionAttr
    )
    attributes: dict[str, Attribute] = {
        "comparison_direction": direction_class.new([direction])
    }
    kind = parser.parse_optional_identifier()
    if kind is not None:
        kind_class = ChloComparisonTypeAttr if is_chlo else ComparisonTypeAttr
        attributes["compare_type"] = kind_class.new([StringAttr(kind)])
    return finish(cls, parser, operands, attributes)


def slice_ranges(cls: type[Op], parser: Parser) -> Op:
    """`slice %x [0:3, 0:9:2] : ...`."""
    operand = parser.parse_unresolved_operand()

    def parse_range() -> tuple[int, int, int]:
        start = parser.parse_integer()
        parser.parse_punctuation(":")
        limit = parser.parse_integer()
        has_step = parser.parse_optional_punctuation(":") is not None
        return start, limit, parser.parse_integer() if has_step else 1

    ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_range)
    names = ("start_indices", "limit_indices", "strides")
    attributes = {
        name: integers_attr([one[index] for one in ranges])
        for index, name in enumerate(names)
    }
    return finish(cls, parser, [operand], attributes)


def returned(cls: type[Op], parser: Parser) -> Op:
    """`return %a, %b : tensor<i1>, tensor<f32>`; without operands there are no types."""
    operands = parse_operand_list(parser)
    more = parser.parse_optional_attr_dict()
    types: list[Attribute] = []
    if operands:
        parser.parse_punctuation(":")
        types.append(parser.parse_type())
        while parser.parse_optional_punctuation(",") is not None:
            types.append(parser.parse_type())
    if len(types) != len(operands):
        parser.raise_error(f"{len(operands)} operands, but {len(types)} types")
    values = [
        parser.resolve_operand(operand, one)
        for operand, one in zip(operands, types, strict=True)
    ]
    return cls.make(values, [], more)


def top_k(cls: type[Op], parser: Parser) -> Op:
    """`chlo.top_k(%x, k = 3) : tensor<9xf32> -> (tensor<3xf32>, tensor<3xi32>)`."""
    parser.parse_punctuation("(")
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    parser.parse_keyword("k")
    parser.parse_punctuation("=")
    k = IntegerAttr(parser.parse_integer(), i64)
    parser.parse_punctuation(")")
    return finish(cls, parser, [operand], {"k": k})


def custom_call(cls: type[Op], parser: Parser) -> Op:
    """`custom_call @Sharding(%x) {...} : (tensor<2xf32>) -> tensor<2xf32>`."""
    target = parser.parse_symbol_name()
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_unresolved_operand
    )
    return finish(cls, parser, operands, {"call_target_name": target})


def composite(cls: type[Op], parser: Parser) -> Op:
    """`composite "chlo.top_k" %x {decomposition = @f} : ...`."""
    name = StringAttr(parser.parse_str_literal())
    return finish(cls, parser, parse_operand_list(parser), {"name": name})
