"""Kernels of normalizations, softmax and reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.fused_rows import rows_of_operand, space_of
from glow.backends.cpu.kernels.reduction.arg_reduce import (
    ArgReduceSpec,
    build_arg_reduce,
)
from glow.backends.cpu.kernels.reduction.fused_rows import (
    FusedRowsSpec,
    RowOperand,
    build_fused_rows,
)
from glow.backends.cpu.kernels.reduction.layer_norm import (
    LayerNormSpec,
    build_layer_norm,
)
from glow.backends.cpu.kernels.reduction.local_response_norm import (
    LocalResponseNormSpec,
    build_local_response_norm,
)
from glow.backends.cpu.kernels.reduction.reduce import ReduceSpec, build_reduce
from glow.backends.cpu.kernels.reduction.softmax import SoftmaxSpec, build_softmax
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import (
    epilogue_of,
    invoke,
    is_unsigned,
    require_f32,
    stored_element,
)
from glow.dialects import glow, instr
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of, node_name, shape_of
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target


def _softmax(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    require_f32(op)
    shape, axis = shape_of(op.ins[0]), op.attributes_view().int("axis")
    spec = SoftmaxSpec(
        prod(shape[:axis]),
        shape[axis],
        prod(shape[axis + 1 :]),
        logarithm=op.node is glow.LogSoftmaxOp,
    )
    return invoke("softmax", spec, build_softmax, [op.outs[0], op.ins[0]])


def _layer_norm(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    require_f32(op)
    shape, attributes = shape_of(op.ins[0]), op.attributes_view()
    axis = attributes.int("axis")
    spec = LayerNormSpec(
        prod(shape[:axis]),
        prod(shape[axis:]),
        attributes.float("epsilon"),
        has_bias=len(op.ins) > 2,
    )
    return invoke("layer_norm", spec, build_layer_norm, [op.outs[0], *op.ins])


def _softmax_of_rows(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    source, *epilogue_operands = op.ins
    *outer, extent = shape_of(source)
    spec = SoftmaxSpec(prod(outer), extent, epilogue=epilogue_of(op, epilogue_operands))
    return invoke("softmax", spec, build_softmax, [op.outs[0], *op.ins])


def _layer_norm_of_rows(
    op: instr.InstructionOp, target: Target
) -> Sequence[Invocation]:
    shape, attributes = shape_of(op.ins[0]), op.attributes_view()
    spec = LayerNormSpec(
        prod(shape[:-1]),
        shape[-1],
        attributes.float("epsilon"),
        epilogue=epilogue_of(op, op.ins[3:]),
        keeps_plain=len(op.outs) > 1,
    )
    buffers = [*op.outs, *op.ins]
    return invoke("layer_norm", spec, build_layer_norm, buffers, len(op.outs))


def fused_rows_spec(op: instr.InstructionOp) -> FusedRowsSpec:
    """The rows of an instruction, which is `cpu.fused_rows`."""
    space = space_of(map(shape_of, op.ins))
    region = ScalarRegion(op.regions[0].block)

    def operand(shape: tuple[int, ...]) -> RowOperand:
        rows = rows_of_operand(shape, space)
        assert rows is not None
        return RowOperand(rows, bool(shape) and shape[-1] == space[-1])

    return FusedRowsSpec(
        prod(space[:-1]),
        space[-1],
        tuple(operand(shape_of(value)) for value in op.ins),
        tuple(operand(shape_of(value)) for value in op.outs),
        region,
    )


def _fused_rows(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    spec, buffers = fused_rows_spec(op), [*op.outs, *op.ins]
    return invoke("fused_rows", spec, build_fused_rows, buffers, len(op.outs))


def local_response_norm_spec(op: instr.InstructionOp) -> LocalResponseNormSpec:
    """The norm of an instruction on plain channels or blocks."""
    shape, attributes = shape_of(op.ins[0]), op.attributes_view()
    blocked = op.node is cpu.LocalResponseNormOp
    return LocalResponseNormSpec(
        shape[0],
        attributes.int("channels") if blocked else shape[1],
        prod(shape[2:4] if blocked else shape[2:]),
        attributes.int("size"),
        attributes.float("alpha"),
        attributes.float("beta"),
        attributes.float("offset"),
        blocked,
    )


def _local_response_norm(
    op: instr.InstructionOp, target: Target
) -> Sequence[Invocation]:
    require_f32(op)
    spec = local_response_norm_spec(op)
    return invoke("lrn", spec, build_local_response_norm, [op.outs[0], op.ins[0]])


REDUCTION_KINDS: Mapping[type[NodeOp], str] = {
    glow.ReduceSumOp: "sum",
    glow.ReduceMeanOp: "mean",
    glow.ReduceMaxOp: "max",
    glow.ReduceMinOp: "min",
    glow.ReduceProdOp: "prod",
}


def _reduction_kind(op: instr.InstructionOp) -> str:
    """The reduction that computes an instruction's function in its element type."""
    assert op.node is not None
    kind, source = REDUCTION_KINDS[op.node], op.ins[0]
    if element_of(source) == i1:
        return BOOLEAN_KINDS[kind]
    has_signs = kind in ("mean", "max", "min")
    return f"{kind}_unsigned" if has_signs and is_unsigned(source) else kind


BOOLEAN_KINDS = {
    "sum": "max_unsigned",
    "mean": "min_unsigned",
    "max": "max_unsigned",
    "min": "min_unsigned",
    "prod": "min_unsigned",
}
"""What reductions of booleans are: whether any, or whether all hold."""


def _reduce(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    source = op.ins[0]
    spec = ReduceSpec(
        _reduction_kind(op),
        shape_of(source),
        op.attributes_view().ints("axes"),
        stored_element(source),
    )
    return invoke("reduce", spec, build_reduce, [op.outs[0], source])


def _arg_reduce(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    shape, attributes = shape_of(op.ins[0]), op.attributes_view()
    axis = attributes.int("axis")
    if shape[axis] == 0:
        raise GlowError("an empty axis has no largest element", node=node_name(op))
    spec = ArgReduceSpec(
        prod(shape[:axis]),
        shape[axis],
        prod(shape[axis + 1 :]),
        op.node is glow.ArgMaxOp,
        attributes.has("select_last"),
        stored_element(op.ins[0]),
        is_unsigned(op.ins[0]),
    )
    return invoke("arg_reduce", spec, build_arg_reduce, [op.outs[0], op.ins[0]])


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    glow.SoftmaxOp: _softmax,
    glow.LogSoftmaxOp: _softmax,
    glow.LayerNormOp: _layer_norm,
    cpu.SoftmaxOp: _softmax_of_rows,
    cpu.LayerNormOp: _layer_norm_of_rows,
    cpu.FusedRowsOp: _fused_rows,
    glow.LocalResponseNormOp: _local_response_norm,
    cpu.LocalResponseNormOp: _local_response_norm,
    **{node: _reduce for node in REDUCTION_KINDS},
    glow.ArgMaxOp: _arg_reduce,
    glow.ArgMinOp: _arg_reduce,
}
