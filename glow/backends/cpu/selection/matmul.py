"""Kernels of matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from xdsl.dialects.builtin import AnyFloat, f32
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import (
    AttentionConfig,
    BatchMatmulConfig,
    MatmulConfig,
    StrassenConfig,
)
from glow.backends.cpu.dialect.config_attributes import config_of
from glow.backends.cpu.dialect.matmul import STRASSEN_LEVELS
from glow.backends.cpu.kernels.attention.kernel import build_attention
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.kernels.matmul.batch_matmul import build_batch_matmul
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import (
    BatchMatmulSpec,
    dense_strides,
)
from glow.backends.cpu.kernels.matmul.lu import LuSpec, build_lu
from glow.backends.cpu.kernels.matmul.matmul import build_matmul
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.reduction.structured import Affine
from glow.backends.cpu.kernels.strassen.kernel import build_strassen
from glow.backends.cpu.kernels.strassen.linear_combinations import (
    StrassenCombinationsSpec,
    build_strassen_combinations,
)
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import (
    are_inside,
    checked,
    epilogue_of,
    invoke,
    is_unsigned,
    reporting,
    require_f32,
    stored_element,
)
from glow.backends.cpu.selection.elementwise import fill
from glow.backends.cpu.selection.plain import multiply_add
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.dialects import glow, instr
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, node_name, shape_of
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target


def _packed(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    lhs, weights, bias, *epilogue_operands = op.ins
    *rows, depth = shape_of(lhs)
    spec = MatmulSpec(
        prod(rows),
        shape_of(bias)[0],
        depth,
        has_bias=True,
        epilogue=epilogue_of(op, epilogue_operands),
        element=cast("AnyFloat", element_of(lhs)),
        widens=element_of(lhs) != element_of(weights),
        config=config_of(op.attributes_view(), MatmulConfig),
    )
    spec = checked(op, spec, MatmulSpec.wrong_config, target)
    buffers = [op.outs[0], lhs, weights, bias, *epilogue_operands]
    return invoke("matmul", spec, build_matmul, buffers)


def _block_quantized(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    from glow.backends.cpu.kernels.matmul import block_quantized_spec as kernel
    from glow.backends.cpu.kernels.matmul.block_quantized import build_block_quantized

    rounds = op.node is cpu.Int8BlockQuantizedMatmulOp
    lhs, _, bias, *epilogue_operands = op.ins[2 if rounds else 0 :]
    *rows, depth = shape_of(lhs)
    attributes = op.attributes_view()
    form = kernel.BlockFormat.of(attributes)
    if (wrong := form.wrong(depth)) is not None:
        raise GlowError(f"{op.name} cannot have {wrong}", node=node_name(op))
    sizes = prod(rows), shape_of(bias)[0], depth
    epilogue = epilogue_of(op, epilogue_operands)
    config = config_of(attributes, MatmulConfig)
    spec = kernel.BlockQuantizedSpec(*sizes, form, True, epilogue, rounds, config)
    spec = checked(op, spec, kernel.BlockQuantizedSpec.wrong_config, target)
    label = op.name.rsplit(".", maxsplit=1)[-1]
    return invoke(label, spec, build_block_quantized, [op.outs[0], *op.ins])


def _indexed(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    from glow.backends.cpu.kernels.matmul import indexed_matmul as kernel
    from glow.backends.cpu.kernels.movement.gather import is_whole_table

    source, weights, indices = op.ins
    matrices, width = shape_of(weights)[0], shape_of(weights)[-1]
    if width % target.lanes(32):
        raise GlowError(
            f"{op.name} cannot have panels of {width} columns: the target's registers have "
            f"{target.lanes(32)}",
            node=node_name(op),
        )
    index, inside = stored_element(indices), are_inside(indices, matrices)
    rows, depth = shape_of(source)
    spec = kernel.IndexedMatmulSpec(
        rows,
        op.attributes_view().int("columns"),
        depth,
        matrices,
        width,
        index,
        is_unsigned(indices),
        reports=not inside and not is_whole_table(index, matrices),
    )
    call, buffers = reporting if spec.reports else invoke, [op.outs[0], *op.ins]
    if op.node is cpu.IndexedMatmulOp:
        return call("indexed_matmul", spec, kernel.build_indexed_matmul, buffers)
    from glow.backends.cpu.kernels.matmul import indexed_block_matmul as blocks

    form = blocks.BlockFormat.of(op.attributes_view())
    if (wrong := form.wrong(depth)) is not None:
        raise GlowError(f"{op.name} cannot have {wrong}", node=node_name(op))
    few_bits = blocks.IndexedBlockMatmulSpec(**vars(spec), format=form)
    build = blocks.build_indexed_block_matmul
    return call("indexed_block_matmul", few_bits, build, buffers)


def _strassen_combinations(
    op: instr.InstructionOp, target: Target
) -> Sequence[Invocation]:
    *outer, columns = shape_of(op.ins[0])
    levels = op.attributes_view().int("levels")
    spec = StrassenCombinationsSpec(prod(outer), columns, levels)
    buffers = [*op.outs, op.ins[0]]
    return invoke(
        "strassen_combinations", spec, build_strassen_combinations, buffers, 2
    )


def _strassen(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    matrix, scales, sums, weights, bias, *epilogue_operands = op.ins
    products, _, depth = shape_of(sums)
    levels = STRASSEN_LEVELS[products]
    spec = StrassenSpec(
        prod(shape_of(matrix)[:-1]),
        shape_of(bias)[0],
        depth << levels,
        has_bias=True,
        epilogue=epilogue_of(op, epilogue_operands),
        levels=levels,
        config=config_of(op.attributes_view(), StrassenConfig),
    )
    spec = checked(op, spec, StrassenSpec.wrong_config, target)
    buffers = [op.outs[0], matrix, scales, sums, weights, bias, *epilogue_operands]
    return invoke("strassen", spec, build_strassen, buffers)


def _fully_connected(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    require_f32(op)
    lhs, rhs, *bias = op.ins
    (rows, depth), (_, columns) = shape_of(lhs), shape_of(rhs)
    spec = BatchMatmulSpec.dense((), rows, columns, depth, has_bias=bool(bias))
    return invoke(
        "batch_matmul", spec, build_batch_matmul, [op.outs[0], lhs, rhs, *bias]
    )


def operand_strides(
    batch: tuple[int, ...], shape: Sequence[int], transposed: bool
) -> Strides:
    """The strides of an operand whose missing batch axes repeat it."""
    *own, rows, columns = shape
    own = [1] * (len(batch) - len(own)) + own
    strides = dense_strides(batch, tuple(own), rows, columns)
    if transposed:
        return Strides(strides.batch, strides.column, strides.row)
    return strides


def _plain_matmul(op: instr.InstructionOp) -> Sequence[Invocation]:
    """A product in any element type."""
    lhs, rhs = op.ins
    *batch, rows, columns = shape_of(op.outs[0])
    attributes, extents = op.attributes_view(), tuple(batch)
    transposed = attributes.has("transpose_lhs")
    a = operand_strides(extents, shape_of(lhs), transposed)
    b = operand_strides(extents, shape_of(rhs), attributes.has("transpose_rhs"))
    return multiply_add(
        op,
        (*batch, rows, columns),
        (shape_of(lhs)[-2 if transposed else -1],),
        Affine((*a.batch, a.row, 0, a.column)),
        Affine((*b.batch, 0, b.column, b.row)),
    )


def _matmul(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    """A product of activations; transposed operands are read through their strides."""
    lhs, rhs = op.ins
    *batch, rows, columns = shape_of(op.outs[0])
    attributes = op.attributes_view()
    transposed = attributes.has("transpose_lhs")
    depth = shape_of(lhs)[-2 if transposed else -1]
    if depth == 0:
        return fill(op.outs[0], 0.0)
    if element_of(lhs) != f32:
        return _plain_matmul(op)
    extents = tuple(batch)
    spec = BatchMatmulSpec(
        extents,
        rows,
        columns,
        depth,
        operand_strides(extents, shape_of(lhs), transposed),
        operand_strides(extents, shape_of(rhs), attributes.has("transpose_rhs")),
        dense_strides(extents, extents, rows, columns),
    )
    return invoke("batch_matmul", spec, build_batch_matmul, [op.outs[0], lhs, rhs])


def permuted_strides(shape: Sequence[int], axes: Sequence[int]) -> Strides:
    """The strides of a dense tensor's axes in another order; batches of 1 repeat it."""
    steps = types.row_major_strides(tuple(shape))
    *_, row, column = (steps[axis] for axis in axes)
    batch = [0 if shape[axis] == 1 else steps[axis] for axis in axes[:-2]]
    return Strides(tuple(batch), row, column)


