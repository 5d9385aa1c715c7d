"""What is quantized at run time, and products of integers with computed zero points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.quant import Quantization
from glow.dialects.quantized import parameters_of
from glow.dialects.weights import stored_value
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import centred
from glow.lowering.lower_quantized.parts import Parts
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import attributes_of, name_of
from glow.passes.rewriting.scalar_builder import ScalarBuilder, convert

LEVELS = 255.0
MIN_ROW = 256
"""Shorter rows are joined: the range of each takes a handful of instructions."""
WORD = 4
"""The depth of products of bytes is a multiple of this; more of it is zeros."""
MATRIX_AXES = 2
BYTES = np.iinfo(np.int8)
U8 = IntegerType(8, Signedness.UNSIGNED)


def parameters(
    parts: Parts, x: SSAValue, axes: Sequence[int]
) -> tuple[SSAValue, SSAValue]:
    """Scale and zero point (both f32) over the given axes, which stay as 1."""
    zero = parts.splat(0.0, f32)
    lows, highs = bounds(parts, x, x, axes)
    low, high = parts.node(glow.MinOp, lows, zero), parts.node(glow.MaxOp, highs, zero)
    return parameters_of_range(parts, low, high)


def bounds(
    parts: Parts, lows: SSAValue, highs: SSAValue, axes: Sequence[int]
) -> list[SSAValue]:
    """The smallest of the first and the largest of the second over axes, which stay as 1."""
    return [
        parts.node(reduce, value, axes=list(axes), keepdims=True)
        for reduce, value in ((glow.ReduceMinOp, lows), (glow.ReduceMaxOp, highs))
    ]


def parameters_of_range(
    parts: Parts, low: SSAValue, high: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Scale and zero point (both f32) of a range that includes 0."""
    zero = parts.splat(0.0, f32)
    span = parts.node(glow.SubOp, high, low)
    step = parts.node(glow.DivOp, span, parts.splat(LEVELS, f32))
    is_flat = parts.node(glow.EqualOp, span, zero)
    scale = parts.node(glow.SelectOp, is_flat, parts.splat(1.0, f32), step)
    ratio = parts.node(glow.DivOp, parts.node(glow.NegOp, low), scale)
    rounded = parts.node(glow.RoundOp, ratio)
    return scale, parts.node(glow.ClipOp, rounded, low=0.0, high=LEVELS)


def quantized(
    parts: Parts, x: SSAValue, scale: SSAValue, zero_point: SSAValue
) -> SSAValue:
    """The stored values as f32."""
    rounded = parts.node(glow.RoundOp, parts.node(glow.DivOp, x, scale))
    shifted = parts.node(glow.AddOp, rounded, zero_point)
    return parts.node(glow.ClipOp, shifted, low=0.0, high=LEVELS)


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


def dynamic_quantize(op: Operation) -> None:
    """`glow.dynamic_quantize`."""
    assert isinstance(op, glow.DynamicQuantizeOp)
    parts = Parts(op)
    axes = range(len(shape_of(op.input)))
    _quantize_by(op, parts, *parameters(parts, op.input, axes))


def dynamic_quantize_by_rows(op: Operation) -> bool:
    """`glow.dynamic_quantize` for backends that find the ranges of rows."""
    assert isinstance(op, glow.DynamicQuantizeOp)
    if 0 in shape_of(op.input):
        return False
    parts = Parts(op)
    _quantize_by(op, parts, *tensor_parameters(parts, op.input))
    return True


def _quantize_by(
    op: glow.DynamicQuantizeOp, parts: Parts, scale: SSAValue, point: SSAValue
) -> None:
    stored = quantized(parts, op.input, scale, point)
    ui8 = tensor_of(op.zero_point).element_type
    parts.replace(
        parts.convert(stored, ui8),
        parts.reshape(scale, ()),
        parts.convert(parts.reshape(point, ()), ui8),
    )


def dynamic_matmul(op: Operation) -> None:
    """`glow.dynamic_matmul`."""
    assert isinstance(op, glow.DynamicMatmulOp)
    parts, rank = Parts(op), len(shape_of(op.input))
    by_row = op.attributes_view().string("granularity") == "row"
    axes = [rank - 1] if by_row else list(range(rank))
    x = parts.convert(op.input, f32)
    scale, point = parameters(parts, x, axes)
    centred = parts.node(glow.SubOp, quantized(parts, x, scale, point), point)
    total = parts.node(
        glow.MatmulOp, parts.convert(centred, f64), parts.centred(op.weights, f64)
    )
    scales = np.array(parameters_of(op.weights.type).scales, np.float32)
    units = parts.node(glow.MulOp, scale, parts.number(scales))
    result = parts.node(glow.MulOp, parts.convert(total, f32), units)
    if op.bias is not None:
        result = parts.node(glow.AddOp, result, parts.convert(op.bias, f32))
    parts.replace(parts.convert(result, tensor_of(op.result).element_type))


