"""Kernels of data-parallel instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Block, Operation

from glow.dialects import instr
from glow.dialects.glow.elementwise import YieldOp
from glow.dialects.node import shape_of
from glow.lowering.instr_to_loops.elementwise import ElementwiseSpec, build_elementwise
from glow.lowering.instr_to_loops.program import Invocation, KernelSelector
from glow.lowering.instr_to_loops.scalar_region import ScalarRegion
from glow.lowering.instr_to_loops.selection.common import element_of, invoke
from glow.lowering.target import Target
from glow.passes.scalar_bodies import SCALAR_BODIES, scalar_block


def _elementwise(op: instr.InstructionOp, region: ScalarRegion) -> list[Invocation]:
    spec = ElementwiseSpec(
        shape_of(op.outs[0]), tuple(shape_of(value) for value in op.ins), region
    )
    buffers = [*op.outs, *op.ins]
    return invoke("elementwise", spec, build_elementwise, buffers, len(op.outs))


def _stacked(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    assert isinstance(op, instr.StackedOp)
    return _elementwise(op, ScalarRegion(op.body.block))


def _node(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    """A single data-parallel instruction: its node's scalar body."""
    node = op.node
    assert node is not None
    block = scalar_block(
        node,
        [element_of(value) for value in op.ins],
        element_of(op.outs[0]),
        op.attributes_view(),
    )
    return _elementwise(op, ScalarRegion(block))


def _splat(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    assert isinstance(op, instr.SplatOp)
    constant = ConstantOp(op.value)
    block = Block([constant, YieldOp(operands=[[constant.result]])])
    return _elementwise(op, ScalarRegion(block))


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    **{instr.INSTRUCTION_OF[node]: _node for node in SCALAR_BODIES},
    instr.StackedOp: _stacked,
    instr.SplatOp: _splat,
}
