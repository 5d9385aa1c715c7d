"""Rules for `vector.contract`: sums of products of narrow elements.

The form of low-precision kernels: `acc[m, n, l] += a[m, k] * w[n, l, k]` with a short
contiguous `k` (four int8, two bf16) and operands extended from the narrow type; or each lane
has factors of its own, `acc[m, l] += a[m, k, l] * w[l, k]`. Where
the target has a dot-product instruction, the extension and the contraction are one
instruction per accumulator register, and the narrow operands come straight from memory:
a row of `w` as one register, `k` elements of `a` as one repeated 32-bit word. Without
such an instruction bytes become 16-bit words, whose products in pairs are exact in 32
bits, on x86 and WebAssembly; elsewhere the `k` products are multiplied and added one after
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects import vector
from glow.lowering.loops_to_llvm.builder import NO_OVERFLOW
from glow.lowering.loops_to_llvm.contract_operands import (
    DotProduct,
    Narrow,
    Operands,
    iterators_of,
    join_balanced,
    narrow_operand,
)
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.fused import fused
from glow.lowering.loops_to_llvm.layout import (
    element_of,
    integer_width,
    lanes_of,
    register_type,
)
from glow.lowering.loops_to_llvm.mve_contract import mve_product
from glow.lowering.loops_to_llvm.neon_contract import NeonOperands, neon_dot_product
from glow.lowering.loops_to_llvm.smlad_contract import WordOperands, smlad_product
from glow.lowering.loops_to_llvm.vectors import join, split

WORD_BYTES = 4
NATIVE_BYTES = (64, 32, 16)


def contract(low: FunctionLowering, op: vector.ContractOp) -> None:
    lhs_map, rhs_map, acc_map = op.indexing_maps
    lhs = narrow_operand(low, op.lhs, lhs_map)
    rhs = narrow_operand(low, op.rhs, rhs_map)
    accumulated = iterators_of(acc_map)
    by_lane = verify_form(op, lhs.dimensions, rhs.dimensions, accumulated)
    operands = Operands(low, lhs, rhs)
    dot = neon_dot_product(low, lhs, rhs)
    smlad = None if by_lane else smlad_product(low, lhs, rhs)
    if smlad is not None:
        dot, operands = smlad, WordOperands(low, lhs, rhs)
    elif dot is None or by_lane:
        dot = (
            dot_product(low, lhs, rhs)
            or relaxed_dot_product(low, lhs, rhs)
            or (None if by_lane else mve_product(low, lhs, rhs))
            or widened_dot_product(low, lhs, rhs)
            or multiply_add(low, lhs, rhs)
        )
    else:
        operands = NeonOperands(low, lhs, rhs)
    layout, registers = low.layout(op.acc), low.registers(op.acc)
    pieces = len(layout.chunks)
    results: list[SSAValue] = []
    for row, place in enumerate(product(*map(range, layout.shape))):
        where = dict(zip(accumulated, place, strict=False))
        word = operands.lanes(where) if by_lane else operands.word(where)
        weights = operands.weights(where)
        acc = join(low, registers[row * pieces : (row + 1) * pieces])
        results += split(low, dot(acc, word, weights), layout.chunks)
    low.set_registers(op.result, results)


def verify_form(
    op: vector.ContractOp,
    lhs: Sequence[int],
    rhs: Sequence[int],
    acc: Sequence[int],
) -> bool:
    """Returns whether each lane has factors of its own: `(m, k, l), (l, k) -> (m, l)`.

    Raises DiagnosticException for a contraction that has neither this form nor the usual one,
    and is not lowered.
    """
    if len(lhs) > 1 and len(rhs) == 2:
        *outer, step, lane = lhs
        if tuple(rhs) == (lane, step) and tuple(acc) == (*outer, lane):
            return True
    has_form = (
        len(rhs) > 1
        and lhs[-1] == rhs[-1]
        and lhs[-1] not in acc
        and rhs[-2] == acc[-1]
        and acc[-1] not in lhs
        and {*lhs[:-1], *rhs[:-1]} == set(acc)
    )
    if not has_form or op.kind != vector.ADD:
        raise DiagnosticException(
            "loops-to-llvm: vector.contract is lowered in the form "
            "(m, k), (n, l, k) -> (m, n, l) with kind add only"
        )
    return False


def dot_product(low: FunctionLowering, lhs: Narrow, rhs: Narrow) -> DotProduct | None:
    """Returns the contraction by an instruction of the target, None without one."""
    native, name = native_bytes(low, lhs, rhs), instruction(low, lhs, rhs)
    if not native or name is None:
        return None
    swaps = lhs.extension is xllvm.SExtOp

    def native_dot(acc: SSAValue, left: SSAValue, weights: SSAValue) -> SSAValue:
        pair = (weights, left) if swaps else (left, weights)
        return low.builder.intrinsic(f"{name}.{native * 8}", (acc, *pair), acc.type)

    return in_pieces(low, native, native_dot)


def in_pieces(low: FunctionLowering, native: int, native_dot: DotProduct) -> DotProduct:
    """Returns a dot product of registers of any size from one of machine registers.

    A word that several rows of weights multiply is repeated once.
    """
    repeated: dict[SSAValue, SSAValue] = {}

    def dot(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        width, count = native // WORD_BYTES, lanes_of(acc.type)
        steps = lanes_of(weights.type) // count
        pieces = cut(low, acc, width)
        right = cut(low, weights, width * steps)
        if lanes_of(word.type) == steps:
            if word not in repeated:
                repeated[word] = repeat_word(low, word, native)
            left = [repeated[word]] * len(pieces)
        else:
            left = cut(low, word, width * steps)
        triples = zip(pieces, left, right, strict=True)
        return join_balanced(low, [native_dot(*triple) for triple in triples])

    return dot


def native_bytes(low: FunctionLowering, lhs: Narrow, rhs: Narrow) -> int:
    """Returns the size of the machine registers that hold the right operand's words; 0
    where its elements make no words, or no whole registers.
    """
    size = rhs.layout.shape[-1] * WORD_BYTES
    native = min(low.target.vector_bytes, size)
    element_bytes = max(lhs.layout.element_bytes, rhs.layout.element_bytes)
    is_word = rhs.layout.width * element_bytes == WORD_BYTES
    return native if is_word and native in NATIVE_BYTES and size % native == 0 else 0


def instruction(low: FunctionLowering, lhs: Narrow, rhs: Narrow) -> str | None:
    """Returns the intrinsic, without its width, for the operands' types."""
    element = lhs.layout.element
    if element != rhs.layout.element:
        return None
    if isinstance(element, BFloat16Type) and low.target.has_bf16:
        return "llvm.x86.avx512bf16.dpbf16ps"
    is_byte = integer_width(element) == 8
    mixed = {lhs.extension, rhs.extension} == {xllvm.ZExtOp, xllvm.SExtOp}
    if is_byte and mixed and low.target.byte_dot == "vnni":
        return "llvm.x86.avx512.vpdpbusd"
    return None


