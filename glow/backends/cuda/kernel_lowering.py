"""The lowering of one kernel: how values lie in registers, and where shared memory is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntAttr,
    SymbolRefAttr,
    VectorType,
    i8,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cuda.kernels.gpu_builder import GpuKernel, barrier_names
from glow.backends.cuda.kernels.tiles.tensor_core_tile import U8
from glow.dialects import llvm
from glow.dialects.gpu import bulk_copies, nvgpu, warpgroups
from glow.dialects.tensor_types import element_of
from glow.lowering.llvm_ir.function import BasicBlock
from glow.lowering.loops_to_llvm.builder import gep_properties
from glow.lowering.loops_to_llvm.function_lowering import (
    Address,
    FunctionLowering,
    Rule,
)
from glow.lowering.loops_to_llvm.layout import POINTER, RegisterLayout
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_vector

GLOBAL, SHARED = (LLVMPointerType(IntAttr(space)) for space in (1, 3))
WIDEST = 16
"""The bytes of the largest access of a thread."""
DYNAMIC = "glow_shared_memory"
"""The symbol of what a launch gives."""
NO_REGISTERS = RegisterLayout((), 0, (), i32, 0, (), ())


class KernelLowering(FunctionLowering):
    """Lowers a kernel: vectors are as aligned as they are long, tokens are nothing.

    Fragments are taken apart once in a block: most are multiplied with several others.
    """

    has_intrinsics = False

    def __init__(
        self, kernel: GpuKernel, rules: Mapping[type[Operation], Rule], target: Target
    ) -> None:
        super().__init__(rules, replace(target, index_bits=32))
        self.barriers = barrier_names(kernel.function)
        self.places = places_of(kernel)
        self.words: dict[tuple[SSAValue, BasicBlock], Sequence[SSAValue]] = {}

    def words_of(self, fragment: SSAValue, register: Attribute) -> Sequence[SSAValue]:
        """The registers of a factor's fragment, of a type that an intrinsic takes."""
        key = fragment, self.builder.block
        if key not in self.words:
            self.words[key] = [
                value
                if value.type == register
                else self.builder.emit(xllvm.BitcastOp, (value,), register)
                for value in self.registers(fragment)
            ]
        return self.words[key]

    def sums_of(self, fragment: SSAValue) -> Sequence[SSAValue]:
        """The four sums of a fragment of results."""
        key = fragment, self.builder.block
        if key not in self.words:
            rows = self.registers(fragment)
            extract = self.builder.extract
            self.words[key] = [extract(row, lane) for row in rows for lane in range(2)]
        return self.words[key]

    def alignment(self, layout: RegisterLayout, type_: Attribute) -> int:
        """Returns the alignment in memory of a register of a layout."""
        size = layout.element_bytes
        if is_vector(type_):
            size *= type_.get_shape()[0]
        return min(size & -size, WIDEST)

    def layout_of(self, type_: Attribute) -> RegisterLayout:
        """Returns the register layout of a type."""
        if isinstance(type_, nvgpu.TokenType | bulk_copies.BarrierTokenType):
            return NO_REGISTERS
        if isinstance(type_, bulk_copies.TensorMapType):
            return scalar_layout(POINTER)
        if isinstance(type_, warpgroups.DescriptorType):
            return scalar_layout(i64)
        if isinstance(type_, warpgroups.AccumulatorType):
            element = element_of(type_.fragmented)
            return sums_layout([element] * type_.fragment.element_count())
        if isinstance(type_, LLVMStructType):
            return sums_layout(type_.types.data)
        if is_vector(type_) and type_.element_type == U8:
            type_ = VectorType(i8, type_.get_shape())
        return super().layout_of(type_)

    def shared_pointer(self, name: str) -> SSAValue:
        """Returns shared memory by its name, as a pointer that says nothing of its space: LLVM
        finds it again.
        """
        builder, place = self.builder, self.places.get(name)
        properties = {"global_name": SymbolRefAttr(name if place is None else DYNAMIC)}
        symbol = builder.emit_in_prologue(xllvm.AddressOfOp, (), SHARED, properties)
        if place:
            moved = gep_properties(place)
            symbol = builder.emit_in_prologue(xllvm.GEPOp, (symbol,), SHARED, moved)
        return builder.emit_in_prologue(llvm.AddrSpaceCastOp, (symbol,), POINTER)

    def cast(self, address: Address, space: LLVMPointerType) -> SSAValue:
        """Returns a pointer into a memory space."""
        pointer = self.builder.offset_constant(*address)
        return self.builder.emit(llvm.AddrSpaceCastOp, (pointer,), space)

    def parts(
        self, name: str, operands: Sequence[SSAValue], type_: Attribute, count: int
    ) -> list[SSAValue]:
        """Returns the parts of an intrinsic's result, a structure of one type."""
        struct = LLVMStructType.from_type_list([type_] * count)
        return self.parts_of(self.builder.intrinsic(name, operands, struct))

    def parts_of(self, result: SSAValue) -> list[SSAValue]:
        """Returns the parts of a structure of one type."""
        assert isinstance(result.type, LLVMStructType)
        type_, *rest = result.type.types
        return [
            self.builder.emit(
                xllvm.ExtractValueOp,
                (result,),
                type_,
                {"position": DenseArrayBase.from_list(i64, [number])},
            )
            for number in range(1 + len(rest))
        ]


def sums_layout(types: Sequence[Attribute]) -> RegisterLayout:
    """The layout of sums, of which each is a register."""
    return scalar_layout(types[0])._replace(types=tuple(types))


def scalar_layout(type_: Attribute) -> RegisterLayout:
    """The layout of what is one register."""
    return RegisterLayout((), 0, ((0, 0),), type_, 8, (type_,), (type_,))


def places_of(kernel: GpuKernel) -> dict[str, int]:
    """Where shared buffers are in what a launch gives; none that the kernel declares."""
    if not kernel.dynamic_bytes:
        return {}
    starts = accumulate((buffer.size for buffer in kernel.shared), initial=0)
    return {
        buffer.name: start for buffer, start in zip(kernel.shared, starts, strict=False)
    }
