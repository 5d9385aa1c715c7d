"""The `memref` dialect with `memref.prefetch`, which xDSL 0.74 lacks.

Same way as `glow.dialects.arith`: upstream's name and syntax, the rest is xDSL's.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref as upstream
from xdsl.dialects.builtin import (
    BoolAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    i32,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

LOCALITIES = range(4)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Asks for the cache line of an element, to be kept as `localityHint` says
    (0: not at all, 3: in all caches).

    memref.prefetch %m[%i, %j], read, locality<2>, data : memref<4x16xf32>
    """

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    isWrite = prop_def(BoolAttr)
    localityHint = prop_def(IntegerAttr.constr(i32))
    isDataCache = prop_def(BoolAttr)

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        *,
        locality: int,
        is_write: bool = False,
        is_data: bool = True,
    ):
        super().__init__(
            operands=[memref, indices],
            properties={
                "isWrite": BoolAttr.from_bool(is_write),
                "localityHint": IntegerAttr(locality, i32),
                "isDataCache": BoolAttr.from_bool(is_data),
            },
        )

    def verify_(self) -> None:
        if self.localityHint.value.data not in LOCALITIES:
            raise VerifyException("memref.prefetch: locality must be 0, 1, 2 or 3")
        rank = len(memref_type(self.memref).shape.data)
        if len(self.indices) != rank:
            raise VerifyException(f"memref.prefetch: expected {rank} indices")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        printer.print_string("[")
        printer.print_list(self.indices, printer.print_ssa_value)
        access = "write" if self.isWrite.value.data else "read"
        cache = "data" if self.isDataCache.value.data else "instr"
        locality = self.localityHint.value.data
        printer.print_string(f"], {access}, locality<{locality}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        source = parser.parse_unresolved_operand()
        positions = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        indices = [parser.resolve_operand(each, IndexType()) for each in positions]
        parser.parse_punctuation(",")
        is_write = parser.expect(
            lambda: parse_either(parser, "write", "read"), "'read' or 'write' expected"
        )
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(",")
        is_data = parser.expect(
            lambda: parse_either(parser, "data", "instr"), "'data' or 'instr' expected"
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        memref = parser.resolve_operand(source, parser.parse_type())
        op = cls(memref, indices, locality=locality, is_write=is_write, is_data=is_data)
        op.attributes |= attributes
        return op


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """Returns the memref type of a value."""
    assert isa(value.type, MemRefType)
    return value.type


def parse_either(parser: Parser, yes: str, no: str) -> bool | None:
    """Returns whether the first of two keywords follows; None for neither."""
    if parser.parse_optional_keyword(yes) is not None:
        return True
    return None if parser.parse_optional_keyword(no) is None else False


MemRef = Dialect(
    "memref",
    [*upstream.MemRef.operations, PrefetchOp],
    list(upstream.MemRef.attributes),
)
