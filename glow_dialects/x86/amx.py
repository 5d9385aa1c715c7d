"""The `amx` dialect, which xDSL 0.74 lacks: matrix tiles of Intel's AMX.

Names, text and checks are upstream's. A tile has up to 16 rows of up to 64 bytes. The right
factor of a product has four bytes, or two floats of 16 bits, of each column side by side: its
row k holds rows 4 k to 4 k + 3 of the matrix.

    %c = amx.tile_zero : !amx.tile<16x16xi32>
    %a = amx.tile_load %x[%i, %k] : memref<32x128xi8> into !amx.tile<16x64xi8>
    %b = amx.tile_load %w[%k, %j] : memref<32x128xi8> into !amx.tile<16x64xi8>
    %d = amx.tile_muli %a zext, %b, %c
        : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    amx.tile_store %y[%i, %j], %d : memref<32x32xi32>, !amx.tile<16x16xi32>

Which of the eight registers a tile is in, and their shapes, are for LLVM to decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntAttr,
    MemRefType,
    UnitAttr,
    i8,
    i32,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from glow.dialects.tensor_types import element_of, shape_of

ROWS, ROW_BYTES = 16, 64
"""The most of a tile."""

WORD_BYTES = 4
"""The bytes of each column that lie side by side in a right factor."""


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """Rows times columns of an element type."""

    name = "amx.tile"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    @staticmethod
    def of(rows: int, columns: int, element: Attribute) -> TileType:
        """The type of a tile with those extents."""
        return TileType(ArrayAttr([IntAttr(rows), IntAttr(columns)]), element)

    def get_shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(extent.data for extent in self.shape)

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return self.get_shape()[1] * bytes_of(self.element_type)

    def verify(self) -> None:
        shape = self.get_shape()
        if self.element_type not in (i8, i32) and not isinstance(
            self.element_type, Float16Type | BFloat16Type | Float32Type
        ):
            raise VerifyException(f"{self.name}: no tile has {self.element_type}")
        if len(shape) != 2 or not 1 <= shape[0] <= ROWS:
            raise VerifyException(f"{self.name}: a tile has 1 to {ROWS} rows")
        if self.row_bytes > ROW_BYTES or self.row_bytes % WORD_BYTES:
            raise VerifyException(
                f"{self.name}: a row has words of {WORD_BYTES} bytes, up to {ROW_BYTES}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
        return ArrayAttr([IntAttr(extent) for extent in shape]), element

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for extent in self.get_shape():
                printer.print_string(f"{extent}x")
            printer.print_attribute(self.element_type)


def bytes_of(element: Attribute) -> int:
    """The size of an element."""
    if isinstance(element, AnyFloat):
        return element.bitwidth // 8
    return 1 if element == i8 else WORD_BYTES


def tile_of(value: SSAValue) -> TileType:
    """The type of a tile."""
    assert isinstance(value.type, TileType)
    return value.type


def check_place(op: TileLoadOp | TileStoreOp, tile: SSAValue) -> None:
    """Raise VerifyException unless a tile can be in a buffer's last two dimensions, or in rows
    that are a stride apart.
    """
    rank = len(shape_of(op.base.type))
    if len(op.indices) != rank:
        raise VerifyException(f"{op.name}: requires {rank} indices")
    if rank < 2 and op.stride is None:
        raise VerifyException(f"{op.name}: requires at least 2D memref")
    if element_of(op.base.type) != tile_of(tile).element_type:
        raise VerifyException(f"{op.name}: the elements differ in type")


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """A tile of zeros."""

    name = "amx.tile_zero"
    res = result_def(TileType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class TileLoadOp(IRDLOperation):
    """Reads a tile, whose rows are `stride` elements apart; without it as far apart as those of
    the buffer's last two dimensions.
    """

    name = "amx.tile_load"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    stride = opt_operand_def(IndexType)
    res = result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$base `[` $indices `]` (`,` $stride^)? attr-dict `:` type($base) "
        "`into` type($res)"
    )

    def verify_(self) -> None:
        check_place(self, self.res)


@irdl_op_definition
class TileStoreOp(IRDLOperation):
    """Writes a tile, its rows as far apart as those of a load."""

    name = "amx.tile_store"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    val = operand_def(TileType)
    stride = opt_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$base `[` $indices `]` `,` $val (`,` $stride^)? attr-dict `:` type($base) "
        "`,` type($val)"
    )

    def verify_(self) -> None:
        check_place(self, self.val)


def check_product(op: TileMulIOp | TileMulFOp) -> None:
    """Raise VerifyException unless the shapes are those of a product."""
    lhs, rhs, acc = (tile_of(value) for value in (op.lhs, op.rhs, op.acc))
    (rows, columns), words = acc.get_shape(), lhs.row_bytes // WORD_BYTES
    if (
        lhs.get_shape()[0] != rows
        or rhs.get_shape()[0] != words
        or rhs.row_bytes // WORD_BYTES != columns
    ):
        raise VerifyException(f"{op.name}: bad mult shape")
    if op.res.type != op.acc.type:
        raise VerifyException(f"{op.name}: the result is not of the type of the sums")


@irdl_op_definition
class TileMulIOp(IRDLOperation):
    """acc + lhs rhs of bytes, signed ones unless they are said to extend by zeros."""

    name = "amx.tile_muli"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    acc = operand_def(TileType)
    isZextLhs = opt_prop_def(UnitAttr)
    isZextRhs = opt_prop_def(UnitAttr)
    res = result_def(TileType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_product(self)
        elements = [tile_of(value).element_type for value in self.operands]
        if elements != [i8, i8, i32]:
            raise VerifyException(f"{self.name}: bytes are multiplied, sums are i32")

    def print(self, printer: Printer) -> None:
        for value, is_unsigned in (
            (self.lhs, self.isZextLhs),
            (self.rhs, self.isZextRhs),
        ):
            printer.print_string(" ")
            printer.print_ssa_value(value)
            printer.print_string("," if is_unsigned is None else " zext,")
        printer.print_string(" ")
        printer.print_ssa_value(self.acc)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> TileMulIOp:
        lhs, is_lhs_unsigned = parse_factor(parser)
        rhs, is_rhs_unsigned = parse_factor(parser)
        tiles = [lhs, rhs, parser.parse_unresolved_operand()]
        operands, attributes = parse_types(parser, tiles)
        unsigned = {"isZextLhs": is_lhs_unsigned, "isZextRhs": is_rhs_unsigned}
        return cls.create(
            operands=operands,
            result_types=[operands[2].type],
            properties={name: UnitAttr() for name, is_so in unsigned.items() if is_so},
            attributes=attributes,
        )


def parse_factor(parser: Parser) -> tuple[UnresolvedOperand, bool]:
    """A factor with the comma behind it, and whether it extends by zeros."""
    tile = parser.parse_unresolved_operand()
    is_unsigned = parser.parse_optional_keyword("zext") is not None
    parser.parse_punctuation(",")
    return tile, is_unsigned


def parse_types(
    parser: Parser, tiles: Sequence[UnresolvedOperand]
) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
    """The tiles of a product by their types, and the attributes in front of these."""
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    none = parser.Delimiter.NONE
    types = parser.parse_comma_separated_list(none, parser.parse_type)
    return parser.resolve_operands(tiles, types, parser.pos), attributes


@irdl_op_definition
class TileMulFOp(IRDLOperation):
    """acc + lhs rhs of 16-bit floats: the even and the odd ones of each row are added up apart in
    f32, then to each other, then to acc. Numbers too small to be normal count as zeros.
    """

    name = "amx.tile_mulf"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    acc = operand_def(TileType)
    res = result_def(TileType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_product(self)
        factors = {tile_of(value).element_type for value in (self.lhs, self.rhs)}
        is_half = all(isinstance(each, BFloat16Type | Float16Type) for each in factors)
        if len(factors) != 1 or not is_half:
            raise VerifyException(f"{self.name}: floats of 16 bits are multiplied")
        if not isinstance(tile_of(self.acc).element_type, Float32Type):
            raise VerifyException(f"{self.name}: sums are f32")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> TileMulFOp:
        none = parser.Delimiter.NONE
        tiles = parser.parse_comma_separated_list(none, parser.parse_unresolved_operand)
        operands, attributes = parse_types(parser, tiles)
        return cls.create(
            operands=operands,
            result_types=[operands[2].type],
            attributes=attributes,
        )


Amx = Dialect(
    "amx", [TileZeroOp, TileLoadOp, TileStoreOp, TileMulIOp, TileMulFOp], [TileType]
)
