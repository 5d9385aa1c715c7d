"""Contractions of bytes on Arm cores with the DSP instructions: two products at a time.

`uxtb16` and `sxtb16` take every second byte of a word as two 16-bit words, of the word or of it
turned by 8 bits, and `smlad` adds two products of such pairs:

    %even = call @llvm.arm.uxtb16(%word)                 bytes 0 and 2, once for all lanes
    %odd  = call @llvm.arm.uxtb16(fshr %word, %word, 8)  bytes 1 and 3
    %sum  = call @llvm.arm.smlad(%even, %weights_even, %acc)
    %sum  = call @llvm.arm.smlad(%odd, %weights_odd, %sum)
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from glow.lowering.loops_to_llvm.contract_operands import (
    DotProduct,
    Narrow,
    Operands,
)
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import integer_width, lanes_of, register_type

WORD = 4
BYTE = 8


class Pairs(NamedTuple):
    """The bytes of a word as pairs of 16-bit words."""

    even: SSAValue
    odd: SSAValue


def smlad_product(low: FunctionLowering, lhs: Narrow, rhs: Narrow) -> DotProduct | None:
    """Returns the contraction on words; None for other operands or another target."""
    are_bytes = all(integer_width(o.layout.element) == 8 for o in (lhs, rhs))
    extended = lhs.extension is not None and rhs.extension is not None
    if low.target.byte_dot != "smlad" or rhs.layout.width != WORD:
        return None
    if not (are_bytes and extended):
        return None
    builder, made = low.builder, dict[SSAValue, Pairs]()

    def pairs(operand: Narrow, word: SSAValue) -> Pairs:
        if word not in made:
            letter = "s" if operand.extension is xllvm.SExtOp else "u"
            shift = builder.number(BYTE, i32)
            turned = builder.overloaded("llvm.fshr", (word, word, shift))
            name = f"llvm.arm.{letter}xtb16"
            halves = [builder.intrinsic(name, (w,), i32) for w in (word, turned)]
            made[word] = Pairs(*halves)
        return made[word]

    def dot(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        left = pairs(lhs, word)
        for lane in range(lanes_of(acc.type)):
            right = pairs(rhs, builder.extract(weights, lane))
            total = builder.extract(acc, lane)
            for factors in zip(left, right, strict=True):
                total = builder.intrinsic("llvm.arm.smlad", (*factors, total), i32)
            acc = builder.insert(total, acc, lane)
        return acc

    return dot


class WordOperands(Operands):
    """The words of both operands as integers of 32 bits."""

    def load_word(self, row: int, where: dict[int, int]) -> SSAValue:
        """Returns a word of the left operand."""
        source = self.lhs_source
        if source is None:
            return self.bits(super().load_word(row, where), i32)
        place = source.pointer, self.offset(source, self.lhs, where)
        return self.low.builder.load(*place, i32, 1)

    def load_weights(self, row: int, where: dict[int, int]) -> SSAValue:
        """Returns the words of all lanes of the right operand as a vector."""
        lanes, source = self.rhs.layout.shape[-1], self.rhs_source
        words = register_type(i32, lanes)
        if source is None or source.strides[-2] != WORD:
            return self.bits(super().load_weights(row, where), words)
        place = source.pointer, self.offset(source, self.rhs, where)
        return self.low.builder.load(*place, words, 1)

    def bits(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Returns the same bits in a register of another type."""
        return self.low.builder.emit(xllvm.BitcastOp, (value,), type_)
