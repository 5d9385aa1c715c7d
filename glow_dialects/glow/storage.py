"""Nodes that bring tensors into a function: weights, small constants and splats."""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from glow.dialects.attributes import Attributes
from glow.dialects.float_text import (
    bits_of_literal,
    float_attr_of_bits,
    float_literal,
    hex_literal,
)
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes
from glow.dialects.quantized import constant_type, is_quantized

MAX_INLINE_ELEMENTS = 1024
"""Larger constants live in the weight table: printing them costs 0.5 us an element."""


@irdl_op_definition
class ConstantOp(NodeOp):
    """A tensor known at compile time.

    Either a name in the module's weight table or a small inline value:

        %w = glow.constant @conv1_w : tensor<64x3x7x7xf32>
        %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>

    In text without a file for its weights the name is that of a resource, and the weight
    follows the module as `{-# dialect_resources: ... #-}`:

        %w = glow.constant dense_resource<conv1_w> : tensor<64x3x7x7xf32>

    Of quantized elements the value holds the stored integers; of four bits and fewer two in
    a byte, those of the last axis' first half in the lower bits:

        %q = glow.constant dense<[7, 9]> : tensor<2xi8> as tensor<2x!quant.uniform<i8...>>
        %p = glow.constant dense<151> : tensor<1xui8> as tensor<2x!quant.uniform<u4...>>
    """

    name = "glow.constant"
    value = prop_def(SymbolRefAttr | DenseIntOrFPElementsAttr | DenseResourceAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def from_name(cls, name: str, result_type: TensorType[Attribute]) -> Self:
        """A reference to the weight table's entry `name`."""
        return cls.build_node([], [result_type], value=SymbolRefAttr(name))

    @property
    def weight_name(self) -> str | None:
        """The weight table's entry, or None for an inline value."""
        value = self.value
        return value.string_value() if isinstance(value, SymbolRefAttr) else None

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """An inline value has the result's type and is small."""
        value = attributes.get("value")
        if isa(value, DenseIntOrFPElementsAttr):
            result = results[0]
            stored = constant_type(result) if is_quantized(result) else result
            if value.type != stored:
                raise VerifyException(
                    f"the constant's value has type {value.type}, its result "
                    f"{results[0]}"
                )

    def print(self, printer: Printer) -> None:
        """Print `@name : type` or `dense<...> : type`."""
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)
        if self.weight_name is not None:
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)
        elif is_quantized(self.result.type):
            printer.print_string(" as ")
            printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `@name : type` or `dense<...> : type`."""
        symbol = parser.parse_optional_symbol_name()
        if symbol is None:
            value = parser.parse_attribute()
            if not (
                isa(value, DenseIntOrFPElementsAttr)
                or isinstance(value, DenseResourceAttr)
            ):
                parser.raise_error("glow.constant needs @name or dense<...>")
            attributes = parser.parse_optional_attr_dict()
            result_type = cast(TensorType[Attribute], value.type)
            if parser.parse_optional_keyword("as") is not None:
                result_type = _parse_tensor_type(parser)
            op = cls.build_node([], [result_type], value=value)
        else:
            attributes = parser.parse_optional_attr_dict()
            parser.parse_punctuation(":")
            op = cls.from_name(symbol.data, _parse_tensor_type(parser))
        op.attributes.update(attributes)
        return op


def _parse_tensor_type(parser: Parser) -> TensorType[Attribute]:
    parsed = parser.parse_type()
    if not isa(parsed, TensorType):
        parser.raise_error("glow.constant has a tensor type")
    return parsed


@irdl_op_definition
class SplatOp(NodeOp):
    """A tensor whose elements are all one number, never materialised.

    %0 = glow.splat 0.0 : tensor<1x64x56x56xf32>
    """

    name = "glow.splat"
    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def from_number(cls, number: float, result_type: TensorType[Attribute]) -> Self:
        """A splat of `number`, stored in the result's element type."""
        return cls.build_node(
            [], [result_type], value=scalar_attr(number, result_type.element_type)
        )

    @property
    def number(self) -> float | int:
        """The value of every element."""
        return self.value.value.data

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The number has the result's element type."""
        value = attributes.get("value")
        assert isa(value, FloatAttr | IntegerAttr)
        fail_unless(
            value.type == results[0].element_type,
            lambda: (
                f"the splat's number has type {value.type}, its elements "
                f"{results[0].element_type}"
            ),
        )

    def print(self, printer: Printer) -> None:
        """Print `number : type`."""
        printer.print_string(" ")
        if isinstance(self.value, FloatAttr):
            text = float_literal(self.value.value.data, self.value.type)
            printer.print_string(text)
        else:
            printer.print_string(str(self.value.value.data))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `number : type`; the hex form spells NaN and infinities."""
        start = parser.pos
        literal = hex_literal(parser.lexer.input.content, start)
        number = parser.parse_number()
        end = parser.pos
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result_type = parser.parse_type()
        if not isa(result_type, TensorType):
            parser.raise_error("glow.splat has a tensor type")
        element_type = result_type.element_type
        if literal is None or not isinstance(element_type, AnyFloat):
            op = cls.from_number(number, result_type)
        else:
            try:
                bits = bits_of_literal(literal, element_type)
            except VerifyException as error:
                parser.raise_error(str(error), start, end)
            value = float_attr_of_bits(bits, element_type)
            op = cls.build_node([], [result_type], value=value)
        op.attributes.update(attributes)
        return op


def scalar_attr(number: float, element_type: Attribute) -> Attribute:
    """The attribute of `number` in a float or integer element type."""
    if isa(element_type, IntegerType):
        return IntegerAttr(int(number), element_type)
    return FloatAttr(float(number), cast(AnyFloat, element_type))


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]


def splat_number(value: SSAValue) -> float | int | None:
    """The number of a splat value, or None for any other value."""
    owner = value.owner
    return owner.number if isinstance(owner, SplatOp) else None
