"""The `llvm` dialect with the ops of upstream that xDSL 0.74 lacks or keeps scalar.

Same way as `glow.dialects.arith`: names and syntax are upstream's, everything else is
re-exported from xDSL's `llvm` through the dialect object. Intrinsics need no op here:
they are `llvm.call_intrinsic "llvm.fma.v16f32"(...)`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import llvm as upstream
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    container_of,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, FCmpPredicateFlag, GenericCastOp
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    ParametrizedAttribute,
    TypeAttribute,
)
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure

from glow.dialects.arith.comparisons import comparison_result

BOOLEAN_LIKE = container_of(IntegerType(1))


@irdl_attr_definition
class X86AMXType(ParametrizedAttribute, TypeAttribute):
    """`!llvm.x86_amx`, a matrix tile."""

    name = "llvm.x86_amx"


X86_AMX = X86AMXType()


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """`%v = llvm.mlir.poison : vector<16xf32>`"""

    name = "llvm.mlir.poison"
    res = result_def(Attribute)
    assembly_format = "attr-dict `:` type($res)"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """`%q = llvm.freeze %p : !llvm.ptr`"""

    name = "llvm.freeze"
    T: ClassVar = VarConstraint("T", AnyAttr())
    val = operand_def(T)
    res = result_def(T)
    assembly_format = "$val attr-dict `:` type($val)"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """`%x = llvm.extractelement %v[%i : i64] : vector<16xf32>`"""

    name = "llvm.extractelement"
    T: ClassVar = VarConstraint("T", AnyAttr())
    vector = operand_def(VectorType.constr(T))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(T)
    assembly_format = (
        "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"
    )
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`%r = llvm.select %c, %a, %b : vector<16xi1>, vector<16xf32>`"""

    name = "llvm.select"
    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def(BOOLEAN_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())


@irdl_op_definition
class AddrSpaceCastOp(GenericCastOp):
    """`%q = llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr`"""

    name = "llvm.addrspacecast"


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """`%c = llvm.fcmp "ogt" %a, %b : vector<16xf32>`"""

    name = "llvm.fcmp"
    T: ClassVar = VarConstraint("T", container_of(AnyFloatConstr))
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(BOOLEAN_LIKE)
    predicate = prop_def(IntegerAttr)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        flag = FCmpPredicateFlag.from_int(self.predicate.value.data)
        printer.print_string(f' "{flag}" ')
        printer.print_list(self.operands, printer.print_ssa_value)
        attributes = dict(self.attributes)
        if self.fastmathFlags.data:
            attributes["fastmathFlags"] = self.fastmathFlags
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        flag = FCmpPredicateFlag(parser.parse_str_literal())
        unresolved = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        flags = attributes.pop("fastmathFlags", FastMathAttr(None))
        return cls.create(
            operands=parser.resolve_operands(unresolved, [type_, type_], parser.pos),
            result_types=[comparison_result(type_)],
            properties={
                "predicate": IntegerAttr(flag.to_int(), i64),
                "fastmathFlags": flags,
            },
            attributes=attributes,
        )


@irdl_op_definition
class UIToFPOp(GenericCastOp):
    """`%x = llvm.uitofp %i : vector<16xi8> to vector<16xf32>`"""

    name = "llvm.uitofp"


@irdl_op_definition
class FPToSIOp(GenericCastOp):
    """`%i = llvm.fptosi %x : vector<16xf32> to vector<16xi32>`"""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(GenericCastOp):
    """`%i = llvm.fptoui %x : vector<16xf32> to vector<16xi32>`"""

    name = "llvm.fptoui"


NEW: dict[str, type[Operation]] = {
    op.name: op
    for op in (
        PoisonOp,
        FreezeOp,
        ExtractElementOp,
        SelectOp,
        FCmpOp,
        UIToFPOp,
        FPToSIOp,
        FPToUIOp,
        AddrSpaceCastOp,
    )
}
KEPT = [op for op in upstream.LLVM.operations if op.name not in NEW]

LLVM = Dialect("llvm", [*KEPT, *NEW.values()], [*upstream.LLVM.attributes, X86AMXType])
