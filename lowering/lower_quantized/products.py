"""Integer products through floats that hold all their sums exactly.

Correct for every shape and target, and slow: `integer_products.py` is for backends that
have kernels for int8 products.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import quantization_of
from glow.dialects.quantized import is_quantized, parameters_of
from glow.dialects.weights import stored_value
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import scales_of
from glow.lowering.lower_nodes.products import activated
from glow.lowering.lower_quantized.arithmetic import stored_bounds
from glow.lowering.lower_quantized.parts import Bounds, Lowering, Parts
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import attributes_of

EXACT_F32 = 1 << 24
"""All whole numbers up to this are f32 numbers."""

ACTIVATION = ("activation", "activation_args")


def units_of(op: NodeOp, channel_axis: int) -> Array:
    """What one unit of an accumulator stands for, by output channel."""
    data, weights = (parameters_of(value.type) for value in op.inputs[:2])
    units = scales_of(data) * np.array(weights.scales, np.float32)
    extents = [1] * len(shape_of(op.results[0]))
    extents[channel_axis] = units.size
    return units.reshape(extents)


def bounds_of(op: NodeOp) -> Bounds | None:
    """The bounds that an absorbed activation puts on the stored values."""
    attributes, data = op.attributes_view(), parameters_of(op.results[0].type)
    if "activation" not in op.property_names() or not attributes.has("activation"):
        return None
    if attributes.string("activation") == "relu":
        return stored_bounds(data, 0.0, float("inf"))
    low, high = attributes.floats("activation_args")
    return stored_bounds(data, low, high)


def finish_product(
    op: NodeOp, parts: Parts, total: SSAValue, channel_axis: int
) -> None:
    """Put the sums (float64 or i32) in the result's type in the place of the node."""
    element = tensor_of(op.results[0]).element_type
    if isinstance(element, IntegerType):
        is_float = tensor_of(total).element_type != i32
        whole = parts.convert(total, i64) if is_float else total
        parts.replace(parts.convert(whole, i32))
        return
    units, target = units_of(op, channel_axis), quantization_of(op.results[0].type)
    if target is None:
        result = parts.scaled(parts.convert(total, f32), units)
        if "activation" in op.property_names():
            result = activated(parts, op, result)
        parts.replace(result)
        return
    multiplier, bounds = units / scales_of(target), bounds_of(op)
    parts.replace(parts.requantized(total, multiplier, target, bounds))


def bias_of(parts: Parts, value: SSAValue) -> SSAValue:
    """The integers of a bias as float64."""
    array = stored_value(value)
    if array is not None:
        return parts.constant(array.astype(np.float64), "bias")
    stored = parts.stored(value) if is_quantized(value.type) else value
    return parts.convert(stored, f64)


def convolution(op: Operation, parts: Parts) -> None:
    """`glow.conv2d`."""
    assert isinstance(op, glow.Conv2dOp)
    operands = [parts.centred(value, f64) for value in op.inputs[:2]]
    operands += [bias_of(parts, value) for value in op.inputs[2:]]
    attributes = attributes_of(op)
    for name in ACTIVATION:
        attributes.pop(name, None)
    total = parts.create(glow.Conv2dOp, operands, attributes)
    finish_product(op, parts, total, 1)


def largest(value: SSAValue) -> int:
    """The largest size of a stored value less its zero point."""
    data = parameters_of(value.type)
    low, high = data.limits
    return max(max(point - low, high - point) for point in data.zero_points)


def exact_element(op: NodeOp) -> Attribute:
    """The smallest float that holds all sums of a product exactly, in whatever order.

    Products of activations (attention) are short enough for f32. Those with weights may be
    computed from sums of elements (Strassen), for which f32 has no bits left, and a bias has
    32 bits.
    """
    lhs, rhs, *biases = op.inputs
    if biases or stored_value(rhs) is not None:
        return f64
    transposed = isinstance(op, glow.MatmulOp) and op.transpose_lhs is not None
    depth = shape_of(lhs)[-2 if transposed else -1]
    bound = depth * largest(lhs) * largest(rhs)
    return f32 if bound < EXACT_F32 else f64


def matrix_product(op: Operation, parts: Parts) -> None:
    """`glow.matmul` and `glow.fully_connected`."""
    assert isinstance(op, NodeOp)
    element = exact_element(op)
    operands = [parts.centred(value, element) for value in op.inputs[:2]]
    attributes = attributes_of(op)
    for name in ACTIVATION:
        attributes.pop(name, None)
    total = parts.create(glow.MatmulOp, operands, attributes)
    for bias in op.inputs[2:]:
        total = parts.node(glow.AddOp, total, bias_of(parts, bias))
    finish_product(op, parts, total, len(shape_of(op.results[0])) - 1)


LOWERINGS: dict[type[Operation], Lowering] = {
    glow.Conv2dOp: convolution,
    glow.MatmulOp: matrix_product,
    glow.FullyConnectedOp: matrix_product,
}
