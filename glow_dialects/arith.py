"""The `arith` dialect with vectors where upstream has them and xDSL 0.74 has not.

xDSL's `select`, `cmpi`, `cmpf` and its integer/float conversions take scalars only;
kernels work on vectors. This module is a drop-in `arith`: every op keeps its name and
its upstream syntax, the eleven rejected ones are defined anew, the others are xDSL's own
classes, re-exported, so that one import serves a kernel builder. The new ops derive
from `IRDLOperation`: a subclass of xDSL's op would inherit its generated verifier.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects import arith as upstream
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    AddfOp,
    AddiOp,
    AndIOp,
    BitcastOp,
    CeilDivSIOp,
    CeilDivUIOp,
    ConstantOp,
    DivfOp,
    DivSIOp,
    DivUIOp,
    ExtFOp,
    FastMathFlagsAttr,
    FloorDivSIOp,
    IntegerOverflowAttr,
    MaximumfOp,
    MaxnumfOp,
    MaxSIOp,
    MaxUIOp,
    MinimumfOp,
    MinnumfOp,
    MinSIOp,
    MinUIOp,
    MulfOp,
    MuliOp,
    NegfOp,
    OrIOp,
    RemSIOp,
    RemUIOp,
    ShLIOp,
    ShRSIOp,
    ShRUIOp,
    SubfOp,
    SubiOp,
    TruncFOp,
    XOrIOp,
)
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    container_of,
    i1,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
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
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self

__all__ = [
    "AddfOp",
    "AddiOp",
    "AndIOp",
    "Arith",
    "BitcastOp",
    "CeilDivSIOp",
    "CeilDivUIOp",
    "CmpfOp",
    "CmpiOp",
    "ConstantOp",
    "DivSIOp",
    "DivUIOp",
    "DivfOp",
    "ExtFOp",
    "ExtSIOp",
    "ExtUIOp",
    "FPToSIOp",
    "FPToUIOp",
    "FastMathFlagsAttr",
    "FloorDivSIOp",
    "IndexCastOp",
    "IntegerOverflowAttr",
    "MaxSIOp",
    "MaxUIOp",
    "MaximumfOp",
    "MaxnumfOp",
    "MinSIOp",
    "MinUIOp",
    "MinimumfOp",
    "MinnumfOp",
    "MulfOp",
    "MuliOp",
    "NegfOp",
    "OrIOp",
    "RemSIOp",
    "RemUIOp",
    "RemfOp",
    "SIToFPOp",
    "SelectOp",
    "ShLIOp",
    "ShRSIOp",
    "ShRUIOp",
    "SubfOp",
    "SubiOp",
    "TruncFOp",
    "TruncIOp",
    "UIToFPOp",
    "XOrIOp",
]

NO_FLAGS = FastMathFlagsAttr("none")

INTEGER_LIKE = container_of(IntegerType)
INDEX_OR_INTEGER_LIKE = container_of(AnyOf.get(IntegerType, IndexType))
FLOAT_LIKE = container_of(AnyFloatConstr)


def shape_of(type_: Attribute) -> tuple[int, ...] | None:
    """Returns the shape of a vector type, or None for a scalar type."""
    return type_.get_shape() if isinstance(type_, VectorType) else None


def verify_same_shape(op: Operation) -> None:
    """Raises VerifyException unless all operands and results have one shape."""
    types = (*op.operand_types, *op.result_types)
    if len({shape_of(type_) for type_ in types}) > 1:
        listed = ", ".join(str(type_) for type_ in types)
        raise VerifyException(
            f"{op.name}: operands and results differ in shape: {listed}"
        )


def bit_width(type_: Attribute) -> int:
    """Returns the width of an integer type or of a vector's integer element."""
    element = get_element_type_or_self(type_)
    assert isinstance(element, IntegerType)
    return cast("IntegerType", element).width.data


class CastOp(IRDLOperation, ABC):
    """An element-wise conversion, `%r = arith.x %a : T to U`."""

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation, target_type: Attribute):
        super().__init__(operands=[value], result_types=[target_type])

    def verify_(self) -> None:
        verify_same_shape(self)


