"""Appends instructions to blocks, with cached types and properties.

Instructions are named by operations of the llvm dialect, which they become where a pass wants
them. Every property that is not the operation's default stands in a cached dictionary here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    VectorType,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import llvm
from glow.dialects.bounded_cache import bounded_cache, identity_cache
from glow.lowering.llvm_ir.function import VOID, BasicBlock, Instruction
from glow.lowering.loops_to_llvm.layout import (
    POINTER,
    element_of,
    integer_width,
    lanes_of,
    register_type,
)
from glow.lowering.type_guards import is_integer, is_vector
from glow.lowering.type_numbers import TypeNumbers

Properties = Mapping[str, Attribute]
NO_PROPERTIES: Properties = {}
NO_FLAGS = FastMathAttr(None)
NO_WRAP_FLAGS = IntegerAttr(0, i32)
NO_OVERFLOW: Properties = {"overflowFlags": NO_WRAP_FLAGS}
FLOAT: Properties = {"fastmathFlags": NO_FLAGS}
GEP_LIMIT = 1 << 31

SIGNED_LESS = 2
NOT_EQUAL = 1


@bounded_cache
def gep_properties(index: int) -> Properties:
    return {
        "rawConstantIndices": DenseArrayBase.from_list(i32, [index]),
        "elem_type": i8,
        "noWrapFlags": NO_WRAP_FLAGS,
    }


@bounded_cache
def access_properties(alignment: int) -> Properties:
    return {"alignment": IntegerAttr(alignment, i64), "ordering": IntegerAttr(0, i64)}


@bounded_cache
def mask_properties(mask: tuple[int, ...]) -> Properties:
    return {"mask": DenseArrayBase.from_list(i32, mask)}


@bounded_cache
def predicate_properties(predicate: int) -> Properties:
    return {"predicate": IntegerAttr(predicate, i64)}


@bounded_cache
def segments(*sizes: int) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(i32, sizes)


@bounded_cache
def symbol_name(name: str) -> StringAttr:
    return StringAttr(name)


def intrinsic_properties(name: str, arguments: int, flags: FastMathAttr) -> Properties:
    return {
        "intrin": symbol_name(name),
        "op_bundle_sizes": segments(),
        "operandSegmentSizes": segments(arguments, 0),
        "fastmathFlags": flags,
    }


@bounded_cache
def call_properties(callee: str, arguments: int) -> Properties:
    return {
        "callee": SymbolRefAttr(callee),
        "fastmathFlags": NO_FLAGS,
        "CConv": xllvm.CallingConventionAttr("ccc"),
        "TailCallKind": xllvm.TailCallKindAttr(xllvm.TailCallKind.NONE),
        "op_bundle_sizes": segments(),
        "operandSegmentSizes": segments(arguments, 0),
    }


@bounded_cache
def mangled(name: str, type_: Attribute) -> str:
    """Returns the name of an intrinsic overloaded on one type: `llvm.fma.v16f32`."""
    if is_vector(type_):
        return f"{name}.v{lanes_of(type_)}{element_of(type_)}"
    return f"{name}.{type_}"


def number_attribute(number: float, element: Attribute) -> Attribute:
    """Returns the attribute of a scalar constant."""
    if is_integer(element):
        return integer_attribute(int(number), element)
    return FloatAttr(float(number), element)  # pyright: ignore[reportArgumentType, reportCallIssue]


@bounded_cache
def integer_attribute(number: int, element: IntegerType) -> Attribute:
    """Returns the attribute of a whole number, wrapped to the bits that there are."""
    return IntegerAttr(number, element, truncate_bits=True)


def vector_attribute(
    numbers: Sequence[float | int], type_: VectorType[Attribute]
) -> Attribute:
    """Returns the attribute of a vector constant; one number makes a splat."""
    return DenseIntOrFPElementsAttr.from_list(type_, numbers)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]


class LlvmBuilder:
    """Appends to `block`; constants and stack buffers go to the entry's `prologue`."""

    def __init__(self, index: IntegerType = i64) -> None:
        """`index` is the type of addresses and trip counts."""
        self.index = index
        self.block = BasicBlock()
        self.prologue = BasicBlock()
        self.mangled: dict[tuple[str, int], str] = {}
        self.intrinsics: dict[tuple[str, int, int], Properties] = {}
        self.constants: dict[tuple[str, int], SSAValue] = {}
        self.type_number = TypeNumbers()

    def emit(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute,
        properties: Properties = NO_PROPERTIES,
    ) -> SSAValue:
        """Appends an instruction with a result and returns that."""
        instruction = Instruction(op_class, operands, type_, properties)
        self.block.instructions.append(instruction)
        return instruction

    def emit_no_result(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        properties: Properties = NO_PROPERTIES,
        successors: Sequence[BasicBlock] = (),
    ) -> None:
        """Appends an instruction without result."""
        self.block.instructions.append(
            Instruction(op_class, operands, VOID, properties, successors)
        )

    # Constants -----------------------------------------------------------------

    def emit_in_prologue(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute,
        properties: Properties = NO_PROPERTIES,
    ) -> SSAValue:
        """Appends an instruction to the head of the entry block and returns its result."""
        instruction = Instruction(op_class, operands, type_, properties)
        self.prologue.instructions.append(instruction)
        return instruction

    def constant(self, value: Attribute, type_: Attribute) -> SSAValue:
        """Returns a new constant; `number` and callers keep those that recur."""
        return self.emit_in_prologue(xllvm.ConstantOp, (), type_, {"value": value})

    def number(self, number: float, type_: Attribute) -> SSAValue:
        """Returns a scalar constant or a splat."""
        # As text, which tells 0.0 from -0.0 and 1 from 1.0 where equality does not.
        key = (str(number), self.type_number(type_))
        found = self.constants.get(key)
        if found is None:
            if is_vector(type_):
                value = vector_attribute([number], type_)
            else:
                value = number_attribute(number, type_)
            found = self.constants[key] = self.constant(value, type_)
        return found

    def integer(self, number: int) -> SSAValue:
        """Returns a constant of the type of indices."""
        return self.number(number, self.index)

    def poison(self, type_: Attribute) -> SSAValue:
        """Returns a value that nothing depends on."""
        key = ("poison", self.type_number(type_))
        found = self.constants.get(key)
        if found is None:
            found = self.emit_in_prologue(llvm.PoisonOp, (), type_)
            self.constants[key] = found
        return found

    # Integers and addresses ----------------------------------------------------

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.emit(xllvm.AddOp, (lhs, rhs), lhs.type, NO_OVERFLOW)

    def multiply(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.emit(xllvm.MulOp, (lhs, rhs), lhs.type, NO_OVERFLOW)

    def scale(self, value: SSAValue, factor: int) -> SSAValue:
        """Returns an index times a constant."""
        return value if factor == 1 else self.multiply(value, self.integer(factor))

    def compare(self, predicate: int, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Returns the i1 (or vector of i1) of an integer comparison."""
        result = register_type(i1, lanes_of(lhs.type))
        properties = predicate_properties(predicate)
        return self.emit(xllvm.ICmpOp, (lhs, rhs), result, properties)

    def offset(self, pointer: SSAValue, distance: SSAValue) -> SSAValue:
        """Returns a pointer advanced by a number of bytes.

        Plain getelementptr: a partial sum may leave the buffer though the whole address
        does not, which `inbounds` would make poison.
        """
        properties = gep_properties(xllvm.GEP_USE_SSA_VAL)
        return self.emit(xllvm.GEPOp, (pointer, distance), pointer.type, properties)

    def offset_constant(self, pointer: SSAValue, distance: int) -> SSAValue:
        """Returns a pointer advanced by a constant number of bytes."""
        if not distance:
            return pointer
        if not -GEP_LIMIT < distance < GEP_LIMIT:
            return self.offset(pointer, self.integer(distance))
        properties = gep_properties(distance)
        return self.emit(xllvm.GEPOp, (pointer,), pointer.type, properties)

    # Memory --------------------------------------------------------------------

    def load(
        self, pointer: SSAValue, distance: int, type_: Attribute, alignment: int
    ) -> SSAValue:
        """Returns the register at `pointer + distance`; i1 elements are bytes."""
        address = self.offset_constant(pointer, distance)
        properties = access_properties(alignment)
        memory_type = boolean_bytes(type_)
        value = self.emit(xllvm.LoadOp, (address,), memory_type, properties)
        if memory_type is type_:
            return value
        return self.compare(NOT_EQUAL, value, self.number(0, memory_type))

    def store(
        self, value: SSAValue, pointer: SSAValue, distance: int, alignment: int
    ) -> None:
        """Stores a register at `pointer + distance`."""
        address = self.offset_constant(pointer, distance)
        memory_type = boolean_bytes(value.type)
        if memory_type is not value.type:
            value = self.emit(xllvm.ZExtOp, (value,), memory_type)
        properties = access_properties(alignment)
        self.emit_no_result(xllvm.StoreOp, (value, address), properties)

    def alloca(self, size: int, alignment: int) -> SSAValue:
        """Returns a stack buffer of `size` bytes, allocated once per call."""
        array = xllvm.LLVMArrayType(size, i8)
        one = self.integer(1)
        properties = {"alignment": IntegerAttr(alignment, i64), "elem_type": array}
        return self.emit_in_prologue(xllvm.AllocaOp, (one,), POINTER, properties)

    # Vectors -------------------------------------------------------------------

    def insert(self, value: SSAValue, vector: SSAValue, lane: int) -> SSAValue:
        operands = (vector, value, self.integer(lane))
        return self.emit(xllvm.InsertElementOp, operands, vector.type)

    def extract(self, vector: SSAValue, lane: SSAValue | int) -> SSAValue:
        position = self.integer(lane) if isinstance(lane, int) else lane
        element = element_of(vector.type)
        return self.emit(llvm.ExtractElementOp, (vector, position), element)

    def shuffle(self, lhs: SSAValue, rhs: SSAValue, mask: tuple[int, ...]) -> SSAValue:
        """Returns the lanes of `lhs` and `rhs`, numbered through, that `mask` names."""
        result = register_type(element_of(lhs.type), len(mask))
        properties = mask_properties(mask)
        return self.emit(xllvm.ShuffleVectorOp, (lhs, rhs), result, properties)

    def splat(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Returns a vector with the scalar in every lane."""
        one = self.insert(value, self.poison(type_), 0)
        return self.shuffle(one, self.poison(type_), (0,) * lanes_of(type_))

    def select(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.emit(llvm.SelectOp, (cond, lhs, rhs), lhs.type, FLOAT)

    # Calls and branches --------------------------------------------------------

    def intrinsic(
        self,
        name: str,
        operands: Sequence[SSAValue],
        type_: Attribute,
        flags: FastMathAttr = NO_FLAGS,
    ) -> SSAValue:
        """Returns the call of an intrinsic by its full name."""
        key = (name, len(operands), id(flags))
        properties = self.intrinsics.get(key)
        if properties is None:
            properties = intrinsic_properties(name, len(operands), flags)
            self.intrinsics[key] = properties
        return self.emit(xllvm.CallIntrinsicOp, operands, type_, properties)

    def intrinsic_call(self, name: str, operands: Sequence[SSAValue]) -> None:
        """Calls an intrinsic without result."""
        properties = intrinsic_properties(name, len(operands), NO_FLAGS)
        self.emit_no_result(xllvm.CallIntrinsicOp, operands, properties)

    def overloaded(
        self, name: str, operands: Sequence[SSAValue], flags: FastMathAttr = NO_FLAGS
    ) -> SSAValue:
        """Returns the call of an intrinsic whose operands and result have one type."""
        type_ = operands[0].type
        key = (name, self.type_number(type_))
        full = self.mangled.get(key)
        if full is None:
            full = self.mangled[key] = mangled(name, type_)
        return self.intrinsic(full, operands, type_, flags)

    def call(
        self, callee: str, operands: Sequence[SSAValue], type_: Attribute | None
    ) -> Sequence[SSAValue]:
        """Calls a function; returns its result, or nothing for void."""
        properties = call_properties(callee, len(operands))
        if type_ is not None:
            return (self.emit(xllvm.CallOp, operands, type_, properties),)
        self.emit_no_result(xllvm.CallOp, operands, properties)
        return ()

    def branch(self, target: BasicBlock, values: Sequence[SSAValue] = ()) -> None:
        self.emit_no_result(xllvm.BrOp, tuple(values), successors=(target,))

    def branch_if(
        self,
        cond: SSAValue,
        then: BasicBlock,
        then_values: Sequence[SSAValue],
        otherwise: BasicBlock,
        otherwise_values: Sequence[SSAValue],
    ) -> None:
        sizes = segments(1, len(then_values), len(otherwise_values))
        self.emit_no_result(
            xllvm.CondBrOp,
            (cond, *then_values, *otherwise_values),
            {"operandSegmentSizes": sizes},
            (then, otherwise),
        )


@identity_cache
def boolean_bytes(type_: Attribute) -> Attribute:
    """Returns the type in memory of a register: bytes for i1, else the type itself."""
    if integer_width(element_of(type_)) == 1:
        return register_type(i8, lanes_of(type_))
    return type_
