"""The `nvgpu` dialect, which xDSL 0.74 lacks: tensor cores and asynchronous copies.

Names, text and checks are upstream's; what kernels here use is there, that of Hopper's
GPUs in `bulk_copies` and `warpgroups`.

    %t = nvgpu.device_async_copy %x[%i, %j], %tile[%k, %l], 8
        : memref<64x64xf16> to memref<16x32xf16, 3>
    %g = nvgpu.device_async_create_group %t
    nvgpu.device_async_wait %g {numGroups = 1 : i32}
    %a = nvgpu.ldmatrix %tile[%r, %c] {numTiles = 4 : i32, transpose = false}
        : memref<16x32xf16, 3> -> vector<4x2xf16>
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from glow.dialects.gpu import bulk_copies, warpgroups
from glow.dialects.gpu.shared_memory import WARP, element_bits, is_shared
from glow.dialects.tensor_types import element_of, shape_of


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """A copy, or a group of some, that may not have arrived."""

    name = "nvgpu.device.async.token"


@irdl_op_definition
class AsyncCopyOp(IRDLOperation):
    """Copies `dstElements` elements to shared memory, beside what the thread does next.

    With `srcElements` it reads as many, and writes zeros for the rest.
    """

    name = "nvgpu.device_async_copy"
    dst = operand_def(MemRefType)
    dst_indices = var_operand_def(IndexType)
    src = operand_def(MemRefType)
    src_indices = var_operand_def(IndexType)
    src_elements = opt_operand_def(IndexType)
    dst_elements = prop_def(IntegerAttr.constr(IndexType()), prop_name="dstElements")
    bypass_l1 = opt_prop_def(UnitAttr, prop_name="bypassL1")
    token = result_def(TokenType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        if not is_shared(self.dst.type):
            raise VerifyException(f"{self.name}: the target is not in shared memory")
        if element_of(self.src.type) != element_of(self.dst.type):
            raise VerifyException(f"{self.name}: the elements differ in type")
        for memref, indices in (
            (self.src, self.src_indices),
            (self.dst, self.dst_indices),
        ):
            rank = len(shape_of(memref.type))
            if len(indices) != rank:
                raise VerifyException(f"{self.name}: expected {rank} indices")
        size = self.dst_elements.value.data * element_bits(self.src.type) // 8
        if size not in (4, 8, 16):
            raise VerifyException(f"{self.name}: copies 4, 8 or 16 bytes, not {size}")
        if self.bypass_l1 is not None and size != 16:
            raise VerifyException(f"{self.name}: bypassL1 needs 16 bytes, not {size}")

    def print(self, printer: Printer) -> None:
        for memref, indices in (
            (self.src, self.src_indices),
            (self.dst, self.dst_indices),
        ):
            printer.print_string(" ")
            printer.print_ssa_value(memref)
            with printer.in_square_brackets():
                printer.print_list(indices, printer.print_ssa_value)
            printer.print_string(",")
        printer.print_string(f" {self.dst_elements.value.data}")
        if self.src_elements is not None:
            printer.print_string(", ")
            printer.print_ssa_value(self.src_elements)
        shown = {} if self.bypass_l1 is None else {"bypassL1": self.bypass_l1}
        printer.print_op_attributes(shown | self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" to ")
        printer.print_attribute(self.dst.type)

    @classmethod
    def parse(cls, parser: Parser) -> AsyncCopyOp:
        def index(operand: UnresolvedOperand) -> SSAValue:
            return parser.resolve_operand(operand, IndexType())

        places: list[tuple[UnresolvedOperand, list[SSAValue]]] = []
        for _ in range(2):
            memref = parser.parse_unresolved_operand()
            indices = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_unresolved_operand
            )
            parser.parse_punctuation(",")
            places.append((memref, [index(each) for each in indices]))
        count = parser.parse_integer(allow_boolean=False)
        elements: list[SSAValue] = []
        if parser.parse_optional_punctuation(",") is not None:
            elements.append(index(parser.parse_unresolved_operand()))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_keyword("to")
        target_type = parser.parse_type()
        (source, source_indices), (target, target_indices) = places
        properties: dict[str, Attribute] = {
            "dstElements": IntegerAttr(count, IndexType())
        }
        if "bypassL1" in attributes:
            properties["bypassL1"] = attributes.pop("bypassL1")
        return cls.build(
            operands=[
                parser.resolve_operand(target, target_type),
                target_indices,
                parser.resolve_operand(source, source_type),
                source_indices,
                elements,
            ],
            result_types=[TokenType()],
            properties=properties,
            attributes=attributes,
        )


@irdl_op_definition
class CreateGroupOp(IRDLOperation):
    """Makes one group of the copies that the thread began since the last one.

    Without tokens the text has braces, as a parser takes a name on the next line for one.
    """

    name = "nvgpu.device_async_create_group"
    tokens = var_operand_def(TokenType)
    group = result_def(TokenType())

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.tokens else " {}")
        printer.print_list(self.tokens, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> CreateGroupOp:
        tokens = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        resolved = [parser.resolve_operand(one, TokenType()) for one in tokens or ()]
        return cls.create(
            operands=resolved, result_types=[TokenType()], attributes=attributes
        )


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Waits until at most `numGroups` groups of the thread have not arrived."""

    name = "nvgpu.device_async_wait"
    group = operand_def(TokenType())
    num_groups = opt_prop_def(IntegerAttr[I32], prop_name="numGroups")
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$group attr-dict"


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """Loads `numTiles` matrices of 8 rows of 16 bytes; lane 8 i + j says where row j of matrix
    i is. Lane 4 j + k gets the k-th four bytes of each row j; with `transpose` two elements of a
    column.
    """

    name = "nvgpu.ldmatrix"
    src = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    transpose = prop_def(BoolAttr)
    num_tiles = prop_def(IntegerAttr[I32], prop_name="numTiles")
    res = result_def(VectorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src `[` $indices `]` attr-dict `:` type($src) `->` type($res)"

    def verify_(self) -> None:
        if not is_shared(self.src.type):
            raise VerifyException(f"{self.name}: the source is not in shared memory")
        bits, tiles = element_bits(self.res.type), self.num_tiles.value.data
        if tiles not in (1, 2, 4):
            raise VerifyException(f"{self.name}: numTiles is 1, 2 or 4, not {tiles}")
        if shape_of(self.res.type) != (tiles, 32 // bits):
            raise VerifyException(
                f"{self.name}: the result has {tiles} x {32 // bits} elements"
            )
        if self.transpose.value.data and bits != 16:
            raise VerifyException(f"{self.name}: transpose needs elements of 16 bits")


MMA_SHAPES: dict[tuple[int, ...], int] = {
    (16, 8, 16): 16,
    (16, 8, 8): 32,
    (16, 8, 32): 8,
}
"""The size of the elements of factors, in bits, by the shape m, n, k of a product."""


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """a b + c of matrices that the lanes of a warp hold together.

    With e elements in four bytes, lane 4 g + t holds of a: rows g and g + 8, columns
    e t, ..., and those 4 e further; of b: the same with k first; of c: rows g and g + 8,
    columns 2 t and 2 t + 1.
    """

    name = "nvgpu.mma.sync"
    a = operand_def(VectorType)
    b = operand_def(VectorType)
    c = operand_def(VectorType)
    mma_shape = prop_def(ArrayAttr[IntegerAttr], prop_name="mmaShape")
    tf32 = opt_prop_def(UnitAttr, prop_name="tf32Enabled")
    res = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "`(` $a `,` $b `,` $c `)` attr-dict `:` `(` type($a) `,` type($b) `,` type($c) `)` "
        "`->` type($res)"
    )

    def verify_(self) -> None:
        shape = tuple(size.value.data for size in self.mma_shape)
        bits = element_bits(self.a.type)
        if MMA_SHAPES.get(shape) != bits:
            raise VerifyException(f"{self.name}: no shape {shape} of {bits} bits")
        if (bits == 32) != (self.tf32 is not None):
            raise VerifyException(f"{self.name}: factors of 32 bits need tf32Enabled")
        if self.res.type != self.c.type:
            raise VerifyException(f"{self.name}: the result is not of the type of c")
        m, n, k = shape
        for name, value, size in (
            ("a", self.a, m * k),
            ("b", self.b, k * n),
            ("c", self.c, m * n),
        ):
            if prod(shape_of(value.type)) * WARP != size:
                raise VerifyException(f"{self.name}: {name} has {size} elements a warp")


NvGpu = Dialect(
    "nvgpu",
    [
        AsyncCopyOp,
        CreateGroupOp,
        WaitOp,
        LdMatrixOp,
        MmaSyncOp,
        *bulk_copies.OPERATIONS,
        *warpgroups.OPERATIONS,
    ],
    [TokenType, *bulk_copies.TYPES, *warpgroups.TYPES],
)