RELAXED_DOT = "llvm.wasm.relaxed.dot.i8x16.i7x16.add.signed"
LOW_BITS, HIGH_BIT = 0x7F, 7


def relaxed_dot_product(
    low: FunctionLowering, lhs: Narrow, rhs: Narrow
) -> DotProduct | None:
    """Returns the contraction of bytes on WebAssembly with relaxed vectors.

    Its dot products are exact where one factor has 7 bits. So the low bits of unsigned bytes are
    multiplied, then the highest ones, whose sum counts 128 times.
    """
    native = native_bytes(low, lhs, rhs)
    are_bytes = all(integer_width(o.layout.element) == 8 for o in (lhs, rhs))
    mixed = (lhs.extension, rhs.extension) == (xllvm.ZExtOp, xllvm.SExtOp)
    relaxed = low.target.byte_dot == "relaxed-simd"
    if not (relaxed and native and are_bytes and mixed):
        return None
    builder = low.builder

    def native_dot(acc: SSAValue, left: SSAValue, weights: SSAValue) -> SSAValue:
        bits, place = (builder.number(n, left.type) for n in (LOW_BITS, HIGH_BIT))
        lower = builder.emit(xllvm.AndOp, (left, bits), left.type)
        highest = builder.emit(xllvm.LShrOp, (left, place), left.type)
        acc = builder.intrinsic(RELAXED_DOT, (weights, lower, acc), acc.type)
        zero, shift = (builder.number(n, acc.type) for n in (0, HIGH_BIT))
        rest = builder.intrinsic(RELAXED_DOT, (weights, highest, zero), acc.type)
        scaled = builder.emit(xllvm.ShlOp, (rest, shift), acc.type, NO_OVERFLOW)
        return builder.add(acc, scaled)

    return in_pieces(low, native, native_dot)


PAIR_PRODUCTS = {
    ("x86_64", 16): "llvm.x86.sse2.pmadd.wd",
    ("x86_64", 32): "llvm.x86.avx2.pmadd.wd",
    ("x86_64", 64): "llvm.x86.avx512.pmaddw.d.512",
    ("wasm32", 16): "llvm.wasm.dot",
}
"""Sums of two products of signed 16-bit words, by architecture and register size."""


