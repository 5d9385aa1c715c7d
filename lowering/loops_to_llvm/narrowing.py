"""Floats as bytes: rounded, and the low bytes of registers brought together.

A float between two constants is rounded by a sum with 1.5 * 2^23, whose last bit counts ones: the
sum's bits less those of the number are the integer. That is one instruction where a target has
none that converts and rounds to the nearest; conversions there cut off, and WebAssembly's
saturate too, which takes seven instructions on x86-64:

    %clamped = arith.select(x > 255.0, 255.0, ...)        %moved = fadd %clamped, 12582912.0
    %whole   = math.roundeven %clamped               ->   %bits  = bitcast %moved to i32
    %number  = arith.fptosi %whole : f32 to i32           %number = sub %bits, 0x4B400000

On WebAssembly the low bytes of four registers become one by its instructions that narrow with
saturation, each number being masked first: a shuffle of bytes takes more.
"""

from __future__ import annotations

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    f32,
    i8,
    i16,
    i32,
)
from xdsl.ir import Operation, SSAValue

from glow.dialects import arith
from glow.lowering.loops_to_llvm.builder import FLOAT
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import lanes_of, register_type

ROUNDER = 1.5 * 2**23
"""Floats near it are whole, on both sides."""
ROUNDER_BITS = 0x4B400000
LIMIT = 2.0**22
"""How far from 0 a float may be that it rounds."""

BELOW, ABOVE = ("olt", "ult"), ("ogt", "ugt")
PREDICATES = arith.CMPF_COMPARISON_OPERATIONS

LANES, BYTES = 4, 16
MASK = 0xFF


def is_clamped(value: SSAValue) -> bool:
    """Whether constants near enough bound a float from both sides."""
    low = high = False
    while isinstance(select := value.owner, arith.SelectOp):
        limit, test = _constant(select.lhs), select.cond.owner
        if limit is None or abs(limit) > LIMIT or not isinstance(test, arith.CmpfOp):
            return False
        if test.lhs is not select.rhs or test.rhs is not select.lhs:
            return False
        predicate = PREDICATES[test.predicate.value.data]
        low, high = low or predicate in BELOW, high or predicate in ABOVE
        value = select.rhs
    return low and high


def _constant(value: SSAValue) -> float | None:
    """The float in all lanes of a constant."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    data = owner.value
    if isinstance(data, FloatAttr):
        return data.value.data
    if isinstance(data, DenseIntOrFPElementsAttr) and data.is_splat():
        number = data.get_values()[0]
        return number if isinstance(number, float) else None
    return None


def rounded_by_sum(low: FunctionLowering, register: SSAValue) -> SSAValue:
    """Returns clamped floats as i32, rounded to the nearest, of two to the even one."""
    builder, type_ = low.builder, register.type
    count = lanes_of(type_)
    words = register_type(i32, count) if count else i32
    rounder = builder.number(ROUNDER, type_)
    moved = builder.emit(xllvm.FAddOp, (register, rounder), type_, FLOAT)
    bits = builder.emit(xllvm.BitcastOp, (moved,), words)
    return builder.add(bits, builder.number(-ROUNDER_BITS, words))


def rounds_by_sum(low: FunctionLowering, op: arith.FPToSIOp) -> bool:
    """Whether a conversion takes what was rounded, and its bounds are known."""
    owner = op.input.owner
    return (
        isinstance(owner, math.RoundEvenOp)
        and not low.target.round_conversion
        and low.layout(op.input).element == f32
        and low.layout(op.result).element == i32
        and is_clamped(owner.operand)
    )


def rounds(low: FunctionLowering, op: Operation) -> bool:
    """Whether an operation is a conversion that rounds to the nearest by itself."""
    return (
        isinstance(op, arith.FPToSIOp)
        and low.target.round_conversion
        and low.layout(op.result).element == i32
    )


def narrows_by_saturation(low: FunctionLowering, op: Operation) -> bool:
    """Whether the words of an operation become bytes that WebAssembly narrows."""
    before, after = low.layout(op.operands[0]), low.layout(op.results[0])
    return (
        low.target.is_wasm
        and low.target.vector_bytes == BYTES
        and (before.element, after.element) == (i32, i8)
        and all(lanes_of(type_) == LANES for type_ in before.types)
    )


def low_bytes(low: FunctionLowering, registers: list[SSAValue]) -> list[SSAValue]:
    """Returns the low bytes of registers of four words, as registers of four bytes."""
    found: list[SSAValue] = []
    for first in range(0, len(registers), LANES):
        group = registers[first : first + LANES]
        joined = _joined(low, group)
        poison = low.builder.poison(joined.type)
        for part in range(len(group)):
            mask = tuple(range(part * LANES, (part + 1) * LANES))
            found.append(low.builder.shuffle(joined, poison, mask))
    return found


def _joined(low: FunctionLowering, group: list[SSAValue]) -> SSAValue:
    """The low bytes of up to four registers as one register."""
    builder, words = low.builder, group[0].type
    mask = builder.number(MASK, words)
    masked = [builder.emit(xllvm.AndOp, (each, mask), words) for each in group]
    masked += masked[:1] * (LANES - len(masked))
    halves = [
        builder.intrinsic("llvm.wasm.narrow.unsigned.v8i16.v4i32", pair, _HALVES)
        for pair in (masked[:2], masked[2:])
    ]
    return builder.intrinsic("llvm.wasm.narrow.unsigned.v16i8.v8i16", halves, _BYTES)


_HALVES, _BYTES = register_type(i16, 2 * LANES), register_type(i8, BYTES)
