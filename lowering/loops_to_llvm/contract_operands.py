"""The operands of a contraction of narrow elements, seen through what widens them.

Narrow elements come straight from memory: a row of weights as one register, `k` elements of the
left operand as one word. Their extensions are left to the instruction that multiplies them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from glow.dialects import arith
from glow.dialects.vector import ShapeCastOp
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    register_type,
    row_major,
)
from glow.lowering.loops_to_llvm.lazy import ReadSource, is_lazy
from glow.lowering.loops_to_llvm.sign_flips import SIGN, is_lazy_flip
from glow.lowering.loops_to_llvm.vectors import concatenate, join

EXTENSIONS: dict[type[Operation], type[Operation]] = {
    arith.ExtUIOp: xllvm.ZExtOp,
    arith.ExtSIOp: xllvm.SExtOp,
    arith.ExtFOp: xllvm.FPExtOp,
}


DotProduct = Callable[[SSAValue, SSAValue, SSAValue], SSAValue]
"""(accumulator, word, weights) -> accumulator"""


class Narrow(NamedTuple):
    """An operand of a contraction before its extension."""

    value: SSAValue
    layout: RegisterLayout
    dimensions: tuple[int, ...]
    """The iterator of each dimension."""
    extension: type[Operation] | None
    """The llvm op that extends its elements, None where they already fit."""
    flipped: bool = False
    """Whether the highest bit of each byte is flipped before."""

    def source(self, low: FunctionLowering) -> ReadSource | None:
        """Returns where the elements lie, if they are still to be loaded and the last
        dimension is contiguous.
        """
        registers = low.registers(self.value)
        source = registers.source if is_lazy(registers) else None
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
    flipped = is_lazy_flip(value.owner)
    if flipped and isinstance(value.owner, arith.XOrIOp):
        value = value.owner.lhs
    return Narrow(value, low.layout(value), iterators_of(map_), extension, flipped)


def iterators_of(map_: AffineMapAttr) -> tuple[int, ...]:
    """Returns the iterators that an indexing map projects to."""
    results = map_.data.results
    return tuple(e.position for e in results if isinstance(e, AffineDimExpr))


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
            word = join(low, registers[row * pieces : (row + 1) * pieces])
            return self.flip(self.lhs, word)
        type_ = register_type(layout.element, layout.width)
        place = source.pointer, self.offset(source, self.lhs, where)
        word = low.builder.load(*place, type_, layout.element_bytes)
        return self.flip(self.lhs, word)

    def flip(self, operand: Narrow, register: SSAValue) -> SSAValue:
        """Returns a register with the highest bits of its bytes flipped, if they are to be."""
        if not operand.flipped:
            return register
        sign = self.low.builder.number(SIGN, register.type)
        return self.low.builder.emit(xllvm.XOrOp, (register, sign), register.type)

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
        joined = self.flip(self.lhs, joined)
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
            weights = self.flip(self.rhs, self.load_weights(row, places))
            found = self.made["weights", row] = weights
        return found

    def load_weights(self, row: int, where: dict[int, int]) -> SSAValue:
        low, layout, source = self.low, self.rhs.layout, self.rhs_source
        lanes, size = layout.shape[-1], layout.width * layout.element_bytes
        owner = self.rhs.value.owner
        if isinstance(owner, ShapeCastOp) and low.layout(owner.source).width == (
            lanes * layout.width
        ):
            pieces = len(low.layout(owner.source).chunks)
            whole = low.registers(owner.source)[row * pieces : (row + 1) * pieces]
            return join(low, whole)
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
