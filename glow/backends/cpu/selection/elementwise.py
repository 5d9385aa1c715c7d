"""Kernels of data-parallel instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.kernels.elementwise.kernel import (
    BLOCKED_RANK,
    ElementwiseSpec,
    build_elementwise,
)
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import invoke
from glow.dialects import instr
from glow.dialects.glow import scalar_attr
from glow.dialects.node import element_of, shape_of
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target
from glow.passes.instr.scalar_block import scalar_block
from glow.passes.rewriting.scalar_builder import CASTS, SCALAR_BODIES

Shape = tuple[int, ...]


def _elementwise(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    region = ScalarRegion(scalar_block(op))
    spec = merged(shape_of(op.outs[0]), tuple(map(shape_of, op.ins)), region)
    buffers = [*op.outs, *op.ins]
    return invoke("elementwise", spec, build_elementwise, buffers, len(op.outs))


def merged(
    shape: Shape, inputs: tuple[Shape, ...], region: ScalarRegion
) -> ElementwiseSpec:
    """The work in one dimension where operands are whole or numbers, so that shapes of equal
    size share a kernel; channel blocks keep their planes.
    """
    whole = all(operand == shape or prod(operand) == 1 for operand in inputs)
    if whole and len(shape) != BLOCKED_RANK:
        inputs = tuple((prod(operand),) for operand in inputs)
        shape = (prod(shape),)
    return ElementwiseSpec(shape, inputs, region)


def fill(buffer: SSAValue, number: float) -> Sequence[Invocation]:
    """A kernel that writes one number everywhere."""
    splat = instr.SplatOp.build_instruction(
        [buffer], [], value=scalar_attr(number, element_of(buffer))
    )
    region = ScalarRegion(scalar_block(splat))
    splat.erase()
    spec = ElementwiseSpec(shape_of(buffer), (), region)
    return invoke("elementwise", spec, build_elementwise, [buffer])


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    **{node: _elementwise for node in (*SCALAR_BODIES, *CASTS, cpu.RequantizeOp)},
    instr.StackedOp: _elementwise,
    instr.SplatOp: _elementwise,
}
