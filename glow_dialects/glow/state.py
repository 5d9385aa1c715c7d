"""State: variables that keep their values from one call of a function to the next.

A function reads a variable with `glow.variable` and writes it with `glow.save`:

    %w = glow.variable @fc1.weight initial @fc1.weight : tensor<128x64xf32>
    %m = glow.variable @fc1.weight.exp_avg : tensor<128x64xf32>
    ...
    glow.save %new, @fc1.weight

Every read gives the value from before the call, and all saves take effect together when the
function returns. So the order in the text means nothing: a read below a save sees the old value
too, and passes may move both freely. What they may not do is drop them, which is why both have a
memory effect.

These operations are not nodes: passes that rewrite or remove nodes leave them alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
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
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.hints import isa

from glow.dialects.errors import fail_unless
from glow.dialects.node import GlowOp
from glow.dialects.quantized import is_quantized
from glow.dialects.tensor_types import is_static_tensor
from glow.dialects.text import (
    parse_attributes,
    parse_defined_operand,
    print_attributes,
)


class StateOp(GlowOp):
    """An operation on a variable, which it names."""

    variable = prop_def(SymbolRefAttr)

    @property
    def variable_name(self) -> str:
        """The variable's name."""
        return self.variable.string_value()


class VariableBase(StateOp):
    """The text of operations that give a variable: `@name [initial value] : type`."""

    @property
    def weight_name(self) -> str | None:
        """The weight table's entry of the initial value, if that is one."""
        value = self.properties.get("value")
        return value.string_value() if isinstance(value, SymbolRefAttr) else None

    def print(self, printer: Printer) -> None:
        """Print the name, the initial value if there is one, and the type."""
        printer.print_string(" ")
        printer.print_attribute(self.variable)
        if (value := self.properties.get("value")) is not None:
            printer.print_string(" initial ")
            printer.print_attribute(value)
        print_attributes(printer, self)
        self.print_type(printer)

    def print_type(self, printer: Printer) -> None:
        """Print the type of the result."""
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the name, the initial value if there is one, and the type."""
        properties: dict[str, Attribute] = {"variable": parse_name(parser)}
        if parser.parse_optional_keyword("initial") is not None:
            properties["value"] = _parse_value(parser)
        attributes = parse_attributes(parser, cls.get_irdl_definition())
        return cls.create(
            result_types=[cls.parse_type(parser, properties.get("value"))],
            properties=properties,
            attributes=attributes,
        )

    @classmethod
    def parse_type(cls, parser: Parser, value: Attribute | None) -> Attribute:
        """Parse the type of the result."""
        parser.parse_punctuation(":")
        return parser.parse_type()


def parse_name(parser: Parser) -> SymbolRefAttr:
    """Parse `@name`."""
    return SymbolRefAttr(parser.parse_symbol_name())


def _parse_value(parser: Parser) -> Attribute:
    """Parse an initial value: `@entry`, `dense<...>` or `dense_resource<...>`."""
    value = parser.parse_attribute()
    is_dense = isa(value, DenseIntOrFPElementsAttr)
    if not (is_dense or isinstance(value, SymbolRefAttr | DenseResourceAttr)):
        parser.raise_error("an initial value is @name or dense<...>")
    return value


def check_initial(value: Attribute | None, held: Attribute) -> None:
    """An inline initial value has the type of the tensor that a variable holds."""
    if isa(value, DenseIntOrFPElementsAttr) or isinstance(value, DenseResourceAttr):
        fail_unless(
            value.type == held,
            f"the initial value has type {value.type}, the variable {held}",
        )


@irdl_op_definition
class VariableOp(VariableBase):
    """The value that a variable had before the call.

    At first it is `initial`, a value of the same form as that of `glow.constant` (an entry of
    the weight table, `dense<...>` or a resource), or zeros:

        %w = glow.variable @w initial dense<[1.0, 2.0]> : tensor<2xf32>
        %m = glow.variable @"w/moment" : tensor<2xf32>

    All reads of a variable in a function have one type and one initial value.
    """

    name = "glow.variable"
    value = opt_prop_def(SymbolRefAttr | DenseIntOrFPElementsAttr | DenseResourceAttr)
    result = result_def(TensorType)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def of(
        cls,
        variable: str,
        result_type: TensorType[Attribute],
        value: Attribute | None = None,
    ) -> Self:
        """A read of a variable; without a value it begins with zeros."""
        properties: dict[str, Attribute] = {"variable": SymbolRefAttr(variable)}
        if value is not None:
            properties["value"] = value
        op = cls.create(result_types=[result_type], properties=properties)
        if SSAValue.is_valid_name(variable):
            op.result.name_hint = variable
        return op

    def print_type(self, printer: Printer) -> None:
        """Print the type, unless it ended the value."""
        if self.value is None or self.weight_name is not None:
            super().print_type(printer)

    @classmethod
    def parse_type(cls, parser: Parser, value: Attribute | None) -> Attribute:
        """Parse the type, or take that of the value."""
        if isa(value, DenseIntOrFPElementsAttr) or isinstance(value, DenseResourceAttr):
            return value.type
        return super().parse_type(parser, value)

    def verify_(self) -> None:
        """The shape is static, and an inline value has the type of the variable."""
        fail_unless(
            is_static_tensor(self.result),
            f"a variable must be a tensor of static shape, not {self.result.type}",
        )
        fail_unless(
            not is_quantized(self.result.type),
            "a variable cannot have quantized elements",
        )
        check_initial(self.value, self.result.type)


@irdl_op_definition
class SaveOp(StateOp):
    """Gives a variable a new value, which calls after this one read.

    It takes effect when the function returns, after all reads:

        glow.save %new, @w

    A function saves a variable once at most, and never in a branch or loop, where the value
    to save must be a result (`scf.if` gives the old one in the other branch).
    """

    name = "glow.save"
    input = operand_def(TensorType)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def of(cls, value: SSAValue, variable: str) -> Self:
        """A save of a value."""
        properties = {"variable": SymbolRefAttr(variable)}
        return cls.create(operands=[value], properties=properties)

    def verify_(self) -> None:
        """It stands at the top level of a function."""
        fail_unless(
            isinstance(self.parent_op(), FuncOp),
            f"variable '{self.variable_name}' is saved in a branch or loop; a save stands "
            "at the top level of a function",
        )

    def print(self, printer: Printer) -> None:
        """Print `%value, @name`."""
        printer.print_string(" ")
        printer.print_ssa_value(self.input)
        printer.print_string(", ")
        printer.print_attribute(self.variable)
        print_attributes(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `%value, @name`."""
        value = parse_defined_operand(parser)
        parser.parse_punctuation(",")
        variable = parse_name(parser)
        attributes = parse_attributes(parser, cls.get_irdl_definition())
        op = cls.create(operands=[value], properties={"variable": variable})
        op.attributes.update(attributes)
        return op


