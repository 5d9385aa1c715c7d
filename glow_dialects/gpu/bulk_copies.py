"""Copies of whole tiles to shared memory, and the barriers that say when they are there: the part
of `nvgpu` that Hopper's tensor memory accelerator (TMA) brought.

A tensor map says which buffer a tile is of, and how it lies in shared memory. A barrier has
phases: one ends when as many threads have arrived as it was made for, and as many bytes as were
expected. Threads wait for a phase by its parity.

    %full = nvgpu.mbarrier.create -> !barriers
    nvgpu.mbarrier.init %full[%i], %count : !barriers
    nvgpu.mbarrier.arrive.expect_tx %full[%i], %bytes : !barriers
    nvgpu.tma.async.load %map[%k, %m, %b], %full[%i] to %tile : !map, !barriers -> memref<...>
    nvgpu.mbarrier.try_wait.parity %full[%i], %parity, %ticks : !barriers
    %t = nvgpu.mbarrier.arrive %empty[%i] : !barriers -> !nvgpu.mbarrier.token
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I1,
    I16,
    IndexType,
    IntAttr,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from glow.dialects.gpu.shared_memory import element_bits, is_shared
from glow.dialects.tensor_types import element_of, shape_of

SWIZZLE_BYTES = {"swizzle_32b": 32, "swizzle_64b": 64, "swizzle_128b": 128}
"""The bytes that a row of a tile has at most; chunks of 16 bytes change places in such rows."""
CHOICES = {
    "swizzle": ("none", *SWIZZLE_BYTES),
    "l2promo": ("none", "l2promo_64b", "l2promo_128b", "l2promo_256b"),
    "oob": ("zero", "nan"),
    "interleave": ("none", "interleave_16b", "interleave_32b"),
}
"""The words of a tensor map."""
MOST_ROWS = 256
"""The extent of a tile along any axis (CUDA driver API, `cuTensorMapEncodeTiled`)."""
MOST_AXES = 5


@irdl_attr_definition
class TensorMapType(ParametrizedAttribute, TypeAttribute):
    """How tiles of a buffer lie in shared memory: `tensor` is the type of one."""

    name = "nvgpu.tensormap.descriptor"
    tensor: MemRefType[Attribute]
    swizzle: StringAttr
    l2promo: StringAttr
    oob: StringAttr
    interleave: StringAttr

    @staticmethod
    def of(tensor: MemRefType[Attribute]) -> TensorMapType:
        """A map whose tiles are rows of 128 bytes that tensor cores read; zeros are outside."""
        words = ("swizzle_128b", "l2promo_128b", "zero", "none")
        return TensorMapType(tensor, *map(StringAttr, words))

    def verify(self) -> None:
        if not is_shared(self.tensor):
            raise VerifyException(f"{self.name}: a tile is not in shared memory")
        for word, known in CHOICES.items():
            given: StringAttr = getattr(self, word)
            if given.data not in known:
                raise VerifyException(f"{self.name}: no {word} '{given.data}'")
        shape = shape_of(self.tensor)
        if not 1 <= len(shape) <= MOST_AXES or max(shape) > MOST_ROWS:
            raise VerifyException(
                f"{self.name}: a tile has 1 to {MOST_AXES} axes of at most {MOST_ROWS}"
            )
        row = shape[-1] * element_bits(self.tensor) // 8
        if row % 16 or row > SWIZZLE_BYTES.get(self.swizzle.data, row):
            raise VerifyException(
                f"{self.name}: no row of {row} bytes with {self.swizzle.data}"
            )

    @property
    def tile_bytes(self) -> int:
        """The size of a tile."""
        return self.tensor.element_count() * element_bits(self.tensor) // 8

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("tensor = ")
            printer.print_attribute(self.tensor)
            for word in CHOICES:
                printer.print_string(f", {word} = {getattr(self, word).data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("tensor")
            parser.parse_punctuation("=")
            found: list[Attribute] = [parser.parse_type()]
            for word in CHOICES:
                parser.parse_punctuation(",")
                parser.parse_keyword(word)
                parser.parse_punctuation("=")
                found.append(StringAttr(parser.parse_identifier()))
        return found


@irdl_attr_definition
class BarrierGroupType(ParametrizedAttribute, TypeAttribute):
    """Some barriers of 8 bytes in shared memory."""

    name = "nvgpu.mbarrier.group"
    memory_space: Attribute
    count: IntAttr

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("memorySpace = ")
            printer.print_attribute(self.memory_space)
            printer.print_string(f", num_barriers = {self.count.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("memorySpace")
            parser.parse_punctuation("=")
            space = parser.parse_attribute()
            parser.parse_punctuation(",")
            parser.parse_keyword("num_barriers")
            parser.parse_punctuation("=")
            return [space, IntAttr(parser.parse_integer())]


@irdl_attr_definition
class BarrierTokenType(ParametrizedAttribute, TypeAttribute):
    """The phase of a barrier in which a thread arrived."""

    name = "nvgpu.mbarrier.token"


def map_of(value: SSAValue) -> TensorMapType:
    """The type of a tensor map."""
    assert isinstance(value.type, TensorMapType)
    return value.type


def group_of(value: SSAValue) -> BarrierGroupType:
    """The type of barriers."""
    assert isinstance(value.type, BarrierGroupType)
    return value.type


@irdl_op_definition
class CreateOp(IRDLOperation):
    """Barriers of the block, which are not yet ready."""

    name = "nvgpu.mbarrier.create"
    barriers = result_def(BarrierGroupType)
    assembly_format = "attr-dict `->` type($barriers)"


@irdl_op_definition
class InitOp(IRDLOperation):
    """Makes a barrier ready for phases in which `count` threads arrive; one thread does it."""

    name = "nvgpu.mbarrier.init"
    barriers = operand_def(BarrierGroupType)
    count = operand_def(IndexType())
    number = operand_def(IndexType())
    assembly_format = (
        "$barriers `[` $number `]` `,` $count attr-dict `:` type($barriers)"
    )


@irdl_op_definition
class ArriveOp(IRDLOperation):
    """Arrives at a barrier: what the thread did before is done for those that wait."""

    name = "nvgpu.mbarrier.arrive"
    barriers = operand_def(BarrierGroupType)
    number = operand_def(IndexType())
    token = result_def(BarrierTokenType)
    assembly_format = (
        "$barriers `[` $number `]` attr-dict `:` type($barriers) `->` type($token)"
    )


@irdl_op_definition
class ExpectOp(IRDLOperation):
    """Arrives at a barrier whose phase ends when `bytes` more bytes are there, too."""

    name = "nvgpu.mbarrier.arrive.expect_tx"
    barriers = operand_def(BarrierGroupType)
    bytes_ = operand_def(IndexType())
    number = operand_def(IndexType())
    assembly_format = (
        "$barriers `[` $number `]` `,` $bytes_ attr-dict `:` type($barriers)"
    )


@irdl_op_definition
class TryWaitOp(IRDLOperation):
    """Waits until the phase of a parity has ended; `ticks` is how long a thread may sleep."""

    name = "nvgpu.mbarrier.try_wait.parity"
    barriers = operand_def(BarrierGroupType)
    parity = operand_def(I1)
    ticks = operand_def(IndexType())
    number = operand_def(IndexType())
    assembly_format = (
        "$barriers `[` $number `]` `,` $parity `,` $ticks attr-dict `:` type($barriers)"
    )


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Begins a copy of a tile, whose bytes a barrier counts; what is outside is zero.

    The coordinates are of the innermost axis first; one thread does it.
    """

    name = "nvgpu.tma.async.load"
    target = operand_def(MemRefType)
    barriers = operand_def(BarrierGroupType)
    map_ = operand_def(TensorMapType)
    coordinates = var_operand_def(IndexType())
    number = operand_def(IndexType())
    multicast_mask = opt_operand_def(I16)
    predicate = opt_operand_def(I1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$map_ `[` $coordinates `]` `,` $barriers `[` $number `]` `to` $target "
        "(`multicast_mask` `=` $multicast_mask^)? (`,` `predicate` `=` $predicate^)? "
        "attr-dict `:` type($map_) `,` type($barriers) `->` type($target)"
    )

    def verify_(self) -> None:
        tile = map_of(self.map_).tensor
        if not is_shared(self.target.type):
            raise VerifyException(f"{self.name}: the target is not in shared memory")
        if element_of(self.target.type) != tile.element_type:
            raise VerifyException(f"{self.name}: the elements differ in type")
        if shape_of(self.target.type) != shape_of(tile):
            raise VerifyException(f"{self.name}: the target is no tile of {tile}")
        if len(self.coordinates) != len(shape_of(tile)):
            raise VerifyException(
                f"{self.name}: expected {len(shape_of(tile))} coordinates"
            )


OPERATIONS = [CreateOp, InitOp, ArriveOp, ExpectOp, TryWaitOp, LoadOp]
TYPES = [TensorMapType, BarrierGroupType, BarrierTokenType]
