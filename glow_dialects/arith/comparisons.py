"""`select`, `cmpi` and `cmpf` on scalars and vectors; used through `arith`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    FastMathFlagsAttr,
)
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    VectorType,
    container_of,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from glow.dialects.arith.casts import (
    FLOAT_LIKE,
    INDEX_OR_INTEGER_LIKE,
    shape_of,
    verify_same_shape,
)

NO_FLAGS = FastMathFlagsAttr("none")


@irdl_op_definition
class SelectOp(IRDLOperation):
    """
    `%r = arith.select %c, %a, %b : vector<16xi1>, vector<16xf32>`; a scalar condition
    is not spelled: `arith.select %c, %a, %b : vector<16xf32>`.
    """

    name = "arith.select"
    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def(container_of(IntegerType(1)))
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())

    def __init__(
        self,
        cond: SSAValue | Operation,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
    ):
        super().__init__(
            operands=[cond, lhs, rhs], result_types=[SSAValue.get(lhs).type]
        )

    def verify_(self) -> None:
        if isinstance(self.cond.type, VectorType):
            verify_same_shape(self)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if isinstance(self.cond.type, VectorType):
            printer.print_attribute(cast(Attribute, self.cond.type))
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        condition_type, type_ = i1, parser.parse_type()
        if parser.parse_optional_punctuation(","):
            condition_type, type_ = type_, parser.parse_type()
        values = parser.resolve_operands(
            operands, [condition_type, type_, type_], parser.pos
        )
        op = cls(*values)
        op.attributes |= attributes
        return op


def comparison_result(type_: Attribute) -> Attribute:
    """Returns i1, or a vector of i1 in the shape of the compared vectors."""
    shape = shape_of(type_)
    return i1 if shape is None else VectorType(i1, shape)


class CompareOp(IRDLOperation, ABC):
    """A comparison of equal types that gives i1 or a vector of i1."""

    PREDICATES: ClassVar[list[str]] = []

    def verify_(self) -> None:
        verify_same_shape(self)

    def print_compared(self, printer: Printer, predicate: int) -> None:
        """Prints the predicate's name and the two operands."""
        printer.print_string(f" {self.PREDICATES[predicate]}, ")
        printer.print_list(self.operands, printer.print_ssa_value)

    @classmethod
    def parse_predicate(cls, parser: Parser) -> int:
        """Returns the number of the predicate whose name comes next."""
        start = parser.pos
        name = parser.parse_identifier()
        if name not in cls.PREDICATES:
            parser.raise_error(f"unknown predicate '{name}'", start, parser.pos)
        parser.parse_punctuation(",")
        return cls.PREDICATES.index(name)


def predicate_attribute(predicate: int | str, names: Sequence[str]) -> IntegerAttr:
    """Returns the i64 attribute of a predicate given by number or name."""
    number = predicate if isinstance(predicate, int) else names.index(predicate)
    return IntegerAttr(number, 64)


@irdl_op_definition
class CmpiOp(CompareOp):
    """`%c = arith.cmpi slt, %a, %b : vector<16xi32>`"""

    name = "arith.cmpi"
    PREDICATES: ClassVar[list[str]] = CMPI_COMPARISON_OPERATIONS
    T: ClassVar = VarConstraint("T", INDEX_OR_INTEGER_LIKE)
    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(container_of(IntegerType(1)))
    traits = traits_def(Pure())

    def __init__(
        self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, predicate: int | str
    ):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[comparison_result(SSAValue.get(lhs).type)],
            properties={"predicate": predicate_attribute(predicate, self.PREDICATES)},
        )

    def print(self, printer: Printer) -> None:
        self.print_compared(printer, self.predicate.value.data)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> CmpiOp:
        predicate = cls.parse_predicate(parser)
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        lhs, rhs = parser.resolve_operands(operands, [type_, type_], parser.pos)
        op = cls(lhs, rhs, predicate)
        op.attributes |= attributes
        return op


@irdl_op_definition
class CmpfOp(CompareOp):
    """`%c = arith.cmpf ogt, %a, %b : vector<16xf32>`"""

    name = "arith.cmpf"
    PREDICATES: ClassVar[list[str]] = CMPF_COMPARISON_OPERATIONS
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FLAGS)
    result = result_def(container_of(IntegerType(1)))
    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        predicate: int | str,
        fastmath: FastMathFlagsAttr = NO_FLAGS,
    ):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[comparison_result(SSAValue.get(lhs).type)],
            properties={
                "predicate": predicate_attribute(predicate, self.PREDICATES),
                "fastmath": fastmath,
            },
        )

    def print(self, printer: Printer) -> None:
        self.print_compared(printer, self.predicate.value.data)
        if self.fastmath != NO_FLAGS:
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> CmpfOp:
        predicate = cls.parse_predicate(parser)
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        fastmath = NO_FLAGS
        if parser.parse_optional_keyword("fastmath"):
            fastmath = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        lhs, rhs = parser.resolve_operands(operands, [type_, type_], parser.pos)
        op = cls(lhs, rhs, predicate, fastmath)
        op.attributes |= attributes
        return op
