"""What is quantized at run time, and products of integers with computed zero points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quantized import parameters_of
from glow.lowering.lower_quantized.parts import Lowering, Parts
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import attributes_of

LEVELS = 255.0


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


def dynamic_quantize(op: Operation, parts: Parts) -> None:
    """`glow.dynamic_quantize`."""
    assert isinstance(op, glow.DynamicQuantizeOp)
    axes = range(len(shape_of(op.input)))
    replace_by_stored(op, parts, *parameters(parts, op.input, axes))


def replace_by_stored(
    op: glow.DynamicQuantizeOp, parts: Parts, scale: SSAValue, point: SSAValue
) -> None:
    stored = quantized(parts, op.input, scale, point)
    ui8 = tensor_of(op.zero_point).element_type
    parts.replace(
        parts.convert(stored, ui8),
        parts.reshape(scale, ()),
        parts.convert(parts.reshape(point, ()), ui8),
    )


def dynamic_matmul(op: Operation, parts: Parts) -> None:
    """`glow.dynamic_matmul`."""
    assert isinstance(op, glow.DynamicMatmulOp)
    rank = len(shape_of(op.input))
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


def matmul_integer(op: Operation, parts: Parts) -> None:
    """`glow.matmul_integer`."""
    assert isinstance(op, glow.MatmulIntegerOp)
    left = less(parts, op.lhs, op.lhs_zero_point, len(shape_of(op.lhs)) - 2)
    right = less(parts, op.rhs, op.rhs_zero_point, len(shape_of(op.rhs)) - 1)
    total = parts.node(glow.MatmulOp, left, right)
    parts.replace(parts.convert(parts.convert(total, i64), i32))


def conv2d_integer(op: Operation, parts: Parts) -> None:
    """`glow.conv2d_integer`."""
    assert isinstance(op, glow.Conv2dIntegerOp)
    assert isinstance(op, NodeOp)
    image = less(parts, op.input, op.input_zero_point, 1)
    weights = less(parts, op.weights, op.weights_zero_point, 0)
    total = parts.create(glow.Conv2dOp, [image, weights], attributes_of(op))
    parts.replace(parts.convert(parts.convert(total, i64), i32))


LOWERINGS: dict[type[Operation], Lowering] = {
    glow.DynamicQuantizeOp: dynamic_quantize,
    glow.DynamicMatmulOp: dynamic_matmul,
    glow.MatmulIntegerOp: matmul_integer,
    glow.Conv2dIntegerOp: conv2d_integer,
}
