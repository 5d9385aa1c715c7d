"""Nodes on quantized elements: exact integer sums, one rounding to the result's type."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from glow.dialects import glow, quant
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.node import GlowOp, NodeOp
from glow.dialects.quant import Quantization, quantization_of
from glow.dialects.quantized import any_quantized, parameters_of
from glow.interpreter import convolution, dynamic_quantization, shape
from glow.interpreter.array_functions import ACTIVATIONS
from glow.interpreter.arrays import Array, exact
from glow.interpreter.integer_arithmetic import (
    centred,
    dequantize,
    quantize,
    saturate,
    scaled,
    scales_of,
    wrapped,
)
from glow.interpreter.scalar_functions import Function

REQUANTIZE = "glow.requantize"
"""The module attribute that chooses `fixed` instead of float32 requantization."""

BYTE = 8
"""The bits of operands whose sums have 32."""


def is_fixed(op: Operation) -> bool:
    """Whether the module requantizes by integer multipliers and shifts."""
    top: Operation = op
    while (parent := top.parent_op()) is not None:
        top = parent
    mode = top.attributes.get(REQUANTIZE) if isinstance(top, ModuleOp) else None
    return isinstance(mode, StringAttr) and mode.data == "fixed"


def inputs_of(op: Operation) -> list[Quantization]:
    """The parameters of the quantized operands."""
    found = [quantization_of(value.type) for value in op.operands]
    return [data for data in found if data is not None]


def result_of(op: Operation) -> Quantization:
    """The parameters of the result."""
    return parameters_of(op.results[0].type)


def ratio(source: Array, target: Quantization) -> Array:
    """The float32 multiplier between two scales."""
    return source / scales_of(target)


# -- borders


def run_quantize(op: Operation, x: Array) -> Array:
    """`quant.qcast`."""
    return quantize(x, result_of(op))


def run_dequantize(op: Operation, x: Array) -> Array:
    """`quant.dcast`."""
    return dequantize(x, parameters_of(op.operands[0].type))


def run_storage(op: Operation, x: Array) -> Array:
    """`quant.scast` and `glow.scast`: the arrays are the stored values already."""
    return x


def run_profile(op: Operation, x: Array) -> tuple[Array, ...]:
    """`glow.quantization_profile`: whoever wants the value listens."""
    return ()


# -- products


def product_scales(op: Operation, channel_axis: int, rank: int) -> Array:
    """What one unit of an accumulator stands for, by output channel."""
    data, weights = inputs_of(op)[:2]
    scales = np.array(weights.scales, np.float32)
    units = (scales_of(data) * scales).astype(np.float32)
    extents = [1] * rank
    extents[channel_axis] = units.size
    return units.reshape(extents)


def finish_product(op: GlowOp, total: Array, channel_axis: int) -> Array:
    """The accumulators in the result's type, under the absorbed activation."""
    result_type = cast(TensorType[Attribute], op.results[0].type)
    if isinstance(result_type.element_type, IntegerType):
        return wrapped(total)
    is_wide = any(data.bits > BYTE for data in inputs_of(op)[:2])
    accumulators = total.astype(np.int64) if is_wide else wrapped(total)
    units = product_scales(op, channel_axis, total.ndim)
    target = quantization_of(result_type)
    attributes = op.attributes_view()
    if target is None:
        return activate(attributes, accumulators.astype(np.float32) * units)
    values = scaled(accumulators, ratio(units, target), is_fixed(op))
    stored = saturate(np.rint(values), target.zero_points[0], target)
    return activate_stored(attributes, stored, target)


def activate(attributes: Attributes, x: Array) -> Array:
    """An absorbed activation on float results."""
    result = convolution.activate(attributes, x)
    return result.astype(np.float32)


def activate_stored(attributes: Attributes, stored: Array, data: Quantization) -> Array:
    """An absorbed `relu` or `clip` as bounds of the stored values."""
    if not attributes.has("activation"):
        return stored
    name = attributes.string("activation")
    if name == "relu":
        return bounded(stored, data, 0.0, float("inf"))
    if name == "clip":
        low, high = attributes.floats("activation_args")
        return bounded(stored, data, low, high)
    known = ", ".join(sorted(ACTIVATIONS))
    raise GlowError(
        f"activation '{name}' has no integer form",
        hint=f"of {known}, relu and clip do; use glow.lookup_table",
    )


