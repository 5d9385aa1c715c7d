"""Products of whole tiles in shared memory by four warps: the part of `nvgpu` that is Hopper's
`wgmma`.

    %a = nvgpu.warpgroup.generate.descriptor %tile, %map : memref<64x64xf16, 3>, !map
        -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !sums
    %sums = nvgpu.warpgroup.mma %a, %b, %zero {waitGroup = 1 : i64} : !a, !b, !sums -> !sums

The sums lie in the threads' registers. A cast gives each thread those it has:

    %v = builtin.unrealized_conversion_cast %sums
        : !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>> to vector<16x2x2xf32>

Lane 4 g + t of warp w has rows 16 w + g and 16 w + g + 8, columns 8 j + 2 t and the next, as
vector<j x rows x columns> (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    I64,
    FloatTF32Type,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from glow.dialects.gpu.bulk_copies import TensorMapType, map_of
from glow.dialects.gpu.shared_memory import WARP, is_shared
from glow.dialects.tensor_types import element_of, shape_of

WARPGROUP = 4 * WARP
ROWS = 64
"""The rows of a product of a warpgroup."""
MOST_COLUMNS = 256
STEP_BYTES = 32
"""The bytes of the depth that one `wgmma` multiplies."""
TF32 = FloatTF32Type()
ELEMENTS: Mapping[Attribute, Attribute] = {f16: f32, bf16: f32, TF32: f32}
"""What is multiplied, and the type of the sums."""


def factor_element(element: Attribute) -> Attribute:
    """The type of a factor whose tile has such elements: of f32 19 bits are read."""
    return TF32 if element == f32 else element


def factor_bytes(element: Attribute) -> int:
    """The size of an element of a factor."""
    return 4 if element == TF32 else 2


class NamedType(ParametrizedAttribute, TypeAttribute):
    """A type of one parameter, which its text names."""

    @classmethod
    def word(cls) -> str:
        """The parameter's name."""
        (name,) = (field for field, _ in cls.get_irdl_definition().parameters)
        return name

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.word()} = ")
            printer.print_attribute(self.parameters[0])

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword(cls.word())
            parser.parse_punctuation("=")
            return [parser.parse_type()]


@irdl_attr_definition
class DescriptorType(NamedType):
    """A tile as tensor cores see it: [rows, depth] of the first factor, [depth, columns] of the
    second, however it lies in memory.
    """

    name = "nvgpu.warpgroup.descriptor"
    tensor: MemRefType[Attribute]


@irdl_attr_definition
class AccumulatorType(NamedType):
    """The sums of a warpgroup, in the registers of its threads."""

    name = "nvgpu.warpgroup.accumulator"
    fragmented: VectorType[Attribute]

    @property
    def fragment(self) -> VectorType[Attribute]:
        """What a thread has of the sums."""
        rows, columns = shape_of(self.fragmented)
        pieces = rows // ROWS * columns // 8
        return VectorType(element_of(self.fragmented), [pieces, 2, 2])


def tensor_of(value: SSAValue) -> MemRefType[Attribute]:
    """The type of the tile that a descriptor is of."""
    assert isinstance(value.type, DescriptorType)
    return value.type.tensor


def sums_of(value: SSAValue) -> AccumulatorType:
    """The type of sums."""
    assert isinstance(value.type, AccumulatorType)
    return value.type


@irdl_op_definition
class GenerateDescriptorOp(IRDLOperation):
    """A tile that a tensor map brought, as a factor."""

    name = "nvgpu.warpgroup.generate.descriptor"
    tensor = operand_def(MemRefType)
    map_ = operand_def(TensorMapType)
    descriptor = result_def(DescriptorType)
    assembly_format = (
        "$tensor `,` $map_ attr-dict `:` type($tensor) `,` type($map_) `->` "
        "type($descriptor)"
    )

    def verify_(self) -> None:
        if not is_shared(self.tensor.type):
            raise VerifyException(f"{self.name}: the tile is not in shared memory")
        if map_of(self.map_).swizzle.data != "swizzle_128b":
            raise VerifyException(f"{self.name}: tensor cores read swizzle_128b alone")
        if shape_of(self.tensor.type) != shape_of(map_of(self.map_).tensor):
            raise VerifyException(f"{self.name}: the tile is none of the tensor map")
        read = factor_element(element_of(self.tensor.type))
        if tensor_of(self.descriptor).element_type != read:
            raise VerifyException(f"{self.name}: tensor cores read it as {read}")


@irdl_op_definition
class InitAccumulatorOp(IRDLOperation):
    """Sums that are zero."""

    name = "nvgpu.warpgroup.mma.init.accumulator"
    sums = result_def(AccumulatorType)
    assembly_format = "attr-dict `->` type($sums)"


@irdl_op_definition
class MmaOp(IRDLOperation):
    """a b + c beside what the threads do next: a group of `wgmma`, of which at most `waitGroup`
    may not be done when the operation is (1 without it). Sums of a group that may not be done
    must not be read, nor its tiles written.
    """

    name = "nvgpu.warpgroup.mma"
    a = operand_def(DescriptorType)
    b = operand_def(DescriptorType)
    c = operand_def(AccumulatorType)
    wait_group = opt_prop_def(IntegerAttr[I64], prop_name="waitGroup")
    transpose_a = opt_prop_def(UnitAttr, prop_name="transposeA")
    transpose_b = opt_prop_def(UnitAttr, prop_name="transposeB")
    res = result_def(AccumulatorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c) `->` "
        "type($res)"
    )

    @property
    def pending(self) -> int:
        """The groups that may not be done when the operation is."""
        return 1 if self.wait_group is None else self.wait_group.value.data

    def verify_(self) -> None:
        a, b = tensor_of(self.a), tensor_of(self.b)
        c = sums_of(self.c).fragmented
        element = a.element_type
        are_matrices = len(shape_of(a)) == len(shape_of(b)) == 2
        if element not in ELEMENTS or b.element_type != element or not are_matrices:
            raise VerifyException(f"{self.name}: no product of {a} and {b}")
        if self.res.type != self.c.type or element_of(c) != ELEMENTS[element]:
            raise VerifyException(f"{self.name}: the sums are of {ELEMENTS[element]}")
        (m, k), (other, n) = shape_of(a), shape_of(b)
        if other != k or shape_of(c) != (m, n):
            raise VerifyException(f"{self.name}: {a} times {b} is not {c}")
        if m % ROWS or n % 8 or not 8 <= n <= MOST_COLUMNS:
            raise VerifyException(
                f"{self.name}: multiplies {ROWS} rows by 8, 16, ..., {MOST_COLUMNS} columns"
            )
        if k * factor_bytes(element) % STEP_BYTES:
            raise VerifyException(
                f"{self.name}: multiplies {STEP_BYTES} bytes of the depth at a time"
            )
        if self.transpose_a is not None or self.transpose_b is not None:
            raise VerifyException(f"{self.name}: rows of tiles run along the depth")


OPERATIONS = [GenerateDescriptorOp, InitAccumulatorOp, MmaOp]
TYPES = [DescriptorType, AccumulatorType]
