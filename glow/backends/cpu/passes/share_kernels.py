"""Takes numbers out of kernels of instructions that differ in these alone, which share one then.

Quantized layers of one shape have scales and zero points of their own, of which epilogues and
stacks hold some as constants. Building and compiling a kernel takes tens of milliseconds, reading a
number nothing that can be measured.

    instr.cpu.int8_conv2d @out %y, @in %x, @in %w, @in %b, @in %s {
    ^bb0(%0: i32, %1: f32):
      %2 = arith.constant 0.25 : f32
      %3 = arith.mulf ...
      %4 = arith.constant -124.0 : f32
      %5 = arith.maximumf %3, %4 : f32
      %6 = arith.fptosi ...
  becomes, where another instruction has other numbers in the places of 0.25 and -124
    %n = instr.weight dense<0.25> : memref<1xf32>
    %m = instr.weight dense<-124> : memref<1xi16>
    instr.cpu.int8_conv2d @out %y, @in %x, @in %w, @in %b, @in %s, @in %n, @in %m {
    ^bb0(%0: i32, %1: f32, %2: f32, %3: i16):
      %4 = arith.sitofp %3 : i16 to f32
      ...
      %5 = arith.maximumf ..., %4 : f32

Conversions to integers saturate, unless bounds say that they need not. A bound that is 16 bits of
whole number in memory still does, and is no NaN.

Instructions are looked at when their memory is planned: weights take none of it. Targets with
narrow addresses, or without vectors, have few instructions, of which each is to be small and fast.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import copysign

import numpy as np
from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    f32,
    i16,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from glow.backends.cpu.dialect.epilogue import EpilogueOp
from glow.backends.cpu.dialect.int8 import Int8WindowOp
from glow.dialects import arith, instr
from glow.dialects.node import SEGMENTS, NodeOp, operand_segments_attr
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import numpy_to_dense
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.program_target import settle_target
from glow.lowering.target.target import Target
from glow.passes.instr.accesses import functions_of
from glow.passes.rewriting.contract import BITS
from glow.passes.rewriting.operations import all_operations

MOST_NUMBERS = 16
"""Each is an argument of the kernel, which reads it once and keeps it on the stack."""

PLAIN = (
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.DivfOp,
    arith.AddiOp,
    arith.SubiOp,
    math.FmaOp,
)
"""Operations that are written in the same way with constants and without."""

BOUNDS = (arith.MaximumfOp, arith.MinimumfOp)
LARGEST_BOUND = 2**15 - 1
WIDE_ADDRESS = 64

Row = Sequence[arith.ConstantOp]
Family = list[tuple[instr.InstructionOp, Row]]
"""Instructions that are equal but for constants, with these."""


class Sharing:
    """Finds the instructions of a function that differ in numbers, and lets them read these."""

    def __init__(self, function: FuncOp) -> None:
        self.function = function
        self.weights: dict[tuple[Attribute, Attribute], SSAValue] = {}

    def run(self) -> None:
        """Share what can be shared."""
        for family in self.families():
            self.share(family)

    def families(self) -> Iterator[Family]:
        """The instructions of each kernel but for constants, where there are several."""
        found: dict[Hashable, Family] = {}
        for op in all_operations(self.function):
            if isinstance(op, instr.InstructionOp) and takes_numbers(op):
                if row := constants_of(op):
                    found.setdefault(kernel_key(op, row), []).append((op, row))
        yield from (family for family in found.values() if len(family) > 1)

    def share(self, family: Family) -> None:
        """Make operands of the constants that are not the same in all instructions.

        Those that are equal to each other in each instruction are one operand.
        """
        places: dict[Hashable, list[int]] = {}
        columns = zip(*(row for _, row in family), strict=True)
        for place, column in enumerate(columns):
            if len({one.value for one in column}) > 1:
                same = (_stored(column[0]), *(one.value for one in column))
                places.setdefault(same, []).append(place)
        if 0 < len(places) <= MOST_NUMBERS:
            for op, row in family:
                chosen = [[row[place] for place in equal] for equal in places.values()]
                self.make_operands(op, chosen)

    def make_operands(
        self, op: instr.InstructionOp, numbers: Sequence[Sequence[arith.ConstantOp]]
    ) -> None:
        """Read constants of a region, those of each number, from operands of one element."""
        block = op.regions[0].block
        weights: list[SSAValue] = []
        for constants in numbers:
            weights.append(self.weight(constants[0]))
            element = _stored(constants[0])
            read: SSAValue = block.insert_arg(element, len(block.args))
            if element == i16:
                whole = arith.SIToFPOp(read, f32)
                assert block.first_op is not None
                block.insert_op_before(whole, block.first_op)
                read = whole.result
            for constant in constants:
                constant.result.replace_all_uses_with(read)
                constant.detach()
                constant.erase()
        segments = (len(op.outs), len(op.inouts), len(op.ins) + len(weights))
        new = type(op).create(
            operands=[*op.operands, *weights],
            properties={**op.properties, SEGMENTS: operand_segments_attr(*segments)},
            attributes=op.attributes,
            regions=[op.detach_region(op.regions[0])],
        )
        new.location = op.location
        Rewriter.replace_op(op, new)

    def weight(self, constant: arith.ConstantOp) -> SSAValue:
        """The memory of a number: one for all that are equal."""
        element, value = _stored(constant), constant.value
        known = self.weights.get((element, value))
        if known is None:
            assert isinstance(value, FloatAttr | IntegerAttr)
            number = np.array([value.value.data], dtype_of(element))
            weight = instr.WeightOp.create(
                result_types=[MemRefType(element, [1])],
                properties={"value": numpy_to_dense(number)},
            )
            first = self.function.body.block.first_op
            assert first is not None
            self.function.body.block.insert_op_before(weight, first)
            known = self.weights[element, value] = weight.result
        return known


def constants_of(op: instr.InstructionOp) -> Row:
    """The constants of a region that may be operands as well."""
    constants = [
        one for one in op.regions[0].block.ops if isinstance(one, arith.ConstantOp)
    ]
    return [one for one in constants if _may_be_read(one)]


def _may_be_read(constant: arith.ConstantOp) -> bool:
    """Whether a kernel that reads the number is as fast as one that knows it."""
    if constant.result.type not in (f32, i32):
        return False
    readers = [use.operation for use in constant.result.uses]
    return all(isinstance(one, PLAIN) for one in readers) or _is_bound(constant)


def kernel_key(op: instr.InstructionOp, row: Row) -> Hashable:
    """What instructions have in common whose kernels differ in these constants at most."""
    attributes = dict(op.properties)
    if _is_node(op, Int8WindowOp) and not any(op.attributes_view().ints("pads")):
        attributes.pop("zero_point", None)  # Nothing is padded with it.
    body = ScalarRegion(op.regions[0].block).text(row)
    stored = tuple(_stored(constant) for constant in row)
    named = tuple(sorted(attributes.items(), key=lambda item: item[0]))
    return (type(op), op.operand_types, named, body, stored)


def takes_numbers(op: instr.InstructionOp) -> bool:
    """Whether an instruction has a region and may have operands that only this one reads."""
    is_known = isinstance(op, instr.StackedOp) or _is_node(op, EpilogueOp)
    return is_known and len(op.regions) == 1 and bool(op.regions[0].blocks)


def _is_node(op: instr.InstructionOp, kind: type[NodeOp]) -> bool:
    return op.node is not None and issubclass(op.node, kind)


def _is_bound(constant: arith.ConstantOp) -> bool:
    """Whether a number of few bits bounds other values, and does nothing else."""
    value = constant.value
    if not isinstance(value, FloatAttr):
        return False
    number = value.value.data
    return (
        number.is_integer()
        and copysign(1, number) == copysign(1, int(number))
        and abs(number) <= LARGEST_BOUND
        and all(
            isinstance(use.operation, BOUNDS) and use.index == 1
            for use in constant.result.uses
        )
    )


def _stored(constant: arith.ConstantOp) -> Attribute:
    """The type of a number in memory."""
    return i16 if _is_bound(constant) else constant.result.type


@dataclass(frozen=True)
class ShareKernelsPass(ModulePass):
    """Let instructions share kernels; option `target` names the machine."""

    name = "share-kernels"
    preserves = BITS
    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        target = settle_target(op, self.target)
        if has_many_instructions(target):
            for function in functions_of(op):
                Sharing(function).run()


def has_many_instructions(target: Target) -> bool:
    """Whether programs of the target have more instructions than kinds of these."""
    return target.index_bits == WIDE_ADDRESS and not target.prefers_small_loops
