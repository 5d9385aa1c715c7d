"""Takes numbers out of the kernels of nodes that differ in these alone, which then share one.

Quantized layers of one shape have scales and zero points of their own, of which epilogues hold
some as constants. Building and compiling a kernel takes tens of milliseconds, reading a number
nothing that can be measured.

    %y = cpu.int8_conv2d %x, %w, %b, %s ... {
    ^bb0(%0: i32, %1: f32):
      %2 = arith.mulf ...
      %3 = arith.constant -1.240000e+02 : f32
      ...
  becomes, where another node has another number in the place of -124
    %n = glow.constant dense<-1.240000e+02> : tensor<1xf32>
    %y = cpu.int8_conv2d %x, %w, %b, %s, %n ... {
    ^bb0(%0: i32, %1: f32, %3: f32):
      %2 = arith.mulf ...
      ...

Targets with narrow addresses, or without vectors, have few nodes, of which each is to be small
and fast.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.int8 import Int8WindowOp
from glow.dialects import arith
from glow.dialects.node import NodeOp
from glow.dialects.weight_table import dtype_of
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.program_target import settle_target
from glow.lowering.target.target import Target
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.contract import BITS
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, erase
from glow.passes.rewriting.operations import all_operations

NODES = (
    cpu.Int8Conv2dOp,
    cpu.Int8WinogradConv2dOp,
    cpu.Int8DepthwiseConv2dOp,
    cpu.Int8MatmulOp,
)

BOUNDED = (arith.MaximumfOp, arith.MinimumfOp, math.RoundEvenOp)

MOST_NUMBERS = 4
"""Each takes a register from the tile: with five, ResNet-50 took 2 % longer."""

WIDE_ADDRESS = 64


def constants_of(op: NodeOp) -> list[arith.ConstantOp]:
    """The constants of a node's epilogue that may be operands as well.

    Bounds in front of a conversion say that it needs no saturation: they stay.
    """
    block = op.regions[0].block
    constants = [one for one in block.ops if isinstance(one, arith.ConstantOp)]
    return [one for one in constants if not _bounds_conversion(one.result)]


def _bounds_conversion(value: SSAValue) -> bool:
    """Whether what a value bounds becomes an integer, rounded or not."""
    return any(
        isinstance(reader, arith.FPToSIOp | arith.FPToUIOp)
        or (isinstance(reader, BOUNDED) and _bounds_conversion(reader.results[0]))
        for reader in (use.operation for use in value.uses)
    )


def kernel_key(op: NodeOp) -> Hashable:
    """What nodes have in common whose kernels differ in the constants of epilogues at most."""
    attributes = dict(op.properties)
    if isinstance(op, Int8WindowOp) and not any(op.attributes_view().ints("pads")):
        attributes.pop("zero_point", None)  # Nothing is padded with it.
    types = (*op.operand_types, *op.result_types)
    body = ScalarRegion(op.regions[0].block).text(constants_of(op))
    return (type(op), types, tuple(sorted(attributes.items(), key=_name)), body)


def _name(item: tuple[str, Attribute]) -> str:
    return item[0]


def families(module: ModuleOp) -> Iterator[Sequence[NodeOp]]:
    """The nodes of each kernel but for constants, where there are several."""
    found: dict[Hashable, list[NodeOp]] = {}
    for op in all_operations(module):
        if isinstance(op, NODES) and op.epilogue and op.predicate is None:
            found.setdefault(kernel_key(op), []).append(op)
    yield from (family for family in found.values() if len(family) > 1)


def share(family: Sequence[NodeOp]) -> None:
    """Make operands of the constants that are not the same in all nodes."""
    columns = list(zip(*map(constants_of, family), strict=True))
    differing = [one for one in columns if len({c.value for c in one}) > 1]
    if len(differing) > MOST_NUMBERS:
        return
    for op, *constants in zip(family, *differing, strict=True):
        if constants:
            make_operands(op, constants)


def make_operands(op: NodeOp, constants: Sequence[arith.ConstantOp]) -> None:
    """Read constants of an epilogue from operands of one element."""
    builder, block = NodeBuilder(op), op.regions[0].block
    operands = [*op.inputs]
    for constant in constants:
        value, element = constant.value, constant.result.type
        assert isinstance(value, IntegerAttr | FloatAttr)
        number = np.array([value.value.data], dtype_of(element))
        operands.append(builder.constant(number, "number"))
        argument = block.insert_arg(element, len(block.args))
        constant.result.replace_all_uses_with(argument)
        erase(constant)
    new = builder.create(
        type(op),
        operands,
        attributes_of(op),
        types=[tensor_of(op.results[0])],
        regions=[op.detach_region(op.regions[0])],
    )
    assert isinstance(new.owner, Operation)
    new.owner.location = op.location
    builder.replace(new)


@dataclass(frozen=True)
class ShareKernelsPass(ModulePass):
    """Let quantized nodes share kernels; option `target` names the machine."""

    name = "share-kernels"
    preserves = BITS
    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        if not has_many_nodes(settle_target(op, self.target)):
            return
        for family in families(op):
            share(family)


def has_many_nodes(target: Target) -> bool:
    """Whether programs of the target have more nodes than kinds of these."""
    return target.index_bits == WIDE_ADDRESS and not target.prefers_small_loops
