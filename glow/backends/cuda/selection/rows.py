"""Softmax, norms, reductions, fused sums and quantization along the last axes of f32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.program.program import Invocation
from glow.backends.cpu.selection.common import epilogue_of
from glow.backends.cpu.selection.normalization import fused_rows_spec
from glow.backends.cuda.kernels.reduction.fused_rows import build_thread_rows
from glow.backends.cuda.kernels.reduction.quantized_rows import (
    quantized_rows,
    row_range,
)
from glow.backends.cuda.kernels.reduction.row_threads import Kind
from glow.backends.cuda.kernels.reduction.rows import (
    RowsSpec,
    build_rows,
    layer_norm,
    reduce_rows,
    softmax,
)
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import launch, other_elements
from glow.dialects import glow, instr
from glow.dialects.node import element_of, shape_of


def rows(
    op: instr.InstructionOp, spec: RowsSpec, operands: int = 0
) -> Sequence[Invocation] | str:
    """The kernel on the first input and so many others; an epilogue takes those behind."""
    used, behind = op.ins[: 1 + operands], op.ins[1 + operands :]
    epilogue = epilogue_of(op, behind)
    if epilogue is None and behind:
        return "it does more than that"
    if epilogue is not None and "row" in epilogue.operand_layouts:
        return "its epilogue has a number a row"
    if any(element_of(value) != f32 for value in used):
        return "it computes in other elements than f32"
    keeps_plain = op.node is cpu.LayerNormOp and len(op.outs) > 1
    spec = replace(spec, epilogue=epilogue, keeps_plain=keeps_plain)
    if len(op.outs) > 1 and not keeps_plain:
        return "it has several results"
    buffers = [*op.outs, *op.ins]
    if (problem := other_elements(spec.buffers, buffers)) is not None:
        return problem
    return launch("rows", spec, build_rows, buffers, len(op.outs))


def _softmax(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    shape = shape_of(op.ins[0])
    if op.node is glow.SoftmaxOp:
        axis = op.attributes_view().int("axis")
        if prod(shape[axis + 1 :]) != 1:
            return "its axis is not the last one"
        return rows(op, softmax(prod(shape[:axis]), shape[axis]))
    return rows(op, softmax(prod(shape[:-1]), shape[-1]))


def _layer_norm(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    shape, attributes = shape_of(op.ins[0]), op.attributes_view()
    axis = attributes.int("axis") if op.node is glow.LayerNormOp else len(shape) - 1
    if len(op.ins) < WITH_BIAS:
        return "it has no bias"
    columns = prod(shape[axis:])
    if any(prod(shape_of(value)) != columns for value in op.ins[1:WITH_BIAS]):
        return "its scale or bias has not a number a column"
    epsilon = attributes.float("epsilon")
    return rows(op, layer_norm(prod(shape[:axis]), columns, epsilon), 2)


WITH_BIAS = 3

KINDS: Mapping[type[Operation], Kind] = {
    glow.ReduceSumOp: "add",
    glow.ReduceMeanOp: "add",
    glow.ReduceMaxOp: "maximumf",
    glow.ReduceMinOp: "minimumf",
}


def _reduce(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    shape, axes = shape_of(op.ins[0]), sorted(op.attributes_view().ints("axes"))
    if axes != list(range(len(shape) - len(axes), len(shape))):
        return "its axes are not the last ones"
    outer, columns = prod(shape[: len(shape) - len(axes)]), prod(shape[axes[0] :])
    if not columns:
        return "its axes are empty"
    assert op.node is not None
    factor = 1 / columns if op.node is glow.ReduceMeanOp else 1.0
    return rows(op, reduce_rows(outer, columns, KINDS[op.node], factor))


def _per_row_quantize(
    op: instr.InstructionOp, choice: Choice
) -> Sequence[Invocation] | str:
    *outer, extent = shape_of(op.ins[0])
    spec = quantized_rows(prod(outer), extent, op.attributes_view().int("columns"))
    return launch("rows", spec, build_rows, [*op.outs, *op.ins], len(op.outs))


def _row_range(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    *outer, extent = shape_of(op.ins[0])
    spec = row_range(prod(outer), extent)
    return launch("rows", spec, build_rows, [*op.outs, *op.ins], len(op.outs))


def _fused_rows(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    for value in (*op.outs, *op.ins):
        if element_of(value) not in (f32, i1):
            return f"it has elements of {element_of(value)}"
    buffers, count = [*op.outs, *op.ins], len(op.outs)
    return launch("fused_rows", fused_rows_spec(op), build_thread_rows, buffers, count)


ROWS: Mapping[type[Operation], Row] = {
    glow.SoftmaxOp: _softmax,
    cpu.SoftmaxOp: _softmax,
    glow.LayerNormOp: _layer_norm,
    cpu.LayerNormOp: _layer_norm,
    cpu.FusedRowsOp: _fused_rows,
    cpu.PerRowQuantizeOp: _per_row_quantize,
    cpu.RowRangeOp: _row_range,
    **dict.fromkeys(KINDS, _reduce),
}
