"""Rules for `vector.contract`: sums of products of narrow elements.

The form of low-precision kernels: `acc[m, n, l] += a[m, k] * w[n, l, k]` with a short
contiguous `k` (four int8, two bf16) and operands extended from the narrow type; or each lane
has factors of its own, `acc[m, l] += a[m, k, l] * w[l, k]`. Where
the target has a dot-product instruction, the extension and the contraction are one
instruction per accumulator register, and the narrow operands come straight from memory:
a row of `w` as one register, `k` elements of `a` as one repeated 32-bit word. Without
such an instruction bytes become 16-bit words, whose products in pairs are exact in 32
bits, on x86; elsewhere the `k` products are multiplied and added one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import (
    AffineMapAttr,
    BFloat16Type,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects import arith, vector
from glow.lowering.loops_to_llvm.builder import FLOAT, NO_OVERFLOW
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    element_of,
    integer_width,
    lanes_of,
    register_type,
    row_major,
)
from glow.lowering.loops_to_llvm.lazy import LazyRegisters, ReadSource
from glow.lowering.loops_to_llvm.vectors import concatenate, join, split

WORD_BYTES = 4
NATIVE_BYTES = (64, 32, 16)

EXTENSIONS: dict[type[Operation], type[Operation]] = {
    arith.ExtUIOp: xllvm.ZExtOp,
    arith.ExtSIOp: xllvm.SExtOp,
    arith.ExtFOp: xllvm.FPExtOp,
}


class Narrow(NamedTuple):
    """An operand of a contraction before its extension."""

    value: SSAValue
    layout: RegisterLayout
    dimensions: tuple[int, ...]
    """The iterator of each dimension."""
    extension: type[Operation] | None
    """The llvm op that extends its elements, None where they already fit."""

    def source(self, low: FunctionLowering) -> ReadSource | None:
        """Returns where the elements lie, if they are still to be loaded and the last
        dimension is contiguous.
        """
        registers = low.registers(self.value)
        source = registers.source if isinstance(registers, LazyRegisters) else None
        if source is None or source.strides[-1] != self.layout.element_bytes:
            return None
        return source


def narrow_operand(
    low: FunctionLowering, value: SSAValue, map_: AffineMapAttr
) -> Narrow:
    """Returns an operand seen through the extension that produces it."""
    owner = value.owner
    extension = EXTENSIONS.get(type(owner)) if isinstance(owner, Operation) else None
    if extension is not None and isinstance(owner, Operation):
        value = owner.operands[0]
    return Narrow(value, low.layout(value), iterators_of(map_), extension)


def iterators_of(map_: AffineMapAttr) -> tuple[int, ...]:
    """Returns the iterators that an indexing map projects to."""
    results = map_.data.results
    return tuple(e.position for e in results if isinstance(e, AffineDimExpr))


def contract(low: FunctionLowering, op: vector.ContractOp) -> None:
    lhs_map, rhs_map, acc_map = op.indexing_maps
    lhs = narrow_operand(low, op.lhs, lhs_map)
    rhs = narrow_operand(low, op.rhs, rhs_map)
    accumulated = iterators_of(acc_map)
    by_lane = has_lane_form(lhs.dimensions, rhs.dimensions, accumulated)
    if not by_lane:
        verify_form(op, lhs.dimensions, rhs.dimensions, accumulated)
    dot = (
        dot_product(low, lhs, rhs)
        or widened_dot_product(low, lhs, rhs)
        or multiply_add(low, lhs, rhs)
    )
    operands = Operands(low, lhs, rhs)
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


def has_lane_form(lhs: Sequence[int], rhs: Sequence[int], acc: Sequence[int]) -> bool:
    """Whether each lane has factors of its own: `(m, k, l), (l, k) -> (m, l)`."""
    if len(lhs) < 2 or len(rhs) != 2:
        return False
    *outer, step, lane = lhs
    return tuple(rhs) == (lane, step) and tuple(acc) == (*outer, lane)


def verify_form(
    op: vector.ContractOp,
    lhs: Sequence[int],
    rhs: Sequence[int],
    acc: Sequence[int],
) -> None:
    """Raises DiagnosticException for a contraction that is not lowered."""
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


class Operands:
    """The narrow registers of a contraction, each made once."""

    def __init__(self, low: FunctionLowering, lhs: Narrow, rhs: Narrow):
        self.low, self.lhs, self.rhs = low, lhs, rhs
        self.lhs_source, self.rhs_source = lhs.source(low), rhs.source(low)
        self.made: dict[tuple[str, int], SSAValue] = {}

    def row(self, operand: Narrow, dropped: int, where: dict[int, int]) -> int:
        """Returns the row-major number of a place without the last dimensions."""
        shape = (*operand.layout.shape, operand.layout.width)
        kept = len(shape) - dropped
        steps = row_major(shape[:kept])
        pairs = zip(operand.dimensions, steps, strict=False)
        return sum(where[iterator] * step for iterator, step in pairs)

    def offset(self, source: ReadSource, operand: Narrow, where: dict[int, int]) -> int:
        """Returns the distance in bytes of a place; iterators not in it are 0."""
        pairs = zip(operand.dimensions, source.strides, strict=True)
        steps = (where.get(it, 0) * stride for it, stride in pairs if it in where)
        return source.distance + sum(steps)

    def word(self, where: dict[int, int]) -> SSAValue:
        """Returns the `k` elements of the left operand at a place as one register."""
        row = self.row(self.lhs, 1, where)
        found = self.made.get(("word", row))
        if found is None:
            found = self.made["word", row] = self.load_word(row, where)
        return found

    def load_word(self, row: int, where: dict[int, int]) -> SSAValue:
        low, layout, source = self.low, self.lhs.layout, self.lhs_source
        if source is None:
            pieces = len(layout.chunks)
            registers = low.registers(self.lhs.value)
            return join(low, registers[row * pieces : (row + 1) * pieces])
        type_ = register_type(layout.element, layout.width)
        distance = self.offset(source, self.lhs, where)
        return low.builder.load(source.pointer, distance, type_, layout.element_bytes)

    def lanes(self, where: dict[int, int]) -> SSAValue:
        """Returns the left operand at a place as one register like that of `weights`: the
        `k` elements of lane 0, then those of lane 1 ...
        """
        low, layout, source = self.low, self.lhs.layout, self.lhs_source
        lanes, steps = layout.width, layout.shape[-1]
        size = lanes * layout.element_bytes
        if source is not None and source.strides[-2] == size:
            type_ = register_type(layout.element, lanes * steps)
            place = source.pointer, self.offset(source, self.lhs, where)
            joined = low.builder.load(*place, type_, layout.element_bytes)
        else:
            first = self.row(self.lhs, 2, where) * steps
            rows = low.registers(self.lhs.value)[first : first + steps]
            joined = join(low, rows)
        mask = tuple(k * lanes + lane for lane in range(lanes) for k in range(steps))
        return low.builder.shuffle(joined, low.builder.poison(joined.type), mask)

    def weights(self, where: dict[int, int]) -> SSAValue:
        """Returns all lanes of the right operand at a place as one register: the `k`
        elements of lane 0, then those of lane 1 ...
        """
        places = {it: k for it, k in where.items() if it != self.rhs.dimensions[-2]}
        row = self.row(self.rhs, 2, places)
        found = self.made.get(("weights", row))
        if found is None:
            found = self.made["weights", row] = self.load_weights(row, places)
        return found

    def load_weights(self, row: int, where: dict[int, int]) -> SSAValue:
        low, layout, source = self.low, self.rhs.layout, self.rhs_source
        lanes, size = layout.shape[-1], layout.width * layout.element_bytes
        if source is None or source.strides[-2] != size:
            registers = low.registers(self.rhs.value)
            return join_balanced(low, registers[row * lanes : (row + 1) * lanes])
        type_ = register_type(layout.element, lanes * layout.width)
        distance = self.offset(source, self.rhs, where)
        return low.builder.load(source.pointer, distance, type_, layout.element_bytes)


def join_balanced(low: FunctionLowering, registers: Sequence[SSAValue]) -> SSAValue:
    """Returns equal registers joined in pairs, then pairs of pairs ..."""
    parts = list(registers)
    while len(parts) > 1:
        pairs = [
            concatenate(low.builder, parts[k], parts[k + 1])
            for k in range(0, len(parts) - 1, 2)
        ]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0]


DotProduct = Callable[[SSAValue, SSAValue, SSAValue], SSAValue]
"""(accumulator, word, weights) -> accumulator"""


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
    """Returns a dot product of registers of any size from one of machine registers."""

    def dot(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        width, count = native // WORD_BYTES, lanes_of(acc.type)
        steps = lanes_of(weights.type) // count
        pieces = cut(low, acc, width)
        right = cut(low, weights, width * steps)
        if lanes_of(word.type) == steps:
            left = [repeat_word(low, word, native)] * len(pieces)
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
    is_word = rhs.layout.width * rhs.layout.element_bytes == WORD_BYTES
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


PAIR_PRODUCTS = {
    16: "llvm.x86.sse2.pmadd.wd",
    32: "llvm.x86.avx2.pmadd.wd",
    64: "llvm.x86.avx512.pmaddw.d.512",
}
"""Sums of two products of signed 16-bit words, by register size."""


def widened_dot_product(
    low: FunctionLowering, lhs: Narrow, rhs: Narrow
) -> DotProduct | None:
    """Returns the contraction of bytes as one of words; None for other operands.

    The even and the odd bytes are multiplied apart: both extend without a shuffle.
    """
    native = native_bytes(low, lhs, rhs)
    elements = lhs.layout.element, rhs.layout.element
    are_bytes = all(integer_width(element) == 8 for element in elements)
    if not (native and are_bytes and low.target.triple.startswith("x86_64")):
        return None
    builder = low.builder
    words = register_type(i16, native // 2)

    def halves(operand: Narrow, register: SSAValue) -> list[SSAValue]:
        """The even bytes and the odd bytes, extended."""
        shift = xllvm.AShrOp if operand.extension is xllvm.SExtOp else xllvm.LShrOp
        byte = builder.number(8, words)
        odd = builder.emit(xllvm.BitcastOp, (register,), words)
        even = builder.emit(xllvm.ShlOp, (odd, byte), words, NO_OVERFLOW)
        return [builder.emit(shift, (value, byte), words) for value in (even, odd)]

    def native_dot(acc: SSAValue, left: SSAValue, weights: SSAValue) -> SSAValue:
        pairs = zip(halves(lhs, left), halves(rhs, weights), strict=True)
        for pair in pairs:
            product = builder.intrinsic(PAIR_PRODUCTS[native], pair, acc.type)
            acc = builder.add(acc, product)
        return acc

    return in_pieces(low, native, native_dot)


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
    builder, type_ = low.builder, acc.type
    if integer_width(element_of(type_)):
        return builder.add(acc, builder.multiply(lhs, rhs))
    if low.target.fma_instruction:
        return builder.overloaded("llvm.fma", (lhs, rhs, acc))
    scaled = builder.emit(xllvm.FMulOp, (lhs, rhs), type_, FLOAT)
    return builder.emit(xllvm.FAddOp, (scaled, acc), type_, FLOAT)


RULES: dict[type[Operation], Rule] = dict([entry(vector.ContractOp, contract)])
