"""The conversions of `arith`, on scalars and vectors; used through `arith`."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerType,
    VectorType,
    container_of,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyOf,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self

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
