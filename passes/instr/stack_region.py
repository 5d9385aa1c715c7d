"""The region of a stack: what its members do to one element, one after the other.

Buffers turn into scalars: a read of what an earlier member wrote is that member's scalar,
a read of a filled buffer is a constant, any other read is an argument of the region.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import instr
from glow.dialects.node import shape_of
from glow.passes.instr.accesses import BufferRange
from glow.passes.instr.scalar_block import element_type, emit_instruction
from glow.passes.rewriting.scalar_bodies import is_scalar_node
from glow.passes.rewriting.scalar_builder import ScalarBuilder

Number = FloatAttr | IntegerAttr


@dataclass(frozen=True)
class Member:
    """An instruction of a stack; `numbers` are the operands that are known numbers."""

    at: int
    op: instr.InstructionOp
    numbers: Mapping[SSAValue, Number] = field(default_factory=dict[SSAValue, Number])


def has_body(op: Operation) -> bool:
    """Whether an instruction's work on one element is known."""
    return isinstance(op, instr.StackedOp | instr.CopyOp) or (
        isinstance(op, instr.InstructionOp)
        and op.node is not None
        and is_scalar_node(op.node)
    )


class StackBuilder:
    """Builds the `instr.stacked` of some members over the iteration space `shape`."""

    def __init__(
        self, shape: tuple[int, ...], place_of: Callable[[SSAValue], BufferRange]
    ) -> None:
        self.shape = shape
        self.place_of = place_of
        self.block = Block()
        self.builder = ScalarBuilder(self.block)
        self.current: dict[BufferRange, SSAValue] = {}
        """The scalar that each place holds now."""
        self.repeated: dict[tuple[BufferRange, tuple[int, ...]], SSAValue] = {}
        """The scalars of operands that broadcast."""
        self.read: list[SSAValue] = []
        self.written: dict[BufferRange, SSAValue] = {}

    def add(self, member: Member) -> None:
        """Append one member."""
        op = member.op
        operands = [self._read(value, member.numbers.get(value)) for value in op.ins]
        results = emit_instruction(self.builder, op, operands)
        for value, scalar in zip(op.outs, results, strict=True):
            place = self.place_of(value)
            self.current[place] = scalar
            self.written[place] = value

    def _read(self, value: SSAValue, number: Number | None) -> SSAValue:
        if number is not None:
            return self.builder.number_attr(number)
        place = self.place_of(value)
        if prod(shape_of(value)) == prod(self.shape):
            if place not in self.current:
                self.current[place] = self._argument(value)
            return self.current[place]
        key = place, shape_of(value)
        if key not in self.repeated:
            self.repeated[key] = self._argument(value)
        return self.repeated[key]

    def _argument(self, value: SSAValue) -> SSAValue:
        self.read.append(value)
        argument = self.block.insert_arg(element_type(value), len(self.block.args))
        argument.name_hint = value.name_hint
        return argument

    def finish(
        self, needed: Collection[BufferRange], before: Operation
    ) -> instr.StackedOp:
        """Insert the stack, which writes the places that are needed."""
        parent = before.parent
        assert parent is not None
        kept = {p: v for p, v in self.written.items() if p in needed} or self.written
        self.builder.yield_(*(self.current[place] for place in kept))
        stack = instr.StackedOp.build_instruction(
            [self._shaped(value, before) for value in kept.values()],
            [self._shaped(value, before) for value in self.read],
            regions=[Region(self.block)],
        )
        stack.location = before.location
        parent.insert_op_before(stack, before)
        return stack

    def _shaped(self, value: SSAValue, before: Operation) -> SSAValue:
        """The buffer, viewed in the stack's shape where it has only its size."""
        shape = shape_of(value)
        is_whole = prod(shape) == prod(self.shape)
        if shape == self.shape or not (is_whole or prod(shape) == 1):
            return value
        new_shape = self.shape if is_whole else ()
        if len(shape) <= len(self.shape) and not is_whole:
            return value
        view = instr.TensorviewOp.build_memory(
            [value], MemRefType(element_type(value), new_shape), offset=0
        )
        view.result.name_hint = value.name_hint
        assert before.parent is not None
        before.parent.insert_op_before(view, before)
        return view.result
