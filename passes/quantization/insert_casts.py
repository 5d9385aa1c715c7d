"""Puts pairs of casts around what a plan quantizes.

    %1 = glow.relu %0 : tensor<4xf32>
  becomes
    %1 = glow.relu %0 : tensor<4xf32>
    %2 = quant.qcast %1 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5>>
    %3 = quant.dcast %2 : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xf32>

for the quantized readers of %1; the others keep reading %1. The program then says in
floats what the integers will compute, and can be run as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import Quantization
from glow.dialects.weights import constant_value
from glow.interpreter.integer_arithmetic import dequantize, quantize
from glow.passes.quantization.adjustment.rounding import round_kernels
from glow.passes.quantization.casts import dequantize_value, quantize_value
from glow.passes.quantization.constants import quantize_weights
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.plan import QuantizationPlan
from glow.passes.quantization.profiling.schema import weight_parameters
from glow.passes.quantization.profiling.value_profile import ValueProfile
from glow.passes.quantization.selection import activations
from glow.passes.rewriting.node_builder import NodeBuilder, name_of

MIN_BATCHES = 16
"""Batches from which on means are good enough to correct biases by."""


def builder_after(value: SSAValue, function: FuncOp) -> NodeBuilder:
    """A builder that inserts right after a value's definition."""
    owner = value.owner
    anchor = owner.next_op if isinstance(owner, Operation) else None
    if anchor is None:
        anchor = function.body.block.first_op
    assert anchor is not None
    builder = NodeBuilder(anchor)
    return builder


def cast_values(
    function: FuncOp,
    chosen: Collection[Operation],
    parameters: Mapping[SSAValue, Quantization],
) -> None:
    """Put a pair of casts between each value and its quantized readers."""
    for value, data in parameters.items():
        builder = builder_after(value, function)
        stored = quantize_value(builder, value, data)
        floats = dequantize_value(builder, stored)
        for use in list(value.uses):
            if use.operation in chosen and value in activations(use.operation):
                use.operation.operands[use.index] = floats


def cast_constants(op: NodeOp, parameters: Mapping[int, Quantization]) -> None:
    """Quantize the constant operands of a sum or the like."""
    for index, data in parameters.items():
        value = op.inputs[index]
        numbers = constant_value(value)
        assert numbers is not None
        stored = quantize(numbers, data)
        op.operands[index] = quantize_weights(NodeBuilder(op), value, data, stored)


def cast_weights(
    op: NodeOp,
    data: Quantization,
    profile: ValueProfile | None,
    options: QuantizationOptions,
) -> None:
    """Quantize a product's weights; correct its bias by their mean error."""
    weights = constant_value(op.inputs[1])
    assert weights is not None
    rounded = round_kernels if isinstance(op, glow.Conv2dOp) else quantize
    builder, stored = NodeBuilder(op), rounded(weights, data)
    if options.bias_correction and profile is not None and knows_means(profile):
        error = dequantize(stored, data) - weights.astype(np.float64)
        correct_bias(op, builder, error, profile)
    if options.bias == "int8":
        round_bias(op, builder, options)
    op.operands[1] = quantize_weights(builder, op.inputs[1], data, stored)


def round_bias(op: NodeOp, builder: NodeBuilder, options: QuantizationOptions) -> None:
    """Make a product's constant bias one that 8 bits hold, symmetric, of one scale."""
    place = bias_place(op)
    bias = None if place is None else constant_value(place[0].operands[place[1]])
    if place is None or bias is None:
        return
    holder, index = place
    is_power = options.schema == "power-of-two"
    data = weight_parameters(np.asarray(bias), None, power_of_two=is_power)
    rounded = dequantize(quantize(np.asarray(bias), data), data)
    name = f"{name_of(holder.operands[index])}.i8"
    holder.operands[index] = builder.constant(rounded, name)


def knows_means(profile: ValueProfile) -> bool:
    """Whether enough was seen of a value for the means of its channels."""
    return profile.channel_mean is not None and profile.batches >= MIN_BATCHES


def correct_bias(
    op: NodeOp, builder: NodeBuilder, error: np.ndarray, profile: ValueProfile
) -> None:
    """Take the mean of what the error of the weights adds out of the bias.

    Source: Nagel et al., Data-Free Quantization (2019), section 4.2, with means of data.
    """
    mean, place = profile.channel_mean, bias_place(op)
    if place is None or mean is None:
        return
    holder, index = place
    bias = constant_value(holder.operands[index])
    shift = mean_product(op, error, mean)
    if bias is None or shift is None or bias.shape != shift.shape:
        return
    corrected = (bias.astype(np.float64) - shift).astype(bias.dtype)
    name = f"{name_of(holder.operands[index])}.corrected"
    holder.operands[index] = builder.constant(corrected, name)


def bias_place(op: NodeOp) -> tuple[Operation, int] | None:
    """The node and the number of its operand that is a product's constant bias."""
    if len(op.inputs) > 2:
        return op, 2
    if not op.results[0].has_one_use():
        return None
    reader = next(iter(op.results[0].uses)).operation
    if not isinstance(reader, glow.AddOp):
        return None
    return reader, 0 if reader.operands[1] is op.results[0] else 1


def mean_product(
    op: NodeOp, weights: np.ndarray, mean: np.ndarray
) -> np.ndarray | None:
    """The mean result of a product for inputs of the given mean by channel."""
    if not isinstance(op, glow.Conv2dOp):
        fits = shape_of(op.inputs[1])[0] == mean.size
        return mean @ weights if fits and weights.ndim == 2 else None
    group = op.attributes_view().int("group")
    outputs, per_group = weights.shape[:2]
    if mean.size != per_group * group:
        return None
    shares = [taps_inside(op, axis) for axis in (0, 1)]
    taps = np.einsum("oihw,h,w->oi", weights, *shares)
    taps = taps.reshape(group, outputs // group, per_group)
    return np.einsum("goc,gc->go", taps, mean.reshape(group, per_group)).reshape(-1)


def taps_inside(op: glow.Conv2dOp, axis: int) -> np.ndarray:
    """How often each tap along a spatial axis reads the image and not its padding."""
    attributes = op.attributes_view()
    size, results = (shape_of(v)[2 + axis] for v in (op.input, op.result))
    taps = (
        np.arange(shape_of(op.weights)[2 + axis]) * attributes.ints("dilations")[axis]
    )
    starts = np.arange(results) * attributes.ints("strides")[axis]
    places = starts[:, None] + taps - attributes.ints("pads")[axis]
    return ((places >= 0) & (places < size)).mean(axis=0)


def insert_casts(
    function: FuncOp, plan: QuantizationPlan, options: QuantizationOptions
) -> None:
    """Cast all that the nodes of a plan read."""
    for op, constants in plan.constants.items():
        assert isinstance(op, NodeOp)
        if isinstance(op, tuple(PRODUCTS)) and constants:
            cast_weights(op, constants[1], plan.ranges.find(op.operands[0]), options)
        else:
            cast_constants(op, constants)
    cast_values(function, plan.nodes, plan.activations)
