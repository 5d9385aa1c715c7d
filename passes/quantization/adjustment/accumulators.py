"""Keeps sums of products inside 32 bits by storing activations in a narrower range.

A sum is at most the span of the stored activations times the sum of the magnitudes of an
output channel's weights, plus the bias. That fits for 8 bits at any sensible size; where it
does not for 16 bits, the activations get as many steps as do.

    !quant.uniform<i16:f32, 1.5e-5>   becomes   !quant.uniform<i16<-11650:11650>:f32, 4.2e-5>
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization
from glow.dialects.weights import constant_value
from glow.interpreter.integer_arithmetic import quantize
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.profiling.schema import as_scale, weight_parameters

LARGEST_SUM = (1 << 31) - 1
LARGEST_WEIGHT = 127
ROUNDING = 1.01
"""Weights that are rounded otherwise than to the nearest sum up to little more."""

Array = npt.NDArray[np.generic]


def product_weights(
    op: NodeOp, options: QuantizationOptions
) -> tuple[Array, Quantization]:
    """A product's constant weights, and how they are quantized."""
    weights = constant_value(op.inputs[1])
    assert weights is not None
    array = np.asarray(weights)
    axis = 0 if isinstance(op, glow.Conv2dOp) else -1
    data = weight_parameters(
        array,
        axis if options.per_channel else None,
        power_of_two=options.schema == "power-of-two",
    )
    return array, data


def most_steps(op: NodeOp, span: float, options: QuantizationOptions) -> float:
    """How many steps an activation's span may have for the sums of a product to fit."""
    weights, data = product_weights(op, options)
    channel = 0 if isinstance(op, glow.Conv2dOp) else weights.ndim - 1
    others = tuple(axis for axis in range(weights.ndim) if axis != channel)
    stored = np.abs(quantize(weights, data).astype(np.float64)).sum(axis=others)
    bias = constant_value(op.inputs[2]) if len(op.inputs) > 2 else None
    units = 0.0 if bias is None else np.abs(bias) / (span * np.array(data.scales))
    return LARGEST_SUM / max(float((ROUNDING * stored + units).max()), 1.0)


def fit_accumulators(
    data: Quantization,
    chosen: Collection[Operation],
    values: Sequence[SSAValue],
    options: QuantizationOptions,
) -> Quantization:
    """The quantization of values with no more steps than the products reading them bear."""
    low, high = data.limits
    span = (high - low) * data.scales[0]
    readers = [
        use.operation
        for value in values
        for use in value.uses
        if use.operation in chosen and has_constant_weights(use.operation)
    ]
    limits = [
        most_steps(op, span, options)
        for op in dict.fromkeys(readers)
        if may_overflow(op, high - low)
    ]
    steps = int(min(limits, default=high - low))
    if steps >= high - low:
        return data
    factor = (high - low) / steps
    if options.schema == "power-of-two":
        factor = 2.0 ** math.ceil(math.log2(factor))
    return narrowed(data, factor)


def has_constant_weights(op: Operation) -> TypeGuard[NodeOp]:
    """Whether a node is a product with constants, and not of two bytes."""
    if not isinstance(op, tuple(PRODUCTS)):
        return False
    return constant_value(op.operands[1]) is not None


def may_overflow(op: NodeOp, steps: int) -> bool:
    """Whether the largest weights could overflow the sums."""
    weights = constant_value(op.inputs[1])
    assert weights is not None
    channel = 0 if isinstance(op, glow.Conv2dOp) else -1
    return (
        weights.size / weights.shape[channel] * LARGEST_WEIGHT * steps > LARGEST_SUM / 2
    )


def narrowed(data: Quantization, factor: float) -> Quantization:
    """The same span of numbers in steps that are larger by a factor."""
    low, high = data.limits
    steps = int((high - low) / factor)
    zero_point = data.zero_points[0]
    if data.signed and zero_point == 0:
        limits = (-(steps // 2), steps // 2)
    else:
        zero_point = min(round((zero_point - low) / factor), steps) + low
        limits = (low, low + steps)
    return replace(
        data,
        scales=(as_scale(data.scales[0] * factor),),
        zero_points=(zero_point,),
        storage_range=limits,
    )