class IntegerResizeOp(CastOp, ABC):
    """A conversion between integers; `GROWS` says which width is the larger."""

    GROWS: ClassVar[bool] = True
    input = operand_def(INTEGER_LIKE)
    result = result_def(INTEGER_LIKE)

    def verify_(self) -> None:
        super().verify_()
        before, after = bit_width(self.input.type), bit_width(self.result.type)
        if (after > before) != self.GROWS or after == before:
            size = "larger" if self.GROWS else "smaller"
            raise VerifyException(
                f"Destination bit-width must be {size} than the input bit-width"
            )


class FloatToIntegerOp(CastOp, ABC):
    """A conversion from float to integer that rounds towards zero."""

    input = operand_def(FLOAT_LIKE)
    result = result_def(INTEGER_LIKE)


class IntegerToFloatOp(CastOp, ABC):
    """A conversion from integer to float that rounds to nearest."""

    input = operand_def(INTEGER_LIKE)
    result = result_def(FLOAT_LIKE)


@irdl_op_definition
class FPToSIOp(FloatToIntegerOp):
    """`%i = arith.fptosi %x : vector<16xf32> to vector<16xi32>`"""

    name = "arith.fptosi"


@irdl_op_definition
class FPToUIOp(FloatToIntegerOp):
    """`%i = arith.fptoui %x : vector<16xf32> to vector<16xi8>`"""

    name = "arith.fptoui"


@irdl_op_definition
class SIToFPOp(IntegerToFloatOp):
    """`%x = arith.sitofp %i : vector<16xi32> to vector<16xf32>`"""

    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(IntegerToFloatOp):
    """`%x = arith.uitofp %i : vector<16xi8> to vector<16xf32>`"""

    name = "arith.uitofp"


@irdl_op_definition
class ExtSIOp(IntegerResizeOp):
    """`%w = arith.extsi %i : vector<16xi8> to vector<16xi32>`"""

    name = "arith.extsi"


@irdl_op_definition
class ExtUIOp(IntegerResizeOp):
    """`%w = arith.extui %i : vector<16xi8> to vector<16xi32>`"""

    name = "arith.extui"


@irdl_op_definition
class TruncIOp(IntegerResizeOp):
    """`%n = arith.trunci %i : vector<16xi32> to vector<16xi8>`"""

    name = "arith.trunci"
    GROWS: ClassVar[bool] = False


@irdl_op_definition
class IndexCastOp(CastOp):
    """`%j = arith.index_cast %i : vector<16xindex> to vector<16xi32>`"""

    name = "arith.index_cast"
    input = operand_def(INDEX_OR_INTEGER_LIKE)
    result = result_def(INDEX_OR_INTEGER_LIKE)

    def verify_(self) -> None:
        super().verify_()
        types = (self.input.type, self.result.type)
        elements = [get_element_type_or_self(type_) for type_ in types]
        if sum(isinstance(element, IndexType) for element in elements) != 1:
            raise VerifyException(
                f"arith.index_cast: {types[0]} and {types[1]} must be index and integer"
            )


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


@irdl_op_definition
class RemfOp(upstream.FloatingPointLikeBinaryOperation):
    """`%r = arith.remf %a, %b : f32`: C's fmod, which xDSL lacks."""

    name = "arith.remf"
    traits = traits_def(Pure())


REPLACED: dict[str, type[Operation]] = {
    op.name: op
    for op in (
        FPToSIOp,
        FPToUIOp,
        IndexCastOp,
        SIToFPOp,
        UIToFPOp,
        ExtSIOp,
        ExtUIOp,
        TruncIOp,
        SelectOp,
        CmpiOp,
        CmpfOp,
    )
}

Arith = Dialect(
    "arith",
    [*(REPLACED.get(op.name, op) for op in upstream.Arith.operations), RemfOp],
    list(upstream.Arith.attributes),
    [upstream.ArithConstantMaterializationInterface()],
)