def _rows_times_matrix(
    attributes: Attributes, output: SSAValue, lhs: SSAValue, rhs: SSAValue
) -> BatchMatmulSpec:
    """All rows of a tensor times one matrix."""
    (*outer, depth), columns = shape_of(lhs), shape_of(output)[-1]
    return replace(
        BatchMatmulSpec.dense((), prod(outer), columns, depth),
        b=permuted_strides(shape_of(rhs), attributes.ints("rhs_axes")),
        config=config_of(attributes, BatchMatmulConfig),
    )


def batch_matmul_spec(
    attributes: Attributes, output: SSAValue, lhs: SSAValue, rhs: SSAValue
) -> BatchMatmulSpec:
    """A product of activations that lie and are stored in any order of axes."""
    lhs_axes, rhs_axes = attributes.ints("lhs_axes"), attributes.ints("rhs_axes")
    if len(rhs_axes) < len(lhs_axes):
        return _rows_times_matrix(attributes, output, lhs, rhs)
    *batch, rows, depth = (shape_of(lhs)[axis] for axis in lhs_axes)
    result_axes = attributes.ints("result_axes")
    stored = [result_axes.index(axis) for axis in range(len(result_axes))]
    return BatchMatmulSpec(
        tuple(batch),
        rows,
        shape_of(rhs)[rhs_axes[-1]],
        depth,
        permuted_strides(shape_of(lhs), lhs_axes),
        permuted_strides(shape_of(rhs), rhs_axes),
        permuted_strides(shape_of(output), stored),
        config=config_of(attributes, BatchMatmulConfig),
    )