def less(parts: Parts, value: SSAValue, point: SSAValue | None, axis: int) -> SSAValue:
    """Integers less a zero point, which may be one for each index of an axis."""
    wide = parts.convert(value, f64)
    if point is None:
        return wide
    extents = [1] * len(shape_of(value))
    if len(shape_of(point)) == 1:
        extents[axis] = shape_of(point)[0]
        point = parts.reshape(point, extents)
    return parts.node(glow.SubOp, wide, parts.convert(point, f64))


def matmul_integer(op: Operation) -> None:
    """`glow.matmul_integer`."""
    assert isinstance(op, glow.MatmulIntegerOp)
    parts = Parts(op)
    left = less(parts, op.lhs, op.lhs_zero_point, len(shape_of(op.lhs)) - 2)
    right = less(parts, op.rhs, op.rhs_zero_point, len(shape_of(op.rhs)) - 1)
    total = parts.node(glow.MatmulOp, left, right)
    parts.replace(parts.convert(parts.convert(total, i64), i32))


def conv2d_integer(op: Operation) -> None:
    """`glow.conv2d_integer`."""
    assert isinstance(op, glow.Conv2dIntegerOp)
    assert isinstance(op, NodeOp)
    parts = Parts(op)
    image = less(parts, op.input, op.input_zero_point, 1)
    weights = less(parts, op.weights, op.weights_zero_point, 0)
    total = parts.create(glow.Conv2dOp, [image, weights], attributes_of(op))
    parts.replace(parts.convert(parts.convert(total, i64), i32))


def byte_product(op: Operation) -> bool:
    """`glow.dynamic_matmul` as a product of bytes; returns whether its weights are bytes.

        %q, %s, %z = cpu.quantize_rows %x
        %sums = glow.matmul_integer %q, %w : tensor<9x64xi32>
        %y = glow.fused %sums, %z, ... : tensor<9x64xf32>

    where the last node takes the zero points off the sums, scales them and adds the bias.
    """
    assert isinstance(op, glow.DynamicMatmulOp)
    *outer, depth = shape_of(op.input)
    stored, data = stored_value(op.weights), parameters_of(op.weights.type)
    if stored is None or not stored.size or not 1 <= len(outer) <= MATRIX_AXES:
        return False
    weights = centred(stored, data)
    if not BYTES.min <= weights.min() <= weights.max() <= BYTES.max:
        return False
    parts, by_row = Parts(op), op.granularity.data == "row"
    padded = np.zeros((-(-depth // WORD) * WORD, weights.shape[1]), np.int8)
    padded[:depth] = weights
    x = parts.convert(op.input, f32)
    quantize = _quantized_rows if by_row else _quantized_tensor
    rows, scale, point = quantize(parts, x, len(padded))
    sums = parts.node(
        glow.MatmulIntegerOp,
        rows,
        parts.constant(padded, name_of(op.weights)),
        parts.constant(np.array(0, np.uint8), "zero_point"),
        parts.constant(np.array(0, np.int8), "zero_point"),
    )
    bias = None if op.bias is None else parts.convert(op.bias, f32)
    result = _scaled_sums(parts, sums, (scale, point), padded, data, bias)
    parts.replace(parts.convert(result, tensor_of(op.result).element_type))
    return True


def _quantized_rows(parts: Parts, x: SSAValue, columns: int) -> Sequence[SSAValue]:
    """Stored values, scale and zero point of each row, by one node."""
    node = parts.insert(cpu.QuantizeRowsOp.build_node([x], columns=columns))
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


BYTE_PRODUCTS: dict[type[Operation], Callable[[Operation], bool]] = {
    glow.DynamicMatmulOp: byte_product,
    glow.DynamicQuantizeOp: dynamic_quantize_by_rows,
}
"""For backends with kernels for products of bytes; each returns whether it replaced the node."""

LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    glow.DynamicQuantizeOp: dynamic_quantize,
    glow.DynamicMatmulOp: dynamic_matmul,
    glow.MatmulIntegerOp: matmul_integer,
    glow.Conv2dIntegerOp: conv2d_integer,
}
