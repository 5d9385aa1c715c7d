"""The kernels: a selector reads an instruction and asks for code on its buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32

from glow.backends.cpu import extension as cpu
from glow.dialects import glow, instr
from glow.dialects.node import element_of, shape_of
from glow_npu.dialect import DenseReluOp

Kernels = Sequence[cpu.Invocation]

RELU = cpu.ScalarRegion.trace(lambda b, x: b.maximumf(x, b.constant(0.0, f32)), [f32])
LARGER = cpu.ScalarRegion.trace(lambda b, x, y: b.maximumf(x, y), [f32, f32])


def dense_relu(op: instr.InstructionOp, target: cpu.Target) -> Kernels:
    """One product, with bias and ReLU while the sums are in registers."""
    (rows, depth), (_, columns) = shape_of(op.ins[0]), shape_of(op.ins[1])
    relu = cpu.RegionEpilogue(RELU, ())
    spec = cpu.BatchMatmulSpec.dense(
        (), rows, columns, depth, has_bias=True, epilogue=relu
    )
    buffers = [*op.outs, *op.ins]
    return cpu.invoke("npu_dense_relu", spec, cpu.build_batch_matmul, buffers)


def row_maxima(op: instr.InstructionOp, target: cpu.Target) -> Kernels:
    """A loop over each row; other axes and elements have the CPU's kernel."""
    (source,), axes = op.ins, op.attributes_view().ints("axes")
    *outer, extent = shape_of(source)
    if axes != (len(outer),) or element_of(source) != f32:
        return cpu.CPU_SELECTORS[type(op)](op, target)
    rows = prod(outer)
    numbers = cpu.Operand(rows * extent, cpu.Affine((extent, 1)))
    spec = cpu.StructuredSpec((rows,), (extent,), (numbers,), LARGER, float("-inf"))
    return cpu.invoke("npu_row_maxima", spec, cpu.build_structured, [*op.outs, source])


SELECTORS = {
    instr.instruction_of(DenseReluOp): dense_relu,
    instr.instruction_of(glow.ReduceMaxOp): row_maxima,
}
