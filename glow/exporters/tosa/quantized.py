"""Nodes on quantized elements: bytes with zero points, sums of 32 bits, and `rescale`.

    %y = glow.conv2d %x, %w, %b : tensor<1x8x4x4x!quant.uniform<i8:f32, 0.1:3>>
  becomes
    %sums = tosa.conv2d %x, %w, %b, %x_zero, %w_zero : tensor<1x4x4x8xi32>
    %y = tosa.rescale %sums, %multiplier, %shift, %zero, %y_zero : tensor<1x4x4x8xi8>

`requantize.py` says when scales are multiplied in f32 instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.quant import (
    DequantizeCastOp,
    QuantizeCastOp,
    QuantStorageCastOp,
    quantization_of,
)
from glow.dialects.weights import stored_value
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import Control, Handler
from glow.exporters.tosa.movement import HANDLERS as MOVEMENT
from glow.exporters.tosa.movement import padded
from glow.exporters.tosa.products import FIRST, convolution, max_pool, multiplied
from glow.exporters.tosa.quantized_elementwise import BYTES, HANDLERS
from glow.exporters.tosa.requantize import (
    bounded,
    centred,
    data_of,
    finished,
    in_units,
    requantized,
    scale,
    zero_point,
)
from glow.exporters.tosa.tosa_writer import TosaWriter
from glow.interpreter.integer_arithmetic import quantize


def _largest_sum(op: NodeOp) -> float:
    """What no sum of products is above."""
    weights = shape_of(op.inputs[1])
    count = math.prod(weights) / (weights[0] if isinstance(op, glow.Conv2dOp) else 1)
    bias = stored_value(op.inputs[2]) if len(op.inputs) > 2 else None
    more = 0.0 if bias is None else float(np.abs(bias.astype(np.float64)).max())
    return count * BYTES**2 + more


def _in_result(writer: TosaWriter, op: NodeOp, total: SSAValue) -> SSAValue:
    """Sums with channels last as the elements of a product's result."""
    if element_of(op.results[0]) == i32:
        return total
    value, weights = (data_of(one) for one in op.inputs[:2])
    numbers = np.multiply(scale(value), np.array(weights.scales, np.float32))
    if quantization_of(op.results[0].type) is None:
        if "activation" in op.property_names() and op.attributes_view().has(
            "activation"
        ):
            raise CannotExport("with an activation of floats")
        return in_units(writer, total, 0, numbers)
    result, view = data_of(op.results[0]), op.attributes_view()
    numbers = np.divide(numbers, scale(result))
    stored = requantized(writer, op, total, numbers, _largest_sum(op))
    if "activation" not in op.property_names() or not view.has("activation"):
        return stored
    if view.string("activation") == "relu":
        return bounded(writer, stored, result, 0.0, math.inf)
    low, high = view.floats("activation_args")
    return bounded(writer, stored, result, low, high)


def _convolution(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    zeros = [zero_point(data_of(one)) for one in op.inputs[:2]]
    sums = convolution(writer, op, inputs, zeros, i32)
    return writer.transpose(_in_result(writer, op, sums), FIRST)


def _product(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """A product of matrices, whose sums are rescaled a column each."""
    zeros = [zero_point(data_of(one)) for one in op.inputs[:2]]
    sums = multiplied(writer, op, inputs, zeros, i32)
    if len(inputs) > 2:
        sums = writer.binary("add", sums, inputs[2])
    return writer.reshape(_in_result(writer, op, sums), shape_of(op.results[0]))


def _mean(
    writer: TosaWriter, op: NodeOp, value: SSAValue, axes: Sequence[int]
) -> SSAValue:
    """Sums along axes, which stay, rescaled once."""
    own, result = data_of(op.inputs[0]), data_of(op.results[0])
    count = math.prod(shape_of(value)[axis] for axis in axes)
    total = writer.reduce("sum", centred(writer, value, own), axes)
    number = np.divide(scale(own), np.multiply(scale(result), np.float32(count)))
    return requantized(writer, op, total, number, count * BYTES)


def _reduce_mean(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    rank = len(shape_of(inputs[0]))
    axes = [axis % rank for axis in op.attributes_view().ints("axes")]
    mean = _mean(writer, op, inputs[0], axes)
    return writer.reshape(mean, shape_of(op.results[0]))


def _average_pool(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """Of whole planes a sum; others are convolutions whose weights are one."""
    (value,), view = inputs, op.attributes_view()
    kernel = view.ints("kernel")
    if kernel == shape_of(value)[2:] and not any(view.ints("pads")):
        return _mean(writer, op, value, [2, 3])
    raise CannotExport("of less than a whole plane")


def _lookup_table(
    writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """A table of 256 entries, the first for the least byte."""
    data_of(op.inputs[0])
    return writer.op("table", inputs[0], inputs[1])


def _pad(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """A border of the byte that a number is."""
    number = np.array(op.attributes_view().float("value"), np.float32)
    stored = quantize(number, data_of(op.results[0]))
    return padded(writer, op, inputs[0], float(stored))


QUANTIZED: Mapping[type[Operation], Handler[TosaWriter]] = {
    **HANDLERS,
    glow.Conv2dOp: _convolution,
    glow.FullyConnectedOp: _product,
    glow.MatmulOp: _product,
    glow.ReduceMeanOp: _reduce_mean,
    glow.AvgPool2dOp: _average_pool,
    glow.MaxPool2dOp: max_pool,
    glow.LookupTableOp: _lookup_table,
    glow.PadOp: _pad,
    **{
        node: MOVEMENT[node]
        for node in (
            glow.ReshapeOp, glow.TransposeOp, glow.ConcatOp, glow.SliceOp,
            glow.BroadcastOp, glow.TileOp,
        )
    },
}  # fmt: skip


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
    if data.bits == 8:
        value = centred(writer, value, data)
    writer.bind(op.results[0], in_units(writer, value, 0, data.scales))


def _store(writer: TosaWriter, op: Operation, write: Callable[[Block], None]) -> None:
    """The integers that quantized elements are."""
    for value in (*op.operands, *op.results):
        if quantization_of(value.type) is not None:
            data_of(value)
    writer.bind(op.results[0], writer.value(op.operands[0]))


CASTS: Mapping[type[Operation], Control[TosaWriter]] = {
    QuantizeCastOp: _quantize,
    DequantizeCastOp: _dequantize,
    QuantStorageCastOp: _store,
}
