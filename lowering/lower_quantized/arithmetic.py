"""Casts, sums, pools, rescaling, tables and movement on stored integers."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.quant import DequantizeCastOp, Quantization, QuantizeCastOp
from glow.dialects.quantized import is_quantized, parameters_of, stored_type
from glow.dialects.weights import constant_value, stored_value
from glow.interpreter.arrays import Array
from glow.interpreter.convolution import window_counts
from glow.interpreter.integer_arithmetic import quantize, scales_of
from glow.lowering.lower_quantized.parts import (
    Bounds,
    Lowering,
    Parts,
    scale_of,
    whole_bits,
)
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import attributes_of, name_of

EXACT_BITS = 21
"""An f32 holds whole numbers of that many bits with three to spare for rounding."""


def target_of(op: Operation) -> Quantization:
    """The quantization of a node's result."""
    return parameters_of(op.results[0].type)


def quantize_cast(op: Operation, parts: Parts) -> None:
    """`quant.qcast`."""
    assert isinstance(op, QuantizeCastOp)
    data = target_of(op)
    value = parts.no_nan(op.input)
    scales = parts.number(scales_of(data, len(shape_of(value))))
    parts.replace(parts.finish(parts.node(glow.DivOp, value, scales), data))


def dequantize_cast(op: Operation, parts: Parts) -> None:
    """`quant.dcast`."""
    assert isinstance(op, DequantizeCastOp)
    scales = scales_of(parameters_of(op.input.type), len(shape_of(op.input)))
    rounded = parts.before_storing(op.input)
    if rounded is None:
        centred = parts.centred(op.input)
    else:  # By way of integers: a negative number may have been rounded to -0.
        centred = parts.convert(parts.convert(rounded, i32), f32)
    parts.replace(parts.scaled(centred, scales))


def in_units(
    parts: Parts, value: SSAValue, data: Quantization, *, is_last: bool = True
) -> SSAValue:
    """A quantized value in units of the result's scale."""
    whole = parts.whole(value)
    centred = parts.last_centred(value) if is_last else parts.centred(value, whole)
    units = scale_of(value) / scales_of(data)
    return parts.rescaled(centred, units, whole_bits(value))


def in_another_scale(
    parts: Parts, value: SSAValue, data: Quantization, bounds: Bounds | None = None
) -> SSAValue:
    """A quantized value under another scale and zero point, within bounds."""
    units, bits = scale_of(value) / scales_of(data), whole_bits(value)
    return parts.requantized(parts.last_centred(value), units, data, bounds, bits)


def made_last(op: NodeOp) -> SSAValue:
    """The operand whose node comes last; a product before it can do what is done to it.

    The way back from the node is short where the block is long.
    """
    makers = {value.owner: value for value in reversed(op.inputs)}
    before = op.prev_op
    while before is not None and before not in makers:
        before = before.prev_op
    return op.inputs[0] if before is None else makers[before]


def binary(op: Operation, parts: Parts) -> None:
    """Sums, differences, maxima and minima."""
    assert isinstance(op, NodeOp)
    data = target_of(op)
    last = made_last(op)
    operands = [in_units(parts, v, data, is_last=v is last) for v in op.inputs]
    if i64 in [tensor_of(value).element_type for value in operands]:
        operands = [parts.convert(value, i64) for value in operands]
    parts.replace(parts.finish(parts.node(type(op), *operands), data))


def multiply(op: Operation, parts: Parts) -> None:
    """The exact product, scaled once."""
    assert isinstance(op, glow.MulOp)
    data = target_of(op)
    lhs, rhs = op.inputs
    element, bits = parts.whole(lhs, rhs), whole_bits(lhs, rhs)
    factors = (parts.centred(value, element) for value in op.inputs)
    product = parts.node(glow.MulOp, *factors)
    units = scale_of(lhs) * scale_of(rhs) / scales_of(data)
    parts.replace(parts.requantized(product, units, data, bits=bits))


