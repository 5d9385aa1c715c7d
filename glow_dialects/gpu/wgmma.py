"""Products of four warps, an instruction at a time, as the `nvvm` dialect of upstream has them.

Factors are tiles in shared memory, each by its descriptor (`matrix_descriptor`), and the sums a
structure of what each thread has of them:

    nvvm.wgmma.fence.aligned
    %next = nvvm.wgmma.mma_async %a, %b, %sums, <m = 64, n = 8, k = 32>, D [<s32>, <one>],
        A [<u8>, <one>, <row>], B [<s8>, <one>, <col>]
        : !llvm.struct<(i32, i32, i32, i32)> -> !llvm.struct<(i32, i32, i32, i32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0

Products read memory beside the threads, by a way of their own (the async proxy): what threads have
written is there for them behind a fence of each thread that wrote, and a barrier:

    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntAttr, StringAttr, f32, i32
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from glow.dialects.gpu.warpgroups import MOST_COLUMNS, ROWS, STEP_BYTES

BYTES = ("s8", "u8")
SIZES: Mapping[str, int] = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1}
"""The bytes of an element of a factor."""
SUMS: Mapping[str, Attribute] = {"f32": f32, "s32": i32}


class Word(ParametrizedAttribute):
    """One of some words, `<word>`."""

    WORDS: ClassVar[Sequence[str]]

    @property
    def data(self) -> str:
        """The word."""
        (word,) = self.parameters
        assert isinstance(word, StringAttr)
        return word.data

    def verify(self) -> None:
        if self.data not in self.WORDS:
            raise VerifyException(f"{self.name}: no '{self.data}'")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]


@irdl_attr_definition
class TypeAttr(Word):
    """What a factor or the sums are of."""

    name = "nvvm.wgmma_type"
    word: StringAttr
    WORDS = (*SIZES, *SUMS)


@irdl_attr_definition
class ScaleOutAttr(Word):
    """Whether a product adds to the sums."""

    name = "nvvm.wgmma_scale_out"
    word: StringAttr
    WORDS = ("zero", "one")


@irdl_attr_definition
class ScaleInAttr(Word):
    """What a factor is multiplied by, 1 or -1."""

    name = "nvvm.wgmma_scale_in"
    word: StringAttr
    WORDS = ("one", "neg")


@irdl_attr_definition
class LayoutAttr(Word):
    """What runs along the rows of a factor: the depth in a `row` of the first and a `col` of the
    second one.
    """

    name = "nvvm.mma_layout"
    word: StringAttr
    WORDS = ("row", "col")


@irdl_attr_definition
class ProxyKindAttr(Word):
    """Between which ways to memory a fence is."""

    name = "nvvm.proxy_kind"
    word: StringAttr
    WORDS = ("async", "async.shared")


@irdl_attr_definition
class SharedSpaceAttr(Word):
    """Whose shared memory it is of."""

    name = "nvvm.shared_space"
    word: StringAttr
    WORDS = ("cta", "cluster")


@irdl_attr_definition
class ShapeAttr(ParametrizedAttribute):
    """The extents of a product."""

    name = "nvvm.shape"
    m: IntAttr
    n: IntAttr
    k: IntAttr

    def print_parameters(self, printer: Printer) -> None:
        m, n, k = (extent.data for extent in (self.m, self.n, self.k))
        printer.print_string(f"<m = {m}, n = {n}, k = {k}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found: list[Attribute] = []
        with parser.in_angle_brackets():
            for name in "mnk":
                if found:
                    parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                found.append(IntAttr(parser.parse_integer()))
        return found


def sums_type(columns: int, element: Attribute) -> LLVMStructType:
    """What a thread has of the sums [64, columns], in the order of the registers."""
    return LLVMStructType.from_type_list([element] * (columns // 2))


def struct_of(value: SSAValue) -> LLVMStructType:
    """The type of sums."""
    assert isinstance(value.type, LLVMStructType)
    return value.type


@irdl_op_definition
class FenceOp(IRDLOperation):
    """Orders what the threads did to registers before products that take them."""

    name = "nvvm.wgmma.fence.aligned"
    assembly_format = "attr-dict"


@irdl_op_definition
class CommitGroupOp(IRDLOperation):
    """Makes one group of the products that the warp began since the last one."""

    name = "nvvm.wgmma.commit.group.sync.aligned"
    assembly_format = "attr-dict"


@irdl_op_definition
class FenceProxyOp(IRDLOperation):
    """Shows what the thread has written to those that read by another way."""

    name = "nvvm.fence.proxy"
    kind = prop_def(ProxyKindAttr)
    space = opt_prop_def(SharedSpaceAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"


@irdl_op_definition
class MmaAsyncOp(IRDLOperation):
    """a b + sums, of 64 rows and 32 bytes of the depth, beside what the threads do next."""

    name = "nvvm.wgmma.mma_async"
    sums = operand_def(LLVMStructType)
    a = operand_def(I64)
    b = operand_def(I64)
    shape = prop_def(ShapeAttr)
    type_a = prop_def(TypeAttr, prop_name="typeA")
    type_b = prop_def(TypeAttr, prop_name="typeB")
    type_d = prop_def(TypeAttr, prop_name="typeD")
    scale_d = prop_def(ScaleOutAttr, prop_name="scaleD")
    scale_a = prop_def(ScaleInAttr, prop_name="scaleA")
    scale_b = prop_def(ScaleInAttr, prop_name="scaleB")
    layout_a = prop_def(LayoutAttr, prop_name="layoutA")
    layout_b = prop_def(LayoutAttr, prop_name="layoutB")
    result = result_def(LLVMStructType)
    assembly_format = (
        "$a `,` $b `,` $sums `,` $shape `,` `D` `[` $typeD `,` $scaleD `]` `,` "
        "`A` `[` $typeA `,` $scaleA `,` $layoutA `]` `,` "
        "`B` `[` $typeB `,` $scaleB `,` $layoutB `]` "
        "attr-dict `:` type($sums) `->` type($result)"
    )

    @property
    def columns(self) -> int:
        """The columns of the product."""
        return self.shape.n.data

    def verify_(self) -> None:
        shape, is_byte = self.shape, self.type_a.data in BYTES
        self.check_factors(is_byte)
        if shape.m.data != ROWS or shape.k.data * SIZES[self.type_a.data] != STEP_BYTES:
            raise VerifyException(
                f"{self.name}: multiplies {ROWS} rows by {STEP_BYTES} bytes of the depth"
            )
        # Of bytes there are fewer products: 8, 16, 24, 32, 48, ... columns.
        unit = 16 if is_byte and self.columns > ROWS // 2 else 8
        if self.columns % unit or not 8 <= self.columns <= MOST_COLUMNS:
            raise VerifyException(
                f"{self.name}: no product with {self.columns} columns"
            )
        self.check_sums(is_byte)

    def check_factors(self, is_byte: bool) -> None:
        """Raise VerifyException for factors that are not multiplied with each other."""
        a, b = self.type_a.data, self.type_b.data
        if a not in SIZES or not (a == b or (is_byte and b in BYTES)):
            raise VerifyException(f"{self.name}: no product of {a} and {b}")
        if (self.layout_a.data, self.layout_b.data) != ("row", "col"):
            raise VerifyException(f"{self.name}: rows of tiles run along the depth")

    def check_sums(self, is_byte: bool) -> None:
        """Raise VerifyException for sums that are not those of the product."""
        if self.type_d.data != ("s32" if is_byte else "f32"):
            raise VerifyException(f"{self.name}: no sums of {self.type_d.data}")
        sums = sums_type(self.columns, SUMS[self.type_d.data])
        if self.sums.type != sums or self.result.type != sums:
            raise VerifyException(f"{self.name}: the sums of a thread are {sums}")


OPERATIONS = [FenceOp, CommitGroupOp, FenceProxyOp, MmaAsyncOp]
ATTRIBUTES = [
    TypeAttr,
    ScaleOutAttr,
    ScaleInAttr,
    LayoutAttr,
    ProxyKindAttr,
    SharedSpaceAttr,
    ShapeAttr,
]
