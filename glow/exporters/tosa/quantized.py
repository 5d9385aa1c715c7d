"""Nodes on quantized elements: bytes with zero points, sums of 32 bits, scales in f32.

    %y = glow.conv2d %x, %w, %b : tensor<1x8x4x4x!quant.uniform<i8:f32, 0.1>>
  becomes
    %sums = tosa.conv2d %x, %w, %b, %x_zero, %w_zero : tensor<1x4x4x8xi32>
    %units = tosa.mul (tosa.cast %sums), %scales : tensor<1x4x4x8xf32>
    %y = tosa.cast (%units, clamped) : tensor<1x4x4x8xi8>

A cast rounds once to even, as we do. `tosa.rescale` would round half up on integers: a step where
a number is halfway, which grows from layer to layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, f32, i8, i32
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import (
    DequantizeCastOp,
    Quantization,
    QuantizeCastOp,
    quantization_of,
)
from glow.dialects.weight_table import Array
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import Control, Handler
from glow.exporters.tosa.movement import HANDLERS as MOVEMENT
from glow.exporters.tosa.products import FIRST, convolution, max_pool
from glow.exporters.tosa.tosa_writer import TosaWriter


def data_of(value: SSAValue) -> Quantization:
    """The parameters of a value's type, which has signed bytes."""
    data = quantization_of(value.type)
    if data is None or not data.signed or data.bits not in (8, 32):
        raise CannotExport("with other elements than signed bytes")
    return data


def zero_point(data: Quantization) -> int:
    """The zero point, one for all."""
    points = set(data.zero_points)
    if len(points) != 1:
        raise CannotExport("with a zero point a channel")
    return points.pop()


def in_units(
    writer: TosaWriter, value: SSAValue, zero: int, scales: Array | Sequence[float]
) -> SSAValue:
    """Integers less their zero point, times a scale, or one for each of the last axis."""
    rank = len(shape_of(value))
    number = writer.cast(value, f32)
    if zero:
        number = writer.binary("sub", number, writer.one(zero, f32, rank))
    factors = np.array(scales, np.float32).reshape(*[1] * (rank - 1), -1)
    if np.equal(factors, 1).all():
        return number
    return writer.binary("mul", number, writer.array(factors, "scales"))


def finished(writer: TosaWriter, units: SSAValue, data: Quantization) -> SSAValue:
    """Numbers in units of the scale as bytes; the cast rounds to even."""
    rank, point = len(shape_of(units)), zero_point(data)
    for name, limit in zip(("maximum", "minimum"), data.limits, strict=True):
        units = writer.op(name, units, writer.one(limit - point, f32, rank))
    whole = writer.cast(units, i32)
    if point:
        whole = writer.binary("add", whole, writer.one(point, i32, rank))
    return writer.cast(whole, i8)


def clamped(writer: TosaWriter, value: SSAValue, low: int, high: int) -> SSAValue:
    """Bytes between two numbers."""
    bounds = [IntegerAttr(number, i8) for number in (low, high)]
    return writer.op("clamp", value, min_val=bounds[0], max_val=bounds[1])


def scale(data: Quantization) -> Array:
    """The scale of a tensor, in the precision that all scales are multiplied in."""
    return np.array(data.scales[:1], np.float32)


def product_scales(op: NodeOp) -> Array:
    """What sums of products are multiplied with."""
    value, weights = (data_of(one) for one in op.inputs[:2])
    sums = np.multiply(scale(value), np.array(weights.scales, np.float32))
    return np.divide(sums, scale(data_of(op.results[0])))