def _batch_matmul(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    require_f32(op)
    lhs, rhs, *epilogue_operands = op.ins
    spec = batch_matmul_spec(op.attributes_view(), op.outs[0], lhs, rhs)
    spec = replace(spec, epilogue=epilogue_of(op, epilogue_operands))
    if spec.depth == 0 and spec.epilogue is None:
        return fill(op.outs[0], 0.0)
    spec = checked(op, spec, BatchMatmulSpec.wrong_config, target)
    return invoke("batch_matmul", spec, build_batch_matmul, [op.outs[0], *op.ins])


def attention_spec(
    attributes: Attributes, output: SSAValue, inputs: Sequence[SSAValue]
) -> AttentionSpec:
    """Attention over tensors that lie and are stored in any order of axes."""
    queries, keys, values, *masks = inputs
    axes = {name: attributes.ints(f"{name}_axes") for name in ("query", "key", "value")}
    *batch, rows, depth = (shape_of(queries)[axis] for axis in axes["query"])
    result_axes = attributes.ints("result_axes")
    stored = [result_axes.index(axis) for axis in range(len(result_axes))]
    mask_strides = None
    for mask in masks:
        shape = shape_of(mask)
        steps = types.row_major_strides(shape)
        *outer, row, column = (
            0 if extent == 1 else step
            for extent, step in zip(shape, steps, strict=True)
        )
        mask_strides = Strides(tuple(outer), row, column)
    return AttentionSpec(
        tuple(batch),
        rows,
        shape_of(keys)[axes["key"][-1]],
        depth,
        shape_of(values)[axes["value"][-1]],
        permuted_strides(shape_of(queries), axes["query"]),
        permuted_strides(shape_of(keys), axes["key"]),
        permuted_strides(shape_of(values), axes["value"]),
        permuted_strides(shape_of(output), stored),
        mask_strides,
        attributes.float("scale"),
        attributes.has("zero_nans"),
        config_of(attributes, AttentionConfig),
    )


def _attention(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    require_f32(op)
    spec = attention_spec(op.attributes_view(), op.outs[0], op.ins)
    spec = checked(op, spec, AttentionSpec.wrong_config, target)
    return invoke("attention", spec, build_attention, [op.outs[0], *op.ins])


def _lu(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,) = op.ins
    *batch, size, _ = shape_of(source)
    spec = LuSpec(prod(batch), size, element_of(source))
    return invoke("lu", spec, build_lu, [*op.outs, source], writes=2)


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    cpu.MatmulOp: _packed,
    cpu.BlockQuantizedMatmulOp: _block_quantized,
    cpu.Int8BlockQuantizedMatmulOp: _block_quantized,
    cpu.AttentionOp: _attention,
    cpu.BatchMatmulOp: _batch_matmul,
    cpu.IndexedMatmulOp: _indexed,
    cpu.IndexedBlockMatmulOp: _indexed,
    cpu.StrassenCombinationsOp: _strassen_combinations,
    cpu.StrassenMatmulOp: _strassen,
    glow.FullyConnectedOp: _fully_connected,
    glow.MatmulOp: _matmul,
    glow.LuOp: _lu,
}
