"""`vector.contract` in vectors of at most 16 lanes, the widest of SPIR-V.

    acc[m, n, l] += a[m, k] * w[n, l, k]        acc[m, l] += a[m, k, l] * w[l, k]

A row of `w` has `k` elements for each of its lanes, more than one vector holds. It is read in
parts of 16; a column of each, every `k`-th element, goes to the lanes that it multiplies.
"""

from __future__ import annotations

from itertools import product

from xdsl.ir import Attribute, SSAValue

from glow.dialects import vector
from glow.lowering.loops_to_llvm.contract import (
    multiply_accumulate,
    verify_form,
)
from glow.lowering.loops_to_llvm.contract_operands import (
    Narrow,
    Operands,
    iterators_of,
    join_balanced,
    narrow_operand,
)
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import register_type
from glow.lowering.loops_to_llvm.vectors import join

WIDEST = 16
"""The lanes of the widest vectors of SPIR-V."""

Where = dict[int, int]
"""The iterators of a place."""


class NarrowOperands(Operands):
    """The operands of a contraction as vectors of few lanes."""

    def column(self, where: Where, first: int, width: int, step: int) -> SSAValue:
        """Returns element `step` of some lanes of the right operand."""
        steps = self.rhs.layout.width
        size = min(width, max(1, WIDEST // steps))
        parts: list[SSAValue] = []
        for lane in range(first, first + width, size):
            part = self.part(where, lane, size)
            mask = tuple(range(step, size * steps, steps))
            parts.append(self.picked(part, mask))
        return join_balanced(self.low, parts)

    def part(self, where: Where, lane: int, size: int) -> SSAValue:
        """Returns the elements of lane `lane`, then those of the next ..., made once."""
        place = {**where, self.rhs.dimensions[-2]: lane}
        row = self.row(self.rhs, 1, place)
        found = self.made.get(("part", row))
        if found is None:
            loaded = self.flip(self.rhs, self.load_part(row, place, size))
            found = self.made["part", row] = loaded
        return found

    def load_part(self, row: int, where: Where, size: int) -> SSAValue:
        """Returns so many rows of the right operand as one register."""
        low, layout, source = self.low, self.rhs.layout, self.rhs_source
        row_bytes = layout.width * layout.element_bytes
        if source is None or source.strides[-2] != row_bytes:
            pieces = len(layout.chunks)
            registers = low.registers(self.rhs.value)
            return join(low, registers[row * pieces : (row + size) * pieces])
        type_ = register_type(layout.element, size * layout.width)
        distance = self.offset(source, self.rhs, where)
        return low.builder.load(source.pointer, distance, type_, layout.element_bytes)

    def repeated(self, where: Where, width: int, step: int) -> SSAValue:
        """Returns element `step` of the left operand in all lanes."""
        return self.picked(self.word(where), (step,) * width)

    def lane_factors(self, where: Where, piece: int, step: int) -> SSAValue:
        """Returns element `step` of the left operand of each lane of a piece of a row."""
        layout = self.lhs.layout
        row = self.row(self.lhs, 2, where) * layout.shape[-1] + step
        registers = self.low.registers(self.lhs.value)
        return self.flip(self.lhs, registers[row * len(layout.chunks) + piece])

    def picked(self, register: SSAValue, mask: tuple[int, ...]) -> SSAValue:
        """Returns lanes of a register."""
        return self.low.builder.shuffle(
            register, self.low.builder.poison(register.type), mask
        )


def contract(low: FunctionLowering, op: vector.ContractOp) -> None:
    """The products of each lane, added one after the other."""
    lhs_map, rhs_map, acc_map = op.indexing_maps
    lhs = narrow_operand(low, op.lhs, lhs_map)
    rhs = narrow_operand(low, op.rhs, rhs_map)
    accumulated = iterators_of(acc_map)
    by_lane = verify_form(op, lhs.dimensions, rhs.dimensions, accumulated)
    operands = NarrowOperands(low, lhs, rhs)
    layout = low.layout(op.acc)
    results: list[SSAValue] = []
    for place in product(*map(range, layout.shape)):
        where = dict(zip(accumulated, place, strict=False))
        for piece, (first, width) in enumerate(layout.chunks):
            type_ = register_type(layout.element, width)
            total = low.registers(op.acc)[len(results)]
            for step in range(rhs.layout.width):
                if by_lane:
                    row = operands.lane_factors(where, piece, step)
                else:
                    row = operands.repeated(where, width, step)
                column = operands.column(where, first, width, step)
                left = extended(low, lhs, row, type_)
                right = extended(low, rhs, column, type_)
                total = multiply_accumulate(low, total, left, right)
            results.append(total)
    low.set_registers(op.result, results)


def extended(
    low: FunctionLowering, operand: Narrow, register: SSAValue, type_: Attribute
) -> SSAValue:
    """Returns narrow elements as those of the accumulator."""
    if operand.extension is None:
        return register
    return low.builder.emit(operand.extension, (register,), type_)
