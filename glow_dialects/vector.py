"""The `vector` dialect with what xDSL 0.74 lacks: products, vectors as their elements.

Same way as `glow.dialects.arith`: upstream's name and syntax, the rest is xDSL's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self, cast

from xdsl.dialects import vector as upstream
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    MemRefType,
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
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

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


@irdl_op_definition
class GatherOp(IRDLOperation):
    """The elements of a buffer at computed places, lane by lane.

    %r = vector.gather %table[%zero] [%places], %mask, %others
        : memref<256xi8>, vector<64xi32>, vector<64xi1>, vector<64xi8> into vector<64xi8>

    Lanes that the mask leaves out are those of `others`.
    """

    name = "vector.gather"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(VectorType)
    mask = operand_def(VectorType)
    pass_thru = operand_def(VectorType)
    result = result_def(VectorType)
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:` "
        "type($base) `,` type($indices) `,` type($mask) `,` type($pass_thru) `into` "
        "type($result)"
    )

    def verify_(self) -> None:
        if self.pass_thru.type != self.result.type:
            raise VerifyException("vector.gather: result and other lanes differ")
        shapes = {
            cast("VectorType", value.type).get_shape()
            for value in (self.indices, self.mask, self.result)
        }
        if len(shapes) != 1:
            raise VerifyException(
                "vector.gather: indices, mask and result differ in shape"
            )
        if len(self.offsets) != cast("MemRefType", self.base.type).get_num_dims():
            raise VerifyException("vector.gather: needs an offset for each dimension")


@irdl_op_definition
class ShapeCastOp(IRDLOperation):
    """The same elements in row-major order under another shape.

    %b = vector.shape_cast %a : vector<2x64xi8> to vector<2x16x4xi8>
    """

    name = "vector.shape_cast"
    source = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_(self) -> None:
        before, after = (cast("VectorType", k.type) for k in (self.source, self.result))
        same = before.get_element_type() == after.get_element_type()
        if not same or prod(before.get_shape()) != prod(after.get_shape()):
            raise VerifyException(f"vector.shape_cast: {before} is no {after}")


class _ElementsOp(IRDLOperation):
    """Text shared by the two: operands, then the type of the vector."""

    @property
    def vector_type(self) -> VectorType:
        """The type of the vector, whose elements the others are."""
        raise NotImplementedError

    @classmethod
    def of_type(
        cls, parser: Parser, operands: list[UnresolvedOperand], vector: VectorType
    ) -> Self:
        """The operation with such operands for such a vector."""
        raise NotImplementedError

    def check_elements(self, elements: Sequence[SSAValue]) -> None:
        """Raise VerifyException unless these are of as many and such elements."""
        vector = self.vector_type
        count, element = prod(vector.get_shape()), vector.get_element_type()
        if len(elements) != count or any(e.type != element for e in elements):
            raise VerifyException(f"{self.name}: {vector} has {count} of {element}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.vector_type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        vector = parser.parse_type()
        if not isa(vector, VectorType):
            parser.raise_error(f"{cls.name} wants a vector type, not {vector}")
        op = cls.of_type(parser, operands, vector)
        op.attributes |= attributes
        return op


@irdl_op_definition
class ToElementsOp(_ElementsOp):
    """All elements of a vector, in row-major order.

    %e:4 = vector.to_elements %v : vector<2x2xf32>
    """

    name = "vector.to_elements"
    source = operand_def(VectorType)
    elements = var_result_def()
    traits = traits_def(Pure())

    @property
    def vector_type(self) -> VectorType:
        return cast("VectorType", self.source.type)

    @classmethod
    def of_type(
        cls, parser: Parser, operands: list[UnresolvedOperand], vector: VectorType
    ) -> ToElementsOp:
        if len(operands) != 1:
            parser.raise_error(f"{cls.name} takes one vector")
        source = parser.resolve_operand(operands[0], vector)
        elements = [vector.get_element_type()] * prod(vector.get_shape())
        return cls.create(operands=[source], result_types=elements)

    def verify_(self) -> None:
        self.check_elements(self.elements)


@irdl_op_definition
class FromElementsOp(_ElementsOp):
    """A vector of these elements, in row-major order.

    %v = vector.from_elements %a, %b : vector<2xf32>
    """

    name = "vector.from_elements"
    elements = var_operand_def()
    dest = result_def(VectorType)
    traits = traits_def(Pure())

    @property
    def vector_type(self) -> VectorType:
        return self.dest.type

    @classmethod
    def of_type(
        cls, parser: Parser, operands: list[UnresolvedOperand], vector: VectorType
    ) -> FromElementsOp:
        element = vector.get_element_type()
        elements = [parser.resolve_operand(operand, element) for operand in operands]
        return cls.create(operands=elements, result_types=[vector])

    def verify_(self) -> None:
        self.check_elements(self.elements)


Vector = Dialect(
    "vector",
    [
        *upstream.Vector.operations,
        ContractOp,
        GatherOp,
        ShapeCastOp,
        ToElementsOp,
        FromElementsOp,
    ],
    [*upstream.Vector.attributes, IteratorTypeAttr],
)