def _convolution(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    zeros = [zero_point(data_of(one)) for one in op.inputs[:2]]
    result = data_of(op.results[0])
    sums = convolution(writer, op, inputs, zeros, i32)
    units = in_units(writer, sums, 0, product_scales(op))
    return writer.transpose(finished(writer, units, result), FIRST)


def _fully_connected(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """A product of matrices whose sums are rescaled a column each."""
    zeros = [zero_point(data_of(one)) for one in op.inputs[:2]]
    result = data_of(op.results[0])
    if op.attributes_view().has("activation") or len(shape_of(inputs[0])) != 2:
        raise CannotExport("with an activation, or of more axes")
    operands = [writer.reshape(one, [1, *shape_of(one)]) for one in inputs[:2]]
    sums = writer.product(operands[0], operands[1], zeros, i32)
    if len(inputs) > 2:
        sums = writer.binary("add", sums, inputs[2])
    units = in_units(writer, sums, 0, product_scales(op))
    return writer.reshape(finished(writer, units, result), shape_of(op.results[0]))


def _rescale(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """A value in the scale of the result."""
    if len(inputs) > 1:
        raise CannotExport("with a multiplier")
    own, result = data_of(op.inputs[0]), data_of(op.results[0])
    if (own.scales, own.zero_points) == (result.scales, result.zero_points):
        return inputs[0]
    factor = np.divide(scale(own), scale(result))
    units = in_units(writer, inputs[0], zero_point(own), factor)
    return finished(writer, units, result)


def _relu(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    value = _rescale(writer, op, inputs)
    data = data_of(op.results[0])
    return clamped(writer, value, max(zero_point(data), data.limits[0]), data.limits[1])


def _clip(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    value, view = _rescale(writer, op, inputs), op.attributes_view()
    data = data_of(op.results[0])
    low, high = data.limits
    bounds = [
        round(min(max(number / data.scales[0] + zero_point(data), low), high))
        for number in (view.float("low"), view.float("high"))
    ]
    return clamped(writer, value, *bounds)


def _add(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    result = data_of(op.results[0])
    terms: list[SSAValue] = []
    for value, own in zip(inputs, map(data_of, op.inputs), strict=True):
        factor = np.divide(scale(own), scale(result))
        terms.append(in_units(writer, value, zero_point(own), factor))
    return finished(writer, writer.binary("add", *terms), result)


def _average_pool(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """Sums of whole planes, rescaled once."""
    (value,), view = inputs, op.attributes_view()
    own, result = data_of(op.inputs[0]), data_of(op.results[0])
    kernel = view.ints("kernel")
    if kernel != shape_of(value)[2:] or any(view.ints("pads")):
        raise CannotExport("of less than a whole plane")
    numbers = in_units(writer, value, zero_point(own), [1.0])
    total = writer.reduce("sum", numbers, [2, 3])
    count = np.float32(math.prod(kernel))
    factor = np.divide(scale(own), np.multiply(scale(result), count))
    return finished(writer, in_units(writer, total, 0, factor), result)


QUANTIZED: Mapping[type[Operation], Handler[TosaWriter]] = {
    glow.Conv2dOp: _convolution,
    glow.FullyConnectedOp: _fully_connected,
    glow.ReluOp: _relu,
    glow.ClipOp: _clip,
    glow.RescaleOp: _rescale,
    glow.AddOp: _add,
    glow.AvgPool2dOp: _average_pool,
    glow.MaxPool2dOp: max_pool,
    **{
        node: MOVEMENT[node]
        for node in (glow.ReshapeOp, glow.TransposeOp, glow.ConcatOp, glow.SliceOp)
    },
}


def _quantize(
    writer: TosaWriter, op: Operation, write: Callable[[Block], None]
) -> None:
    """Numbers in units of the scale, rounded to even by the cast."""
    value, data = writer.value(op.operands[0]), data_of(op.results[0])
    if len(data.scales) != 1:
        raise CannotExport("with a scale a channel")
    units = in_units(writer, value, 0, [1 / data.scales[0]])
    writer.bind(op.results[0], finished(writer, units, data))


def _dequantize(
    writer: TosaWriter, op: Operation, write: Callable[[Block], None]
) -> None:
    value, data = writer.value(op.operands[0]), data_of(op.operands[0])
    if len(data.scales) != 1:
        raise CannotExport("with a scale a channel")
    rank = len(shape_of(value))
    number = writer.cast(value, f32)
    centred = writer.binary("sub", number, writer.one(zero_point(data), f32, rank))
    scaled = writer.binary("mul", centred, writer.one(data.scales[0], f32, rank))
    writer.bind(op.results[0], scaled)


CASTS: Mapping[type[Operation], Control[TosaWriter]] = {
    QuantizeCastOp: _quantize,
    DequantizeCastOp: _dequantize,
}
