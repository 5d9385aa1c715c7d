"""Operations that name memory: buffers, weights and views of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, MemoryFreeEffect, NoMemoryEffect

from glow.dialects.attributes import AttributeValue, to_attribute
from glow.dialects.glow.state import VariableBase, check_initial
from glow.dialects.node import GlowOp, element_of, fail_unless, shape_of
from glow.dialects.quantized import constant_type, is_quantized
from glow.dialects.text import parse_defined_operand


class MemoryOp(GlowOp):
    """An operation that names memory: `mnemonic [%operands] [attributes] : type`."""

    @classmethod
    def build_memory(
        cls,
        operands: Sequence[SSAValue],
        result_type: MemRefType[Attribute],
        **attributes: AttributeValue,
    ) -> Self:
        """A new operation of the given result type."""
        properties = {
            name: attribute
            for name, value in attributes.items()
            if (attribute := to_attribute(value)) is not None
        }
        return cls.create(
            operands=operands, result_types=[result_type], properties=properties
        )

    def print(self, printer: Printer) -> None:
        """Print operands, attributes and the result type."""
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        self.print_properties(printer)
        printer.print_op_attributes(self.attributes)
        if self.results:
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse operands, attributes and the result type."""
        definition = cls.get_irdl_definition()
        operands: list[SSAValue] = []
        for number in range(len(definition.operands)):
            if number:
                parser.parse_punctuation(",")
            operands.append(parse_defined_operand(parser))
        properties = cls.parse_all_properties(parser)
        attributes = parser.parse_optional_attr_dict()
        result_types: list[Attribute] = []
        if definition.results:
            parser.parse_punctuation(":")
            result_types.append(parser.parse_type())
        return cls.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
        )


@irdl_op_definition
class AllocOp(MemoryOp):
    """Starts a buffer's life; `offset` is its place in the arena once planned."""

    name = "instr.alloc"
    result = result_def(MemRefType)
    offset = opt_prop_def(IntegerAttr.constr(i64))
    traits = traits_def(MemoryAllocEffect())

    def verify_(self) -> None:
        """The shape is static; an offset is aligned to a cache line."""
        fail_unless(
            min(shape_of(self.result), default=0) >= 0,
            f"buffers must have static shapes, not {self.result.type}",
        )
        if self.offset is not None:
            offset = self.offset.value.data
            fail_unless(
                offset >= 0 and offset % 64 == 0,
                f"the arena offset {offset} must be a multiple of 64",
            )


@irdl_op_definition
class DeallocOp(MemoryOp):
    """Ends a buffer's life."""

    name = "instr.dealloc"
    buffer = operand_def(MemRefType)
    traits = traits_def(MemoryFreeEffect())


@irdl_op_definition
class WeightOp(MemoryOp):
    """Constant memory: `instr.weight @name : type`, or an inline `dense<...>` value."""

    name = "instr.weight"
    value = prop_def(SymbolRefAttr | DenseIntOrFPElementsAttr | DenseResourceAttr)
    result = result_def(MemRefType)
    traits = traits_def(NoMemoryEffect())

    @property
    def weight_name(self) -> str | None:
        """The weight table's entry, or None for an inline value."""
        value = self.value
        return value.string_value() if isinstance(value, SymbolRefAttr) else None

    def verify_(self) -> None:
        """An inline value has the shape and the elements of the memory."""
        if isinstance(self.value, SymbolRefAttr):
            return
        held = TensorType(element_of(self.result), shape_of(self.result))
        if is_quantized(held):
            held = constant_type(held)
        fail_unless(
            self.value.type == held,
            f"the value has type {self.value.type}, the memory holds {held}",
        )

    def print(self, printer: Printer) -> None:
        """Print the value and the result type."""
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the value and the result type."""
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()],
            properties={"value": value},
            attributes=attributes,
        )


@irdl_op_definition
class VariableOp(VariableBase):
    """The memory of a variable: `instr.variable @name [initial value] : type`.

    It outlives the call. Instructions read the old value in it until one writes it.
    """

    name = "instr.variable"
    value = opt_prop_def(SymbolRefAttr | DenseIntOrFPElementsAttr | DenseResourceAttr)
    result = result_def(MemRefType)
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        """An inline initial value has the shape and the elements of the memory."""
        held = TensorType(element_of(self.result), shape_of(self.result))
        check_initial(self.value, held)


@irdl_op_definition
class TensorviewOp(MemoryOp):
    """Another shape on part of a buffer: row-major from element `offset` on."""

    name = "instr.tensorview"
    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    offset = prop_def(IntegerAttr.constr(i64), default_value=to_attribute(0))
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        """The view stays inside its source."""
        offset = self.offset.value.data
        size, available = prod(shape_of(self.result)), prod(shape_of(self.source))
        fail_unless(
            0 <= offset and offset + size <= available,
            f"the view of {size} elements at {offset} leaves its buffer of {available}",
        )
        fail_unless(
            element_of(self.source) == element_of(self.result),
            "a view keeps the element type",
        )


@irdl_op_definition
class DynamicViewOp(MemoryOp):
    """Element `index` of a buffer's first axis."""

    name = "instr.dynamic_view"
    source = operand_def(MemRefType)
    index = operand_def(IndexType)
    result = result_def(MemRefType)
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        """The view has the source's shape without its first axis."""
        fail_unless(
            shape_of(self.source)[1:] == shape_of(self.result),
            f"element of {self.source.type} cannot be {self.result.type}",
        )


OPS = (AllocOp, DeallocOp, WeightOp, VariableOp, TensorviewOp, DynamicViewOp)
