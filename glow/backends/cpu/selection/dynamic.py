"""Kernels of what is quantized at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.kernels.quantization.per_row_quantize import (
    PerRowQuantizeSpec,
    build_per_row_quantize,
)
from glow.backends.cpu.kernels.quantization.row_range import (
    RowRangeSpec,
    build_row_range,
)
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import invoke
from glow.dialects import instr
from glow.dialects.node import shape_of
from glow.lowering.target.target import Target


def _per_row_quantize(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    *outer, extent = shape_of(op.ins[0])
    columns = op.attributes_view().int("columns")
    spec = PerRowQuantizeSpec(prod(outer), extent, columns)
    buffers = [*op.outs, *op.ins]
    return invoke(
        "per_row_quantize", spec, build_per_row_quantize, buffers, len(op.outs)
    )


def _block_quantize(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    from glow.backends.cpu.kernels.quantization.block_quantize import (
        BlockQuantizeSpec,
        build_block_quantize,
    )

    *outer, extent = shape_of(op.ins[0])
    size = op.attributes_view().int("block_size")
    spec = BlockQuantizeSpec(prod(outer), extent, size)
    return invoke("block_quantize", spec, build_block_quantize, [*op.outs, *op.ins], 3)


def _row_range(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    *outer, extent = shape_of(op.ins[0])
    spec = RowRangeSpec(prod(outer), extent)
    return invoke("row_range", spec, build_row_range, [*op.outs, *op.ins], 2)


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    cpu.PerRowQuantizeOp: _per_row_quantize,
    cpu.BlockQuantizeOp: _block_quantize,
    cpu.RowRangeOp: _row_range,
}
