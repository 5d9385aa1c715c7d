"""What is quantized at run time, by kernels that find the ranges of rows.

  %y = glow.dynamic_matmul %x, %w : tensor<9x64xf32>
becomes
  %q, %s, %z = cpu.per_row_quantize %x
  %sums = glow.matmul_integer %q, %w : tensor<9x64xi32>
  %y = glow.fused %sums, %z, ... : tensor<9x64xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.node import shape_of, tensor_type
from glow.dialects.quant import Quantization
from glow.dialects.quantized import parameters_of
from glow.dialects.weights import stored_value
from glow.interpreter.arrays import Array
from glow.lowering.lower_quantized.byte_weights import ByteWeights
from glow.lowering.lower_quantized.dynamic import (
    bounds,
    parameters_of_range,
    quantized,
    replace_by_stored,
)
from glow.lowering.lower_quantized.parts import Parts
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import name_of
from glow.passes.rewriting.scalar_builder import ScalarBuilder, convert

MIN_ROW = 256
"""Shorter rows are joined: the range of each takes a handful of instructions."""
WORD = 4
"""The depth of int8 products is a multiple of this; more of it is zeros."""
MATRIX_AXES = 2
U8 = IntegerType(8, Signedness.UNSIGNED)


def tensor_parameters(parts: Parts, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Scale and zero point (both f32) of a whole tensor, from the ranges of its rows."""
    shape = shape_of(x)
    split = len(shape)
    while split and prod(shape[split:]) < MIN_ROW:
        split -= 1
    matrix = parts.reshape(x, (prod(shape[:split]), prod(shape[split:])))
    rows = parts.insert(cpu.RowRangeOp.build_node([matrix])).results
    ends = bounds(parts, rows[0], rows[1], range(2))
    low, high = (parts.reshape(end, [1] * len(shape)) for end in ends)
    return parameters_of_range(parts, low, high)


def dynamic_quantize_by_rows(op: Operation) -> bool:
    """`glow.dynamic_quantize` from the ranges of its rows."""
    assert isinstance(op, glow.DynamicQuantizeOp)
    if 0 in shape_of(op.input):
        return False
    parts = Parts(op)
    replace_by_stored(op, parts, *tensor_parameters(parts, op.input))
    return True


def int8_matmul(op: Operation) -> bool:
    """`glow.dynamic_matmul` as an int8 product; returns whether its weights are bytes.

        %q, %s, %z = cpu.per_row_quantize %x
        %sums = glow.matmul_integer %q, %w : tensor<9x64xi32>
        %y = glow.fused %sums, %z, ... : tensor<9x64xf32>

    where the last node takes the zero points off the sums, scales them and adds the bias. Of
    weights of nine bits a multiple of the sum of each row comes to its sums before. More axes
    of rows than kernels know are one.
    """
    assert isinstance(op, glow.DynamicMatmulOp)
    *outer, depth = shape_of(op.input)
    stored, data = stored_value(op.weights), parameters_of(op.weights.type)
    if stored is None or not outer:
        return False
    weights = ByteWeights.of(stored, np.array(data.zero_points), 1)
    if weights is None:
        return False
    parts, by_row = Parts(op), op.granularity.data == "row"
    padded = np.zeros((-(-depth // WORD) * WORD, stored.shape[1]), np.int8)
    padded[:depth] = weights.stored
    x = parts.convert(op.input, f32)
    if len(outer) > MATRIX_AXES:
        x = parts.reshape(x, (prod(outer), depth))
    quantize = _quantized_rows if by_row else _quantized_tensor
    rows, scale, point = quantize(parts, x, len(padded))
    sums = parts.node(
        glow.MatmulIntegerOp,
        rows,
        parts.constant(padded, name_of(op.weights)),
        parts.constant(np.array(0, np.uint8), "zero_point"),
        parts.constant(np.array(0, np.int8), "zero_point"),
    )
    if weights.is_shifted:
        sums = _with_shifts(parts, sums, rows, weights.shifts)
    bias = None if op.bias is None else parts.convert(op.bias, f32)
    result = _scaled_sums(parts, sums, (scale, point), weights.whole, data, bias)
    result = parts.reshape(result, shape_of(op.result))
    parts.replace(parts.convert(result, tensor_of(op.result).element_type))
    return True


def _with_shifts(
    parts: Parts, sums: SSAValue, rows: SSAValue, shifts: Array
) -> SSAValue:
    """Sums with what the shifts of columns add, which is as much as there is in a row."""
    axis = len(shape_of(rows)) - 1
    wide = parts.convert(rows, i32)
    row_sums = parts.node(glow.ReduceSumOp, wide, axes=[axis], keepdims=True)
    more = parts.node(glow.MulOp, row_sums, parts.constant(shifts, "shifts"))
    return parts.node(glow.AddOp, sums, more)


def _quantized_rows(parts: Parts, x: SSAValue, columns: int) -> Sequence[SSAValue]:
    """Stored values, scale and zero point of each row, by one node."""
    node = parts.insert(cpu.PerRowQuantizeOp.build_node([x], columns=columns))
    return node.results


def _quantized_tensor(parts: Parts, x: SSAValue, columns: int) -> Sequence[SSAValue]:
    """Stored values, scale and zero point of all rows."""
    rank = len(shape_of(x))
    scale, point = tensor_parameters(parts, x)
    stored = parts.convert(quantized(parts, x, scale, point), U8)
    missing = columns - shape_of(x)[-1]
    if missing:
        pads = [0] * (2 * rank - 1) + [missing]
        stored = parts.node(glow.PadOp, stored, pads=pads)
    return stored, scale, parts.convert(point, i32)


def _scaled_sums(
    parts: Parts,
    sums: SSAValue,
    parameters: tuple[SSAValue, SSAValue],
    weights: Array,
    data: Quantization,
    bias: SSAValue | None,
) -> SSAValue:
    """`float(sums - zero_point * column sums) * (scale * weight scale) + bias`, as one node."""
    scale, point = parameters
    columns = weights.shape[1]
    totals = weights.astype(np.int64).sum(0).astype(np.int32)
    scales = np.broadcast_to(np.array(data.scales, np.float32), (columns,))
    operands = [
        sums,
        point,
        parts.constant(totals, "column_sums"),
        scale,
        parts.constant(np.ascontiguousarray(scales), "scales"),
        *([] if bias is None else [bias]),
    ]
    block = Block(arg_types=[tensor_of(value).element_type for value in operands])
    builder = ScalarBuilder(block)
    acc, shift, total, row, column, *rest = block.args
    number = convert(builder, builder.sub(acc, builder.mul(shift, total)), f32)
    result = builder.mul(number, builder.mul(row, column))
    for addend in rest:
        result = builder.add(result, addend)
    builder.yield_(result)
    types = [tensor_type(shape_of(sums), f32)]
    return parts.create(
        glow.FusedOp, operands, {}, types=types, regions=[Region(block)]
    )


REWRITES: dict[type[Operation], Callable[[Operation], bool]] = {
    glow.DynamicMatmulOp: int8_matmul,
    glow.DynamicQuantizeOp: dynamic_quantize_by_rows,
}
"""Each returns whether it replaced the node."""