def widened_dot_product(
    low: FunctionLowering, lhs: Narrow, rhs: Narrow
) -> DotProduct | None:
    """Returns the contraction of bytes as one of words, or that of signed words with words or
    bytes; None for other operands.

    The even and the odd bytes are multiplied apart: both extend without a shuffle.
    """
    native = native_bytes(low, lhs, rhs)
    widths = {integer_width(operand.layout.element) for operand in (lhs, rhs)}
    name = PAIR_PRODUCTS.get((low.target.triple.split("-")[0], native))
    if name is None:
        return None
    builder = low.builder

    def word_dot(acc: SSAValue, left: SSAValue, weights: SSAValue) -> SSAValue:
        return builder.add(acc, builder.intrinsic(name, (left, weights), acc.type))

    are_signed = lhs.extension is rhs.extension is xllvm.SExtOp
    if are_signed and integer_width(lhs.layout.element) == 16 and widths <= {8, 16}:
        return in_pieces(low, native, with_words(low, word_dot))
    if widths != {8}:
        return None
    words = register_type(i16, native // 2)

    made: dict[tuple[type[Operation], SSAValue], list[SSAValue]] = {}

    def extend(shift: type[Operation], register: SSAValue) -> list[SSAValue]:
        byte = builder.number(8, words)
        odd = builder.emit(xllvm.BitcastOp, (register,), words)
        even = builder.emit(xllvm.ShlOp, (odd, byte), words, NO_OVERFLOW)
        return [builder.emit(shift, (value, byte), words) for value in (even, odd)]

    def halves(operand: Narrow, register: SSAValue) -> list[SSAValue]:
        """The even bytes and the odd bytes, extended once: rows share weights, lanes words."""
        shift = xllvm.AShrOp if operand.extension is xllvm.SExtOp else xllvm.LShrOp
        if (shift, register) not in made:
            made[shift, register] = extend(shift, register)
        return made[shift, register]

    def native_dot(acc: SSAValue, left: SSAValue, weights: SSAValue) -> SSAValue:
        for pair in zip(halves(lhs, left), halves(rhs, weights), strict=True):
            acc = word_dot(acc, *pair)
        return acc

    return in_pieces(low, native, native_dot)


def with_words(low: FunctionLowering, dot: DotProduct) -> DotProduct:
    """Returns a dot product whose weights may be signed bytes, each extended once."""
    made: dict[SSAValue, SSAValue] = {}

    def word_dot(acc: SSAValue, left: SSAValue, weights: SSAValue) -> SSAValue:
        words = register_type(i16, lanes_of(weights.type))
        if weights.type != words:
            if weights not in made:
                made[weights] = low.builder.emit(xllvm.SExtOp, (weights,), words)
            weights = made[weights]
        return dot(acc, left, weights)

    return word_dot


def cut(low: FunctionLowering, register: SSAValue, width: int) -> list[SSAValue]:
    """Returns a register cut into pieces of equal width."""
    total = lanes_of(register.type)
    return split(low, register, [(k, width) for k in range(0, total, width)])


def repeat_word(low: FunctionLowering, word: SSAValue, size: int) -> SSAValue:
    """Returns a 32-bit word repeated over a register, as narrow elements."""
    builder = low.builder
    scalar = builder.emit(xllvm.BitcastOp, (word,), i32)
    words = builder.splat(scalar, register_type(i32, size // WORD_BYTES))
    count = size // WORD_BYTES * lanes_of(word.type)
    narrow = register_type(element_of(word.type), count)
    return builder.emit(xllvm.BitcastOp, (words,), narrow)


def multiply_add(low: FunctionLowering, lhs: Narrow, rhs: Narrow) -> DotProduct:
    """Returns the contraction by one multiplication and addition per `k`."""
    builder, steps, lanes = low.builder, rhs.layout.width, rhs.layout.shape[-1]

    def extended(operand: Narrow, register: SSAValue, acc: Attribute) -> SSAValue:
        if operand.extension is None:
            return register
        return builder.emit(operand.extension, (register,), acc)

    def dot(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        for k in range(steps):
            mask = tuple(range(k, lanes * steps, steps))
            column = builder.shuffle(weights, builder.poison(weights.type), mask)
            repeated = (k,) * lanes if lanes_of(word.type) == steps else mask
            row = builder.shuffle(word, builder.poison(word.type), repeated)
            factors = (extended(lhs, row, acc.type), extended(rhs, column, acc.type))
            acc = multiply_accumulate(low, acc, *factors)
        return acc

    return dot


def multiply_accumulate(
    low: FunctionLowering, acc: SSAValue, lhs: SSAValue, rhs: SSAValue
) -> SSAValue:
    """Returns `acc + lhs * rhs`, fused for floats where the target can."""
    builder = low.builder
    if integer_width(element_of(acc.type)):
        return builder.add(acc, builder.multiply(lhs, rhs))
    return fused(low, (lhs, rhs, acc))