def relu(op: Operation, parts: Parts) -> None:
    """What is above zero, in units of the result's scale."""
    data = target_of(op)
    operand = op.operands[0]
    positive = parts.node(glow.ReluOp, parts.last_centred(operand))
    units = scale_of(operand) / scales_of(data)
    bits = whole_bits(operand)
    parts.replace(parts.requantized(positive, units, data, bits=bits))


def stored_bounds(data: Quantization, low: float, high: float) -> Bounds:
    """The stored values of two numbers."""
    bounds = quantize(np.array([low, high], np.float32), data)
    return float(bounds[0]), float(bounds[1])


def clip(op: Operation, parts: Parts) -> None:
    """The rescaled value between the stored bounds."""
    assert isinstance(op, glow.ClipOp)
    data, attributes = target_of(op), op.attributes_view()
    bounds = stored_bounds(data, attributes.float("low"), attributes.float("high"))
    parts.replace(in_another_scale(parts, op.operand, data, bounds))


def rescale(op: Operation, parts: Parts) -> None:
    """Another scale, or a multiplier and an addend."""
    assert isinstance(op, glow.RescaleOp)
    data = target_of(op)
    if op.multiplier is None or op.addend is None:
        parts.replace(in_another_scale(parts, op.input, data))
        return
    units, offset, is_finite = affine_parameters(parts, op, op.multiplier, op.addend)
    if is_finite:
        parts.replace(parts.affine(op.input, units, offset, data))
        return
    total = parts.affine_numbers(op.input, units, offset)
    parts.replace(parts.finish(parts.no_nan(total), data))


def affine_parameters(
    parts: Parts, op: glow.RescaleOp, multiplier: SSAValue, addend: SSAValue
) -> tuple[SSAValue, SSAValue, bool]:
    """Multiplier and addend for stored values and in units of the result's scale, and whether
    both are known to be finite.
    """
    before, after = scale_of(op.input), scales_of(target_of(op))
    factors, addends = constant_value(multiplier), constant_value(addend)
    if factors is not None and addends is not None:
        with np.errstate(all="ignore"):
            units = np.asarray(factors, np.float32) * before / after
            offset = np.asarray(addends, np.float32) / after
        is_finite = bool(np.isfinite(units).all() and np.isfinite(offset).all())
        return parts.number(units), parts.number(offset), is_finite
    scale = parts.number(after)
    scaled = parts.node(glow.MulOp, multiplier, parts.number(before))
    units, offset = (parts.node(glow.DivOp, x, scale) for x in (scaled, addend))
    return units, offset, False


def mean_of(op: Operation, parts: Parts, total: SSAValue, count: Array) -> None:
    """Sums, whole numbers in floats, divided by counts."""
    data = target_of(op)
    units = scale_of(op.operands[0]) / (scales_of(data) * count.astype(np.float32))
    parts.replace(parts.requantized(total, units, data))


def sum_type(value: SSAValue, count: Array) -> Attribute:
    """The float type that holds sums of so many stored values, and whose mean of them
    times their number is off by less than a half.
    """
    largest = float(count) * 2.0 ** parameters_of(value.type).bits
    return f32 if largest < 2**EXACT_BITS else f64


def average_pool(op: Operation, parts: Parts) -> None:
    """The mean times the count is the sum, after rounding."""
    assert isinstance(op, glow.AvgPool2dOp)
    counts = window_counts(op.attributes_view(), shape_of(op.input)[2:4])
    if np.all(counts == counts.flat[0]):
        counts = counts.reshape(-1)[:1]
    element = sum_type(op.input, np.max(counts))
    mean = parts.node(
        glow.AvgPool2dOp, parts.centred(op.input, element), **attributes_of(op)
    )
    total = parts.node(glow.MulOp, mean, parts.number(counts, element))
    mean_of(op, parts, parts.node(glow.RoundOp, total), counts)


