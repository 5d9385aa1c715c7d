"""Floats as bytes: rounded, and the low bytes of registers brought together.

A float between two constants is rounded by a sum with 1.5 * 2^23, whose last bit counts ones: the
sum's bits less those of the number are the integer. That is one instruction where a target has
none that converts and rounds to the nearest; conversions there cut off, and WebAssembly's
saturate too, which takes seven instructions on x86-64:

    %clamped = arith.select(x > 255.0, 255.0, ...)        %moved = fadd %clamped, 12582912.0
    %whole   = math.roundeven %clamped               ->   %bits  = bitcast %moved to i32
    %number  = arith.fptosi %whole : f32 to i32           %number = sub %bits, 0x4B400000

On WebAssembly the low bytes of four registers become one by its instructions that narrow with
saturation, each number being masked first: a shuffle of bytes takes more. Where the constants are
the bounds of a byte, saturation clamps, and nothing is masked. The sum's bits stand in the order of
floats for positive ones, infinity too, so that only its sign need be kept from below.

LLVM makes two instructions of `lrint` on AArch64, which has one for both. The words of several
registers become bytes as one wide vector there, in three instructions for four registers; one by
one they would take two each, and more to bring the bytes together:

    %bytes = arith.trunci %words         ->   %wide  = shufflevector ... : <16 x i32>
      : vector<4x4xi32> to vector<4x4xi8>     %bytes = trunc %wide : <16 x i32> to <16 x i8>
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    f32,
    i8,
    i16,
    i32,
)
from xdsl.ir import Operation, SSAValue

from glow.dialects import arith, llvm
from glow.lowering.loop_builder.ir_types import shape_of
from glow.lowering.loops_to_llvm.builder import FLOAT, mangled, predicate_properties
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import (
    boolean_like,
    element_of,
    lanes_of,
    register_type,
)
from glow.lowering.type_guards import is_vector

ROUNDER = 1.5 * 2**23
"""Floats near it are whole, on both sides."""
ROUNDER_BITS = 0x4B400000
LIMIT = 2.0**22
"""How far from 0 a float may be that it rounds."""

BELOW, ABOVE = ("olt", "ult"), ("ogt", "ugt")
PREDICATES = arith.CMPF_COMPARISON_OPERATIONS

LESS = {**predicate_properties(PREDICATES.index("olt")), **FLOAT}

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


class Byte(NamedTuple):
    """A float that becomes an unsigned byte, once `offset` is added."""

    number: SSAValue
    """Before it is clamped."""
    offset: int


def saturated_byte(low: FunctionLowering, op: arith.TruncIOp) -> Byte | None:
    """The float that an operation clamps to the bounds of a byte, rounds and cuts off."""
    whole, offset = op.input.owner, 0
    if isinstance(whole, arith.AddiOp):
        constant = _constant(whole.rhs)
        if not isinstance(constant, int):
            return None
        whole, offset = whole.lhs.owner, constant
    if not isinstance(whole, arith.FPToSIOp) or not rounds_by_sum(low, whole):
        return None
    rounded = whole.input.owner
    assert isinstance(rounded, math.RoundEvenOp)
    value, bounds = rounded.operand, {"olt": -offset, "ogt": MASK - offset}
    while bounds:
        select = value.owner
        if not isinstance(select, arith.SelectOp):
            return None
        test = select.cond.owner
        assert isinstance(test, arith.CmpfOp)
        predicate = PREDICATES[test.predicate.value.data]
        if bounds.pop(predicate, None) != _constant(select.lhs):
            return None
        value = select.rhs
    return Byte(value, offset)


def saturated_bytes(low: FunctionLowering, byte: Byte) -> list[SSAValue]:
    """Returns the bytes of registers of four floats, as registers of four bytes."""
    builder, words = low.builder, register_type(i32, LANES)
    numbers: list[SSAValue] = []
    for register in low.registers(byte.number):
        type_ = register.type
        rounder = builder.number(ROUNDER, type_)
        moved = builder.emit(xllvm.FAddOp, (register, rounder), type_, FLOAT)
        least = builder.number(ROUNDER - byte.offset, type_)
        is_less = builder.emit(llvm.FCmpOp, (moved, least), boolean_like(type_), LESS)
        moved = builder.select(is_less, least, moved)
        bits = builder.emit(xllvm.BitcastOp, (moved,), words)
        numbers.append(
            builder.add(bits, builder.number(byte.offset - ROUNDER_BITS, words))
        )
    return _narrowed(low, numbers, "signed")


def _constant(value: SSAValue) -> float | None:
    """The number in all lanes of a constant."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    data = owner.value
    if isinstance(data, FloatAttr | IntegerAttr):
        return data.value.data
    if isinstance(data, DenseIntOrFPElementsAttr) and data.is_splat():
        number = data.get_values()[0]
        return number if isinstance(number, float | int) else None
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


