"""The `vector` dialect with `vector.contract`, which xDSL 0.74 lacks.

Same way as `glow.dialects.arith`: upstream's name and syntax, the rest is xDSL's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import vector as upstream
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    StringAttr,
    VectorType,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Data, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

ADD = CombiningKindAttr(CombiningKindFlag.ADD)


@irdl_attr_definition
class IteratorTypeAttr(Data[str]):
    """`#vector.iterator_type<parallel>` or `<reduction>`."""

    name = "vector.iterator_type"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


def named_iterators(spelled: Attribute) -> Attribute:
    """Returns the iterator types of the custom syntax, `["parallel", ...]`, as
    attributes.
    """
    if not isinstance(spelled, ArrayAttr):
        return spelled
    iterators = cast("ArrayAttr[Attribute]", spelled)
    return ArrayAttr(
        [
            IteratorTypeAttr(it.data) if isinstance(it, StringAttr) else it
            for it in iterators
        ]
    )


@irdl_op_definition
class ContractOp(IRDLOperation):
    """A sum of products over the reduction iterators.

    %r = vector.contract {
        indexing_maps = [affine_map<(m, n, l, k) -> (m, k)>,
                         affine_map<(m, n, l, k) -> (n, l, k)>,
                         affine_map<(m, n, l, k) -> (m, n, l)>],
        iterator_types = ["parallel", "parallel", "parallel", "reduction"],
        kind = #vector.kind<add>} %a, %b, %c
        : vector<8x2xf32>, vector<3x16x2xf32> into vector<8x3x16xf32>
    """

    name = "vector.contract"
    lhs = operand_def(VectorType)
    rhs = operand_def(VectorType)
    acc = operand_def(VectorType)
    result = result_def(VectorType)
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    iterator_types = prop_def(ArrayAttr[IteratorTypeAttr])
    kind = prop_def(CombiningKindAttr, default_value=ADD)
    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        acc: SSAValue,
        indexing_maps: Sequence[AffineMapAttr],
        iterator_types: Sequence[str],
        kind: CombiningKindAttr = ADD,
    ):
        super().__init__(
            operands=[lhs, rhs, acc],
            result_types=[acc.type],
            properties={
                "indexing_maps": ArrayAttr(indexing_maps),
                "iterator_types": ArrayAttr(map(IteratorTypeAttr, iterator_types)),
                "kind": kind,
            },
        )

    def verify_(self) -> None:
        if self.acc.type != self.result.type:
            raise VerifyException("vector.contract: result and accumulator differ")
        operands = (self.lhs, self.rhs, self.acc)
        if len(self.indexing_maps) != len(operands):
            raise VerifyException("vector.contract: needs three indexing maps")
        for map_, operand in zip(self.indexing_maps, operands, strict=True):
            type_ = operand.type
            assert isinstance(type_, VectorType)
            if len(map_.data.results) != type_.get_num_dims():
                raise VerifyException(
                    f"vector.contract: {map_} does not fit the rank of {type_}"
                )
            if map_.data.num_dims != len(self.iterator_types):
                raise VerifyException(
                    f"vector.contract: {map_} needs one iterator type per dimension"
                )

    def print(self, printer: Printer) -> None:
        iterators = ArrayAttr(StringAttr(it.data) for it in self.iterator_types)
        shown = {
            "indexing_maps": self.indexing_maps,
            "iterator_types": iterators,
            "kind": self.kind,
        }
        printer.print_op_attributes(shown | self.attributes)
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list((self.lhs.type, self.rhs.type), printer.print_attribute)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> ContractOp:
        attributes = parser.parse_optional_attr_dict()
        unresolved = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
        parser.parse_keyword("into")
        result = parser.parse_type()
        iterators = attributes.get("iterator_types")
        if iterators is not None:
            attributes["iterator_types"] = named_iterators(iterators)
        names = {"indexing_maps", "iterator_types", "kind"}
        return cls.create(
            operands=parser.resolve_operands(unresolved, [*types, result], parser.pos),
            result_types=[result],
            properties={k: v for k, v in attributes.items() if k in names},
            attributes={k: v for k, v in attributes.items() if k not in names},
        )


Vector = Dialect(
    "vector",
    [*upstream.Vector.operations, ContractOp],
    [*upstream.Vector.attributes, IteratorTypeAttr],
)