def reduce_mean(op: Operation, parts: Parts) -> None:
    """The exact sum over the count."""
    assert isinstance(op, glow.ReduceMeanOp)
    axes = op.attributes_view().ints("axes")
    count = np.array(np.prod([shape_of(op.input)[axis] for axis in axes]))
    centred = parts.centred(op.input, sum_type(op.input, count))
    total = parts.node(glow.ReduceSumOp, centred, **attributes_of(op))
    mean_of(op, parts, total, count)


def lookup_table(op: Operation, parts: Parts) -> None:
    """A gather by the stored value; negative ones find the entries at the end."""
    assert isinstance(op, glow.LookupTableOp)
    array = stored_value(op.table)
    (low, _), index = parameters_of(op.input.type).full_range, parts.stored(op.input)
    if low and array is None:
        wide = parts.convert(index, i64)
        found = (op.table, parts.node(glow.SubOp, wide, parts.splat(low, i64)))
    elif low and array is not None:
        found = (parts.constant(np.roll(array, low), name_of(op.table)), index)
    else:
        found = (op.table, index)
    entries = parts.node(glow.GatherOp, *found, axis=0)
    parts.replace(parts.quantized(entries, target_of(op)))


def embedding_lookup(op: Operation, parts: Parts) -> None:
    """Rows of a table with a scale each; other gathers move integers."""
    assert isinstance(op, glow.GatherOp)
    data = parameters_of(op.input.type)
    if data.axis is None:
        move(op, parts)
        return
    shape = shape_of(op.result)
    indices = shape_of(op.indices)
    trailing = (*indices, *[1] * (len(shape) - len(indices)))

    def of_rows(numbers: tuple[float, ...]) -> SSAValue:
        table = parts.constant(np.array(numbers, np.float32), "rows")
        found = parts.node(glow.GatherOp, table, op.indices, axis=0)
        return parts.reshape(found, trailing)

    rows = parts.node(glow.GatherOp, parts.stored(op.input), op.indices, axis=0)
    points = tuple(float(point) for point in data.zero_points)
    centred = parts.node(glow.SubOp, parts.convert(rows, f32), of_rows(points))
    parts.replace(parts.node(glow.MulOp, centred, of_rows(data.scales)))


def move(op: Operation, parts: Parts) -> None:
    """Nodes that move or choose elements, on the stored integers."""
    assert isinstance(op, NodeOp)
    attributes = attributes_of(op)
    operands = [
        parts.stored(value) if is_quantized(value.type) else value
        for value in op.inputs
    ]
    if isinstance(op, glow.PadOp):
        number = np.array(op.attributes_view().float("value"), np.float32)
        attributes["value"] = float(quantize(number, target_of(op)))
    result_type = stored_type(tensor_of(op.results[0]))
    types = [tensor_type(result_type.get_shape(), result_type.element_type)]
    moved = parts.create(type(op), operands, attributes, types=types)
    parts.replace(parts.quantized(moved, target_of(op)))


LOWERINGS: dict[type[Operation], Lowering] = {
    QuantizeCastOp: quantize_cast,
    DequantizeCastOp: dequantize_cast,
    glow.AddOp: binary,
    glow.SubOp: binary,
    glow.MaxOp: binary,
    glow.MinOp: binary,
    glow.MulOp: multiply,
    glow.ReluOp: relu,
    glow.ClipOp: clip,
    glow.RescaleOp: rescale,
    glow.AvgPool2dOp: average_pool,
    glow.ReduceMeanOp: reduce_mean,
    glow.LookupTableOp: lookup_table,
    glow.GatherOp: embedding_lookup,
    **dict.fromkeys(
        (
            glow.ReshapeOp, glow.TransposeOp, glow.ConcatOp, glow.SliceOp, glow.PadOp,
            glow.BroadcastOp, glow.TileOp, glow.MaxPool2dOp, glow.SelectOp,
        ),
        move,
    ),
}  # fmt: skip
