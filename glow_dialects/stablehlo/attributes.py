"""The attributes of StableHLO: enumerations, and the numbers of dimensions.

    #stablehlo<comparison_direction LT>
    #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], index_vector_dim = 1>
    #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>

Each kind of dimension numbers holds the dictionary that its text spells; what is left out is
empty, 0 or false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from glow.dialects.foreign import integers_of


def parse_integers(parser: AttrParser) -> list[int]:
    """`[1, 2]`."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_integer
    )


class Enumeration(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """One word out of a few: `#stablehlo<comparison_direction LT>`."""

    word: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """The word, in angle brackets where the name has a dot before it."""
        is_pretty = parser.parse_optional_punctuation("<") is not None
        word = parser.parse_identifier()
        if is_pretty:
            parser.parse_punctuation(">")
        return [StringAttr(word)]

    def print_parameters(self, printer: Printer) -> None:
        """`LT`."""
        printer.print_string(self.word.data)


E = TypeVar("E", bound=Enumeration)


def word(kind: type[E], text: str) -> E:
    """The attribute of a word."""
    return kind.new([StringAttr(text)])


@irdl_attr_definition
class ComparisonDirectionAttr(Enumeration):
    """EQ, NE, GE, GT, LE or LT."""

    name = "stablehlo.comparison_direction"


@irdl_attr_definition
class ComparisonTypeAttr(Enumeration):
    """FLOAT, TOTALORDER, SIGNED or UNSIGNED."""

    name = "stablehlo.comparison_type"


@irdl_attr_definition
class PrecisionAttr(Enumeration):
    """DEFAULT, HIGH or HIGHEST: a hint."""

    name = "stablehlo.precision"


@irdl_attr_definition
class RngAlgorithmAttr(Enumeration):
    """DEFAULT, THREE_FRY or PHILOX."""

    name = "stablehlo.rng_algorithm"


@irdl_attr_definition
class RngDistributionAttr(Enumeration):
    """UNIFORM or NORMAL."""

    name = "stablehlo.rng_distribution"


@irdl_attr_definition
class FftTypeAttr(Enumeration):
    """FFT, IFFT, RFFT or IRFFT."""

    name = "stablehlo.fft_type"


@irdl_attr_definition
class TransposeAttr(Enumeration):
    """NO_TRANSPOSE, TRANSPOSE or ADJOINT."""

    name = "stablehlo.transpose"


@irdl_attr_definition
class ChloComparisonDirectionAttr(Enumeration):
    """The same in CHLO."""

    name = "chlo.comparison_direction"


@irdl_attr_definition
class ChloComparisonTypeAttr(Enumeration):
    """The same in CHLO."""

    name = "chlo.comparison_type"


class NumberedDimensions(ParametrizedAttribute):
    """`<name = [0, 1], other = 2>`."""

    fields: DictionaryAttr

    @classmethod
    def of(
        cls, lists: Mapping[str, Sequence[int]], vector_axis: int | None = None
    ) -> Self:
        """From the lists by name, and the axis of indices that has coordinates."""
        fields: dict[str, Attribute] = {
            name: integer_list(axes) for name, axes in lists.items() if axes
        }
        if vector_axis is not None:
            fields["index_vector_dim"] = IntegerAttr(vector_axis, i64)
        return cls.new([DictionaryAttr(fields)])

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Each field is a list of integers, an integer or a truth value."""
        fields: dict[str, Attribute] = {}

        def parse_field() -> None:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            fields[name] = _parse_value(parser)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        return [DictionaryAttr(fields)]

    def print_parameters(self, printer: Printer) -> None:
        """The fields as they are spelled."""
        parts = [
            f"{name} = {_spelled(value)}" for name, value in self.fields.data.items()
        ]
        printer.print_string(f"<{', '.join(parts)}>")

    def integers(self, name: str) -> list[int]:
        """The list of a field; empty where it is left out."""
        value = self.fields.data.get(name)
        return integers_of(value)

    def integer(self, name: str) -> int:
        """The number of a field; 0 where it is left out."""
        value = self.fields.data.get(name)
        return value.value.data if isinstance(value, IntegerAttr) else 0


def _parse_value(parser: AttrParser) -> Attribute:
    flag = parser.parse_optional_boolean()
    if flag is not None:
        return BoolAttr.from_bool(flag)
    number = parser.parse_optional_integer()
    if number is not None:
        return IntegerAttr(number, i64)
    return integer_list(parse_integers(parser))


def integer_list(values: Sequence[int]) -> ArrayAttr[Attribute]:
    """The list as an attribute."""
    return ArrayAttr([IntegerAttr(value, i64) for value in values])


def _spelled(value: Attribute) -> str:
    if isa(value, ArrayAttr):
        return f"[{', '.join(map(str, integers_of(value)))}]"
    if not isinstance(value, IntegerAttr):
        return str(value)
    number = value.value.data
    if value in (BoolAttr.from_bool(False), BoolAttr.from_bool(True)):
        return "true" if number else "false"
    return str(number)


@irdl_attr_definition
class DotAttr(NumberedDimensions):
    """Which axes of a product belong together."""

    name = "stablehlo.dot"


@irdl_attr_definition
class GatherAttr(NumberedDimensions):
    """Which axes a gather takes, drops and puts where."""

    name = "stablehlo.gather"


@irdl_attr_definition
class ScatterAttr(NumberedDimensions):
    """Which axes a scatter writes, inserts and takes from where."""

    name = "stablehlo.scatter"


@irdl_attr_definition
class OutputOperandAliasAttr(NumberedDimensions):
    """Of a custom call."""

    name = "stablehlo.output_operand_alias"


@irdl_attr_definition
class ConvAttr(ParametrizedAttribute):
    """The dimensions of a convolution's input, kernel and output, in order.

    Each is `b` (batch), `f` (features), `i` and `o` (of the kernel) or the number of a spatial
    one, as `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
    """

    name = "stablehlo.conv"
    input: ArrayAttr[StringAttr]
    kernel: ArrayAttr[StringAttr]
    output: ArrayAttr[StringAttr]

    @classmethod
    def of(cls, *lists: Sequence[str]) -> ConvAttr:
        """From the three lists."""
        return cls.new([ArrayAttr(map(StringAttr, names)) for names in lists])

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """In angle brackets."""
        with parser.in_angle_brackets():
            return cls.parse_dimensions(parser)

    @classmethod
    def parse_dimensions(cls, parser: AttrParser) -> Sequence[Attribute]:
        """The three lists."""
        first = _parse_dimensions(parser)
        parser.parse_keyword("x")
        second = _parse_dimensions(parser)
        parser.parse_punctuation("->")
        return [first, second, _parse_dimensions(parser)]

    def print_parameters(self, printer: Printer) -> None:
        """The three lists in angle brackets."""
        lists = [
            f"[{', '.join(name.data for name in names)}]"
            for names in (self.input, self.kernel, self.output)
        ]
        printer.print_string(f"<{lists[0]}x{lists[1]}->{lists[2]}>")


def _parse_dimensions(parser: AttrParser) -> ArrayAttr[StringAttr]:
    def parse_one() -> StringAttr:
        number = parser.parse_optional_integer()
        if number is not None:
            return StringAttr(str(number))
        return StringAttr(parser.parse_identifier())

    names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_one)
    return ArrayAttr(names)


ATTRIBUTES: Sequence[type[ParametrizedAttribute]] = (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    PrecisionAttr,
    RngAlgorithmAttr,
    RngDistributionAttr,
    FftTypeAttr,
    TransposeAttr,
    DotAttr,
    GatherAttr,
    ScatterAttr,
    OutputOperandAliasAttr,
    ConvAttr,
)

CHLO_ATTRIBUTES: Sequence[type[ParametrizedAttribute]] = (
    ChloComparisonDirectionAttr,
    ChloComparisonTypeAttr,
)
