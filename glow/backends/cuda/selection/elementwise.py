"""Element-wise instructions: a region on operands that broadcast as in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.program.program import Invocation
from glow.backends.cuda.kernels.elementwise import (
    ElementwiseSpec,
    StridedOperand,
    build_elementwise,
)
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import is_aligned, launch, other_element
from glow.dialects import glow, instr
from glow.dialects.node import shape_of
from glow.lowering.loop_builder.ir_types import row_major_strides
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.passes.instr.scalar_block import scalar_block
from glow.passes.rewriting.scalar_builder import CASTS, SCALAR_BODIES


def broadcast_operand(
    operand: tuple[int, ...], shape: tuple[int, ...]
) -> StridedOperand:
    """A dense operand that is repeated along the axes that it has not."""
    padded = (1,) * (len(shape) - len(operand)) + operand
    steps = row_major_strides(padded)
    pairs = zip(padded, steps, strict=True)
    strides = tuple(0 if extent == 1 else step for extent, step in pairs)
    return StridedOperand(prod(operand), strides)


def _elementwise(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    shape = shape_of(op.outs[0])
    if any(shape_of(out) != shape for out in op.outs):
        return "it has results of several shapes"
    if (problem := other_element([*op.outs, *op.ins])) is not None:
        return problem
    region = ScalarRegion(scalar_block(op))
    operands = tuple(broadcast_operand(shape_of(value), shape) for value in op.ins)
    if all(operand.size == prod(shape) for operand in operands):
        shape = (prod(shape),)
        operands = tuple(StridedOperand(o.size, (1,)) for o in operands)
    spec = ElementwiseSpec(shape, region, operands, is_aligned=is_aligned(op))
    buffers, count = [*op.outs, *op.ins], len(op.outs)
    return launch("elementwise", spec, build_elementwise, buffers, count)


ROWS: Mapping[type[Operation], Row] = {
    **{node: _elementwise for node in (*SCALAR_BODIES, *CASTS, cpu.RequantizeOp)},
    glow.FusedOp: _elementwise,
    glow.SplatOp: _elementwise,
}
