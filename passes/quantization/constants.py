"""Weights and biases as stored integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.quant import Quantization
from glow.dialects.quantized import is_quantized
from glow.dialects.weight_table import Array
from glow.dialects.weights import constant_value, stored_value
from glow.interpreter.integer_arithmetic import dequantize, quantize
from glow.passes.quantization.casts import (
    dequantize_value,
    dequantized,
    element,
)
from glow.passes.rewriting.node_builder import NodeBuilder, name_of

ACCUMULATOR_BITS = 32
SCALE_TOLERANCE = 1e-5


def quantize_weights(
    builder: NodeBuilder, value: SSAValue, data: Quantization, stored: Array
) -> SSAValue:
    """Constant weights, as the integers they are rounded to, behind a `quant.dcast`."""
    name = f"{name_of(value)}.i{data.bits}"
    return dequantize_value(builder, builder.quantized_constant(stored, data, name))


def bias_parameters(left: Quantization, right: Quantization) -> Quantization:
    """The quantization of sums of products: the float32 products of the scales."""
    units = np.float32(left.scales[0]) * np.array(right.scales, np.float32)
    axis = None if right.axis is None else 0
    zeros = (0,) * len(right.scales)
    return Quantization(ACCUMULATOR_BITS, True, tuple(units.tolist()), zeros, axis)


def constant_floats(value: SSAValue) -> npt.NDArray[np.generic] | None:
    """The numbers of a constant, quantized or not; None for what is computed."""
    source = dequantized(value)
    if source is None:
        return constant_value(value)
    stored, data = stored_value(source), element(source)
    return None if stored is None or data is None else dequantize(stored, data)


def has_floats(value: SSAValue) -> bool:
    """Whether a value is a constant, quantized or not, without a look at its numbers."""
    source = dequantized(value)
    owner = (value if source is None else source).owner
    if not isinstance(owner, glow.ConstantOp | glow.SplatOp):
        return False
    return (source is None) != is_quantized(owner.results[0].type)


def accumulator_bias(
    builder: NodeBuilder, bias: SSAValue, left: Quantization, right: Quantization
) -> SSAValue | None:
    """A constant bias as 32-bit integers at the scale of the sums; None if computed."""
    wanted = bias_parameters(left, right)
    source = dequantized(bias)
    if source is not None and _same_scales(element(source), wanted):
        return source
    floats = constant_floats(bias)
    if floats is None:
        return None
    stored = quantize(np.asarray(floats), wanted)
    return builder.quantized_constant(stored, wanted, f"{name_of(bias)}.i32")


def _same_scales(data: Quantization | None, wanted: Quantization) -> bool:
    if data is None or data.bits != ACCUMULATOR_BITS or any(data.zero_points):
        return False
    found, expected = np.array(data.scales), np.array(wanted.scales)
    if found.size not in (1, expected.size):
        return False
    return bool(np.all(np.abs(found - expected) <= SCALE_TOLERANCE * expected))
