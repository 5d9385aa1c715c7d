"""Contractions of bytes on AArch64: four products a lane, by lanes of the left operand.

`sdot` multiplies signed bytes, `usdot` (i8mm) unsigned with signed ones; both take their second
factor as one 32-bit lane of a register. So neighbouring words are loaded as one register of four,
and each is a lane of it:

    %four = load <16 x i8>                       the words of four rows
    %word = shufflevector <4 x i32> 2, 2, 2, 2   no instruction of its own
    %sum  = call @llvm.aarch64.neon.sdot(%acc, %weights, %word)

Without them bytes become 16-bit words, by one shuffle of the weights so that those of a step lie
together, and `smlal` multiplies them by a lane of the left operand, one step at a time. Products
of bytes element by element, as in depthwise convolutions, are `smull` and `smlal` too.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import vector
from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from glow.dialects import arith
from glow.lowering.loops_to_llvm.contract_operands import (
    DotProduct,
    Narrow,
    Operands,
    join_balanced,
)
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import integer_width, lanes_of, register_type
from glow.lowering.loops_to_llvm.lazy import pick
from glow.lowering.loops_to_llvm.vectors import join, split, stretched_rows
from glow.lowering.type_guards import is_vector

WORD = 4
LANES = 4
BYTES = register_type(i8, WORD * LANES)
WORDS = register_type(i32, LANES)
HALF = register_type(i16, LANES)
WHOLE = register_type(i16, 2 * LANES)
BY_STEP = tuple(lane * WORD + k for k in range(WORD) for lane in range(LANES))
"""The bytes of a register of weights, those of a step together."""


def neon_dot_product(
    low: FunctionLowering, lhs: Narrow, rhs: Narrow
) -> DotProduct | None:
    """Returns the contraction on registers of four lanes; None for other operands."""
    are_bytes = all(integer_width(o.layout.element) == 8 for o in (lhs, rhs))
    fits = rhs.layout.width == WORD and rhs.layout.shape[-1] % LANES == 0
    extended = lhs.extension is not None and rhs.extension is not None
    if not (
        low.target.triple.startswith("aarch64") and are_bytes and fits and extended
    ):
        return None
    step = dot_instruction(low, lhs, rhs) or word_product(low, lhs, rhs)

    def dot(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        count = lanes_of(acc.type) // LANES
        sums = split(low, acc, [(k * LANES, LANES) for k in range(count)])
        size = LANES * WORD
        right = split(low, weights, [(k * size, size) for k in range(count)])
        pairs = zip(sums, right, strict=True)
        return join_balanced(low, [step(total, word, some) for total, some in pairs])

    return dot


def dot_instruction(
    low: FunctionLowering, lhs: Narrow, rhs: Narrow
) -> DotProduct | None:
    """Returns one step by an instruction of the target, None without one."""
    signed, dot = xllvm.SExtOp, low.target.byte_dot
    if dot not in ("dotprod", "i8mm"):
        return None
    if lhs.extension is rhs.extension:
        name = "sdot" if lhs.extension is signed else "udot"
    elif dot == "i8mm":
        name = "usdot"
    else:
        return None

    def step(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        unsigned_first = name == "usdot" and lhs.extension is not signed
        pair = (word, weights) if unsigned_first else (weights, word)
        intrinsic = f"llvm.aarch64.neon.{name}.v4i32.v16i8"
        return low.builder.intrinsic(intrinsic, (acc, *pair), acc.type)

    return step


def word_product(low: FunctionLowering, lhs: Narrow, rhs: Narrow) -> DotProduct:
    """Returns one step by multiplications of 16-bit words."""
    builder = low.builder
    widened: dict[SSAValue, Sequence[SSAValue]] = {}

    def extended(operand: Narrow, value: SSAValue) -> SSAValue:
        assert operand.extension is not None
        return builder.emit(operand.extension, (value,), WHOLE)

    def columns(weights: SSAValue) -> Sequence[SSAValue]:
        """The lanes' words of each step, once for all rows."""
        if weights not in widened:
            ordered = builder.shuffle(weights, builder.poison(BYTES), BY_STEP)
            halves = split(low, ordered, [(0, 8), (8, 8)])
            wide = join(low, [extended(rhs, half) for half in halves])
            widened[weights] = split(low, wide, [(k * 4, 4) for k in range(WORD)])
        return widened[weights]

    def row(word: SSAValue) -> SSAValue:
        if word not in widened:
            half = split(low, word, [(0, 8), (8, 8)])[0]
            widened[word] = [extended(lhs, half)]
        return widened[word][0]

    def step(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        elements = row(word)
        for k, column in enumerate(columns(weights)):
            mask = (k,) * LANES
            element = builder.shuffle(elements, builder.poison(WHOLE), mask)
            factors = [
                builder.emit(xllvm.SExtOp, (factor,), WORDS)
                for factor in (column, element)
            ]
            acc = builder.add(acc, builder.multiply(*factors))
        return acc

    return step


class NeonOperands(Operands):
    """The words of the left operand repeated over a register, neighbours loaded together."""

    def load_word(self, row: int, where: dict[int, int]) -> SSAValue:
        """Returns a word in all lanes of a register."""
        builder, source, rows = self.low.builder, self.lhs_source, self.lhs.layout.shape
        if source is None:
            word = self.bits(super().load_word(row, where), i32)
            return self.bits(builder.splat(word, WORDS), BYTES)
        distance = self.offset(source, self.lhs, where)
        place, count = row % rows[-1], rows[-1]
        if count < LANES or source.strides[-2] != WORD:
            word = builder.load(source.pointer, distance, i32, 1)
            return self.flip(self.lhs, self.bits(builder.splat(word, WORDS), BYTES))
        first = min(place - place % LANES, count - LANES)
        lane = place - first
        four = self.four(row - lane, source.pointer, distance - lane * WORD)
        repeated = builder.shuffle(four, builder.poison(WORDS), (lane,) * LANES)
        return self.bits(repeated, BYTES)

    def four(self, row: int, pointer: SSAValue, distance: int) -> SSAValue:
        """Returns the words of four neighbouring rows."""
        found = self.made.get(("four", row))
        if found is None:
            loaded = self.low.builder.load(pointer, distance, BYTES, 1)
            found = self.bits(self.flip(self.lhs, loaded), WORDS)
            self.made["four", row] = found
        return found

    def bits(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Returns the same bits in a register of another type."""
        return self.low.builder.emit(xllvm.BitcastOp, (value,), type_)


def product_of_bytes(
    low: FunctionLowering, lhs: SSAValue, rhs: SSAValue
) -> Sequence[SSAValue] | None:
    """Returns the products of bytes that were extended to 32 bits, from 16 bits of each.

    LLVM sees that both fit them only where both are extended in front of the product, and not
    outside of a loop. None for other factors.
    """
    factors = [halves_of(low, value) for value in (lhs, rhs)]
    if not low.target.is_aarch64 or None in factors:
        return None
    words, builder = register_type(i32, LANES), low.builder
    name = "llvm.aarch64.neon.smull.v4i32"
    pairs = zip(*(factor or () for factor in factors), strict=True)
    return [builder.intrinsic(name, pair, words) for pair in pairs]


def halves_of(low: FunctionLowering, value: SSAValue) -> Sequence[SSAValue] | None:
    """Returns bytes that were extended to words, or rows of such, as registers of 16 bits."""
    owner, layout = value.owner, low.layout(value)
    if any(type_ != register_type(i32, LANES) for type_ in layout.types):
        return None
    if isinstance(owner, vector.BroadcastOp) and is_vector(owner.source.type):
        source, before = halves_of(low, owner.source), low.layout(owner.source)
        rows = stretched_rows(before.shape, layout.shape)
        is_whole = before.width == layout.width and len(layout.chunks) == 1
        return pick(source, rows) if source is not None and is_whole else None
    if not isinstance(owner, arith.ExtSIOp | arith.ExtUIOp):
        return None
    if low.layout(owner.input).element != i8:
        return None
    extension = xllvm.SExtOp if isinstance(owner, arith.ExtSIOp) else xllvm.ZExtOp
    halves = register_type(i16, LANES)
    emit = low.builder.emit
    return [emit(extension, (each,), halves) for each in low.registers(owner.input)]
