"""Products of unsigned bytes with constant weights as sums in i32.

  %y = glow.conv2d %x, %w, %b : tensor<...x!quant.uniform<u8:f32, 0.1:3>>
becomes
  %0 = glow.conv2d_integer %x, %w, %x_zero_point, %w_zero_point : tensor<...xi32>
  %1 = glow.add %0, %b : tensor<...xi32>
and what requantizes %1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import quantization_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weights import constant_value
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import centred
from glow.lowering.lower_quantized.parts import BYTE, Parts
from glow.lowering.lower_quantized.products import ACTIVATION, finish_product
from glow.passes.graph.node_builder import attributes_of, name_of

WEIGHT_LIMITS = np.iinfo(np.int8)


def byte_weights(op: NodeOp) -> Array | None:
    """The weights less their zero points, if the product is one of bytes."""
    data = quantization_of(op.inputs[0].type)
    if data is None or data.signed or data.bits > BYTE:
        return None
    if any(constant_value(bias) is None for bias in op.inputs[2:]):
        return None
    weights, stored = op.inputs[1], constant_value(op.inputs[1])
    of_weights = quantization_of(weights.type)
    if stored is None or of_weights is None:
        return None
    whole = centred(stored, of_weights)
    fits = whole.size and WEIGHT_LIMITS.min <= whole.min()
    return whole.astype(np.int8) if fits and whole.max() <= WEIGHT_LIMITS.max else None


def integer_product(
    node: type[NodeOp], op: Operation, channel_axis: int, rank: int
) -> bool:
    """Replace a product by one of integers; returns whether it can be."""
    assert isinstance(op, NodeOp)
    weights = byte_weights(op)
    if weights is None:
        return False
    parts, (image, original, *biases) = Parts(op), op.inputs
    data = quantization_of(image.type)
    assert data is not None
    attributes = attributes_of(op)
    for name in ACTIVATION:
        attributes.pop(name, None)
    operands = [
        parts.stored(image) if is_quantized(image.type) else image,
        parts.constant(weights, name_of(original)),
        parts.constant(np.array(data.zero_points[0], np.uint8), "zero_point"),
        parts.constant(np.array(0, np.int8), "zero_point"),
    ]
    total = parts.create(node, operands, attributes)
    for bias in biases:
        array = constant_value(bias)
        assert array is not None
        extents = [1] * rank
        extents[channel_axis] = array.size
        addend = array.astype(np.int32).reshape(extents)
        total = parts.node(glow.AddOp, total, parts.constant(addend, name_of(bias)))
    finish_product(op, parts, parts.convert(total, i32), channel_axis)
    return True


def convolution(op: Operation) -> bool:
    """`glow.conv2d`."""
    return integer_product(glow.Conv2dIntegerOp, op, 1, 4)


def matrix_product(op: Operation) -> bool:
    """`glow.fully_connected`, and `glow.matmul` with a matrix."""
    assert isinstance(op, NodeOp)
    transposed = isinstance(op, glow.MatmulOp) and (
        op.transpose_lhs is not None or op.transpose_rhs is not None
    )
    rank = len(shape_of(op.results[0]))
    if transposed or len(shape_of(op.inputs[1])) != 2 or rank < 2:
        return False
    return integer_product(glow.MatmulIntegerOp, op, rank - 1, rank)


LOWERINGS: dict[type[Operation], Callable[[Operation], bool]] = {
    glow.Conv2dOp: convolution,
    glow.MatmulOp: matrix_product,
    glow.FullyConnectedOp: matrix_product,
}
"""Each returns whether it replaced the node."""