def low_bytes(low: FunctionLowering, registers: Sequence[SSAValue]) -> list[SSAValue]:
    """Returns the low bytes of registers of four words, as registers of four bytes."""
    mask = low.builder.number(MASK, registers[0].type)
    masked = [
        low.builder.emit(xllvm.AndOp, (each, mask), each.type) for each in registers
    ]
    return _narrowed(low, masked, "unsigned")


def _narrowed(
    low: FunctionLowering, registers: Sequence[SSAValue], words: str
) -> list[SSAValue]:
    """The bytes of registers of four words, which saturate; signed as words, or unsigned."""
    found: list[SSAValue] = []
    for first in range(0, len(registers), LANES):
        group = list(registers[first : first + LANES])
        joined = _joined(low, group, f"llvm.wasm.narrow.{words}.v8i16.v4i32")
        poison = low.builder.poison(joined.type)
        for part in range(len(group)):
            mask = tuple(range(part * LANES, (part + 1) * LANES))
            found.append(low.builder.shuffle(joined, poison, mask))
    return found


def _joined(low: FunctionLowering, group: list[SSAValue], narrow: str) -> SSAValue:
    """The bytes of up to four registers as one register."""
    builder = low.builder
    whole = group + group[:1] * (LANES - len(group))
    halves = [
        builder.intrinsic(narrow, pair, _HALVES) for pair in (whole[:2], whole[2:])
    ]
    return builder.intrinsic("llvm.wasm.narrow.unsigned.v16i8.v8i16", halves, _BYTES)


_HALVES, _BYTES = register_type(i16, 2 * LANES), register_type(i8, BYTES)


def nearest(low: FunctionLowering, register: SSAValue) -> SSAValue | None:
    """Returns floats as i32, rounded to the nearest, of two to the even one; None where there is
    no instruction for it, as for a vector of one, which is no scalar.
    """
    type_, builder = register.type, low.builder
    count = lanes_of(type_) if is_vector(type_) else 1
    if not low.target.is_aarch64 or element_of(type_) != f32:
        return None
    if count == LANES or not is_vector(type_):
        words = register_type(i32, count) if count > 1 else i32
        name = f"llvm.aarch64.neon.fcvtns{mangled('', words)}{mangled('', type_)}"
        return builder.intrinsic(name, (register,), words)
    if count % (2 * LANES):
        return None
    poison, half = builder.poison(type_), count // 2
    parts = [
        nearest(low, builder.shuffle(register, poison, tuple(lanes)))
        for lanes in (range(half), range(half, count))
    ]
    first, second = (part for part in parts if part is not None)
    return builder.shuffle(first, second, tuple(range(count)))


def are_neighbours(low: FunctionLowering, op: Operation) -> bool:
    """Whether words become bytes that lie side by side: the pixels of one block.

    Other rows are stored apart: taking words from a register costs what narrowing saves.
    """
    before, after = low.layout(op.operands[0]), low.layout(op.results[0])
    shape = shape_of(op.results[0])
    return (
        low.target.is_aarch64
        and len(shape) > 1
        and shape[0] > 1
        and prod(shape[1:-1]) == 1
        and (before.element, after.element) == (i32, i8)
        and all(lanes_of(type_) == LANES for type_ in before.types)
    )


def joined_bytes(
    low: FunctionLowering, registers: Sequence[SSAValue]
) -> list[SSAValue]:
    """Returns the low bytes of registers of four words, as registers of four bytes."""
    builder, found = low.builder, list[SSAValue]()
    for first in range(0, len(registers), LANES):
        group = list(registers[first : first + LANES])
        bytes_ = _truncated(low, group + group[:1] * (LANES - len(group)))
        poison = builder.poison(bytes_.type)
        for part in range(len(group)):
            mask = tuple(range(part * LANES, (part + 1) * LANES))
            found.append(builder.shuffle(bytes_, poison, mask))
    return found


def _truncated(low: FunctionLowering, parts: list[SSAValue]) -> SSAValue:
    """The low bytes of four registers as one."""
    builder = low.builder
    while len(parts) > 1:
        whole = tuple(range(2 * lanes_of(parts[0].type)))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [builder.shuffle(first, second, whole) for first, second in pairs]
    return builder.emit(xllvm.TruncOp, parts, register_type(i8, BYTES))