def bounded(stored: Array, data: Quantization, low: float, high: float) -> Array:
    """The stored values between those of two numbers."""
    bounds = quantize(np.array([low, high], np.float32), data)
    return np.clip(stored, bounds[0], bounds[1])


def biased(op: GlowOp, total: Array, bias: Array | None, trailing: int) -> Array:
    """The sums plus a bias along the axis before `trailing` others."""
    if bias is None:
        return total
    return total + exact(bias).reshape(-1, *[1] * trailing)


def run_conv2d(
    op: GlowOp, image: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.conv2d`: padding stands for the number 0."""
    data, kernel = inputs_of(op)[:2]
    attributes = op.attributes_view()
    total = convolution.convolve(
        attributes,
        centred(image, data).astype(np.float64),
        centred(weights, kernel).astype(np.float64),
        None,
        attributes.int("group"),
    )
    return finish_product(op, biased(op, total, bias, 2), 1)


def run_product(op: GlowOp, lhs: Array, rhs: Array, bias: Array | None = None) -> Array:
    """`glow.fully_connected` and `glow.matmul`."""
    left, right = inputs_of(op)[:2]
    attributes = op.attributes_view()
    a = centred(lhs, left).astype(np.float64)
    b = centred(rhs, right).astype(np.float64)
    if attributes.has("transpose_lhs"):
        a = np.swapaxes(a, -1, -2)
    if attributes.has("transpose_rhs"):
        b = np.swapaxes(b, -1, -2)
    total = biased(op, a @ b, bias, 0)
    return finish_product(op, total, total.ndim - 1)


# -- arithmetic


def operands_scaled(op: Operation, *operands: Array) -> list[Array]:
    """Each operand less its zero point, in units of the result's scale."""
    target, fixed = result_of(op), is_fixed(op)
    return [
        scaled(centred(x, data), ratio(scales_of(data), target), fixed)
        for x, data in zip(operands, inputs_of(op), strict=True)
    ]


def requantized(op: Operation, values: Array) -> Array:
    """Numbers in units of the result's scale, rounded and saturated."""
    target = result_of(op)
    return saturate(np.rint(values), target.zero_points[0], target)


def binary(function: np.ufunc) -> Function:
    """A function of two scaled operands."""

    def run(op: Operation, lhs: Array, rhs: Array) -> Array:
        return requantized(op, function(*operands_scaled(op, lhs, rhs)))

    return run


def run_mul(op: Operation, lhs: Array, rhs: Array) -> Array:
    """`glow.mul`: the exact product, scaled once."""
    left, right = inputs_of(op)
    product = centred(lhs, left) * centred(rhs, right)
    multiplier = ratio(scales_of(left) * scales_of(right), result_of(op))
    return requantized(op, scaled(product, multiplier, is_fixed(op)))


def run_relu(op: Operation, x: Array) -> Array:
    """`glow.relu`."""
    (data,) = inputs_of(op)
    positive = np.maximum(x, x.dtype.type(data.zero_points[0]))
    return requantized(op, operands_scaled(op, positive)[0])


def run_clip(op: GlowOp, x: Array) -> Array:
    """`glow.clip`: the rescaled value between the quantized bounds."""
    stored = requantized(op, operands_scaled(op, x)[0])
    attributes = op.attributes_view()
    return bounded(
        stored, result_of(op), attributes.float("low"), attributes.float("high")
    )


def run_rescale(
    op: Operation,
    x: Array,
    multiplier: Array | None = None,
    addend: Array | None = None,
) -> Array:
    """`glow.rescale`."""
    if multiplier is None or addend is None:
        return requantized(op, operands_scaled(op, x)[0])
    (data,) = inputs_of(op)
    target = result_of(op)
    factors = ratio(scales_of(data) * multiplier, target)
    offset = addend / scales_of(target)
    return requantized(op, centred(x, data).astype(np.float32) * factors + offset)


def mean_of(op: Operation, total: Array, count: Array) -> Array:
    """Sums divided by counts: one multiplier for each count."""
    (data,) = inputs_of(op)
    units = scales_of(result_of(op)) * count.astype(np.float32)
    multiplier = scales_of(data) / units
    return requantized(op, scaled(wrapped(total), multiplier, is_fixed(op)))


def run_avg_pool2d(op: GlowOp, image: Array) -> Array:
    """`glow.avg_pool2d`: padding stands for the number 0."""
    (data,) = inputs_of(op)
    attributes = op.attributes_view()
    counted = float(attributes.has("count_include_pad"))
    values = centred(image, data).astype(np.float64)
    total = convolution.fold_windows(values, attributes, (0, 0), np.add)
    ones = np.ones((1, 1, *image.shape[2:4]))
    count = convolution.fold_windows(ones, attributes, (counted, 0), np.add)
    return mean_of(op, total, np.maximum(count, 1))


def run_reduce_mean(op: GlowOp, x: Array) -> Array:
    """`glow.reduce_mean`."""
    (data,) = inputs_of(op)
    attributes = op.attributes_view()
    axes = attributes.ints("axes")
    total = centred(x, data).sum(axis=axes, keepdims=attributes.has("keepdims"))
    count = np.array(np.prod([x.shape[axis] for axis in axes]))
    return mean_of(op, total, count)


def run_lookup_table(op: Operation, x: Array, table: Array) -> Array:
    """`glow.lookup_table`."""
    low, _ = inputs_of(op)[0].full_range
    return table[x.astype(np.int64) - low]


def run_pad(op: GlowOp, x: Array) -> Array:
    """`glow.pad`: the padding's number is quantized."""
    value = np.array(op.attributes_view().float("value"), np.float32)
    return shape.pad(op, x, quantize(value, result_of(op)))


def run_gather(op: GlowOp, x: Array, indices: Array) -> Array:
    """`glow.gather`: stored integers move; rows with a scale each become floats."""
    (data, *_) = inputs_of(op)
    rows = shape.run_gather(op, x, indices)
    if data.axis is None:
        return rows
    trailing = [1] * (x.ndim - 1)
    scales, points = (
        np.array(numbers)[indices].reshape(*indices.shape, *trailing)
        for numbers in (data.scales, data.zero_points)
    )
    return (rows.astype(np.int64) - points).astype(np.float32) * scales.astype(
        np.float32
    )


def dequantize_blocks(
    attributes: Attributes, codes: Array, scales: Array, points: Array | None
) -> Array:
    """`glow.block_dequantize`, in the scales' element type."""
    axis, size = attributes.int("axis"), attributes.int("block_size")
    extent = codes.shape[axis]

    def spread(numbers: Array) -> Array:
        wide = np.repeat(numbers.astype(np.float64), size, axis)
        return np.take(wide, range(extent), axis)

    numbers = codes.astype(np.float64)
    if points is not None:
        numbers = numbers - spread(points)
    return (numbers * spread(scales)).astype(scales.dtype)


def run_block_dequantize(
    op: GlowOp, codes: Array, scales: Array, points: Array | None = None
) -> Array:
    """`glow.block_dequantize`."""
    return dequantize_blocks(op.attributes_view(), codes, scales, points)


NODES: dict[type[Operation], Function] = {
    glow.BlockDequantizeOp: run_block_dequantize,
    quant.QuantizeCastOp: run_quantize,
    quant.DequantizeCastOp: run_dequantize,
    quant.QuantStorageCastOp: run_storage,
    quant.UnsignedStorageCastOp: run_storage,
    glow.QuantizationProfileOp: run_profile,
    glow.RescaleOp: run_rescale,
    glow.LookupTableOp: run_lookup_table,
    **dynamic_quantization.NODES,
}
"""Nodes that only quantized networks have."""

INTEGER_FORMS: dict[type[Operation], Function] = {
    glow.Conv2dOp: run_conv2d,
    glow.FullyConnectedOp: run_product,
    glow.MatmulOp: run_product,
    glow.AddOp: binary(np.add),
    glow.SubOp: binary(np.subtract),
    glow.MaxOp: binary(np.maximum),
    glow.MinOp: binary(np.minimum),
    glow.MulOp: run_mul,
    glow.ReluOp: run_relu,
    glow.ClipOp: run_clip,
    glow.AvgPool2dOp: run_avg_pool2d,
    glow.ReduceMeanOp: run_reduce_mean,
    glow.PadOp: run_pad,
    glow.GatherOp: run_gather,
}
"""Other functions that nodes have on quantized elements; the rest only moves them."""


def has_quantized_elements(op: NodeOp) -> bool:
    """Whether an operand or the result of a node is quantized."""
    return any_quantized([value.type for value in (*op.operands, *op.results)])