def variables_of(function: Operation) -> dict[str, VariableBase]:
    """The first mention of each variable of a function, in the order of the text."""
    found: dict[str, VariableBase] = {}
    for op in function.walk():
        if isinstance(op, VariableBase):
            found.setdefault(op.variable_name, op)
    return found


def saves_of(function: Operation) -> dict[str, SaveOp]:
    """The save of each variable of a function that it writes, in the order of the text."""
    saves = (op for op in function.walk() if isinstance(op, SaveOp))
    return {op.variable_name: op for op in saves}


def wrong_state(module: ModuleOp) -> tuple[Operation, str] | None:
    """The first operation of the module that breaks a rule of variables, and which.

    The rules are about several operations: reads of a variable agree, and a save names a
    variable of its type that nothing else saves. They are checked for a whole function at once.
    """
    for function in module.ops:
        if isinstance(function, FuncOp):
            for wrong in _wrong_in(function):
                return wrong
    return None


def _wrong_in(function: FuncOp) -> Iterator[tuple[Operation, str]]:
    known, saved = dict[str, VariableOp](), set[str]()
    saves: list[SaveOp] = []
    for op in function.walk():
        if isinstance(op, SaveOp):
            saves.append(op)
        elif isinstance(op, VariableOp):
            first = known.setdefault(op.variable_name, op)
            if message := _differs(op, first):
                yield op, message
    for save in saves:
        name = save.variable_name
        read = known.get(name)
        if read is None:
            yield save, f"the function has no variable '{name}'"
        elif save.input.type != read.result.type:
            yield (
                save,
                f"variable '{name}' is {read.result.type}, not {save.input.type}",
            )
        if name in saved:
            yield save, f"variable '{name}' is saved twice"
        saved.add(name)


def _differs(op: VariableOp, first: VariableOp) -> str | None:
    name = op.variable_name
    if op.result.type != first.result.type:
        return f"variable '{name}' is {first.result.type} above, here {op.result.type}"
    if op.value != first.value:
        return f"variable '{name}' has another initial value above"
    return None


OPS = (VariableOp, SaveOp)
