"""Rules for the conversions of `arith`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import math
from xdsl.dialects.builtin import BFloat16Type, f32, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith, llvm
from glow.dialects.bounded_cache import identity_cache
from glow.lowering.loops_to_llvm.builder import (
    FLOAT,
    NO_PROPERTIES,
    Properties,
    mangled,
    predicate_properties,
)
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Registers,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import (
    boolean_like,
    integer_width,
    lanes_of,
    register_type,
)
from glow.lowering.loops_to_llvm.lazy import is_lazy
from glow.lowering.loops_to_llvm.narrowing import (
    are_neighbours,
    joined_bytes,
    low_bytes,
    narrows_by_saturation,
    nearest,
    rounded_by_sum,
    rounds,
    rounds_by_sum,
    saturated_byte,
    saturated_bytes,
)

Maker = Callable[[SSAValue], SSAValue]


def map_registers(
    low: FunctionLowering, registers: Registers, make: Maker
) -> Registers:
    """Returns the registers through a function; lazily loaded ones stay lazy."""
    if is_lazy(registers):
        return registers.map(make)
    return [make(register) for register in registers]


def conversion(
    op_class: type[Operation], properties: Properties = NO_PROPERTIES
) -> Callable[[FunctionLowering, Operation], None]:
    """Returns the rule that maps a conversion register by register."""

    def rule(low: FunctionLowering, op: Operation) -> None:
        builder = low.builder
        element = low.layout(op.results[0]).element

        def convert(register: SSAValue) -> SSAValue:
            type_ = with_element(register.type, element)
            return builder.emit(op_class, (register,), type_, properties)

        registers = low.registers(op.operands[0])
        low.set_registers(op.results[0], map_registers(low, registers, convert))

    return rule


def with_element(type_: Attribute, element: Attribute) -> Attribute:
    """Returns a register type with another element."""
    return register_type(element, lanes_of(type_))


@identity_cache
def rounding_conversion(type_: Attribute) -> tuple[str, Attribute]:
    """Returns the intrinsic from floats to the nearest i32, and the type of its result."""
    words = with_element(type_, i32)
    return f"llvm.lrint{mangled('', words)}{mangled('', type_)}", words


def index_cast(low: FunctionLowering, op: arith.IndexCastOp) -> None:
    """Sign-extends or truncates between index and an integer type."""
    before, after = low.layout(op.input), low.layout(op.result)
    if before.element == after.element:
        low.set_registers(op.result, low.registers(op.input))
    elif integer_width(before.element) > integer_width(after.element):
        conversion(xllvm.TruncOp)(low, op)
    else:
        conversion(xllvm.SExtOp)(low, op)


def truncate_float(low: FunctionLowering, op: arith.TruncFOp) -> None:
    """To bf16 in integer arithmetic where the target has no instruction: LLVM would
    call a function for every lane.
    """
    is_expanded = (
        isinstance(low.layout(op.result).element, BFloat16Type)
        and low.layout(op.input).element == f32
        and not low.target.has_bf16
    )
    if not is_expanded:
        conversion(xllvm.FPTruncOp)(low, op)
        return
    registers = [truncate_to_bfloat(low, r) for r in low.registers(op.input)]
    low.set_registers(op.result, registers)


def truncate_to_bfloat(low: FunctionLowering, register: SSAValue) -> SSAValue:
    """Returns f32 lanes rounded to nearest-even bf16; a NaN stays a quiet one."""
    builder, type_ = low.builder, register.type
    words, halves = with_element(type_, i32), with_element(type_, i16)
    bits = builder.emit(xllvm.BitcastOp, (register,), words)
    sixteen, one = builder.number(16, words), builder.number(1, words)
    high = builder.emit(xllvm.LShrOp, (bits, sixteen), words)
    odd = builder.emit(xllvm.AndOp, (high, one), words)
    rounded = builder.add(builder.add(bits, builder.number(0x7FFF, words)), odd)
    quiet = builder.emit(xllvm.OrOp, (bits, builder.number(0x400000, words)), words)
    unordered = 14
    properties = {**predicate_properties(unordered), **FLOAT}
    pair = (register, register)
    is_nan = builder.emit(llvm.FCmpOp, pair, boolean_like(type_), properties)
    chosen = builder.select(is_nan, quiet, rounded)
    shifted = builder.emit(xllvm.LShrOp, (chosen, sixteen), words)
    narrow = builder.emit(xllvm.TruncOp, (shifted,), halves)
    return builder.emit(xllvm.BitcastOp, (narrow,), with_element(type_, BFloat16Type()))


def float_to_signed(low: FunctionLowering, op: arith.FPToSIOp) -> None:
    """Of a number that was just rounded to the nearest: one instruction for both."""
    owner = op.input.owner
    if rounds_by_sum(low, op) and isinstance(owner, math.RoundEvenOp):
        numbers = [rounded_by_sum(low, r) for r in low.registers(owner.operand)]
        low.set_registers(op.result, numbers)
        return
    if not (isinstance(owner, math.RoundEvenOp) and rounds(low, op)):
        conversion(llvm.FPToSIOp)(low, op)
        return
    registers: list[SSAValue] = []
    for register in low.registers(owner.operand):
        if (number := nearest(low, register)) is not None:
            registers.append(number)
            continue
        name, type_ = rounding_conversion(register.type)
        registers.append(low.builder.intrinsic(name, (register,), type_))
    low.set_registers(op.result, registers)


def truncate_integer(low: FunctionLowering, op: arith.TruncIOp) -> None:
    """Keeps the low bits."""
    if are_neighbours(low, op):
        low.set_registers(op.result, joined_bytes(low, low.registers(op.input)))
    elif not narrows_by_saturation(low, op):
        conversion(xllvm.TruncOp)(low, op)
    elif (byte := saturated_byte(low, op)) is not None:
        low.set_registers(op.result, saturated_bytes(low, byte))
    else:
        low.set_registers(op.result, low_bytes(low, low.registers(op.input)))


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(arith.ExtFOp, conversion(xllvm.FPExtOp)),
        entry(arith.TruncFOp, truncate_float),
        entry(arith.ExtSIOp, conversion(xllvm.SExtOp)),
        entry(arith.ExtUIOp, conversion(xllvm.ZExtOp)),
        entry(arith.TruncIOp, truncate_integer),
        entry(arith.SIToFPOp, conversion(xllvm.SIToFPOp)),
        entry(arith.UIToFPOp, conversion(llvm.UIToFPOp)),
        entry(arith.FPToSIOp, float_to_signed),
        entry(arith.FPToUIOp, conversion(llvm.FPToUIOp)),
        entry(arith.BitcastOp, conversion(xllvm.BitcastOp)),
        entry(arith.IndexCastOp, index_cast),
    ]
)
