"""Plain integers as quantized elements.

TOSA's text has zero points and ratios of scales, but no scales. So the scale of every tensor of
bytes is 1 here; where a node needs another one for an operand, casts to bytes and back change it,
which costs nothing:

    %1 = quant.scast %0 : tensor<4x!quant.uniform<i8:f32, 1.0:3>> to tensor<4xi8>
    %2 = quant.scast %1 : tensor<4xi8> to tensor<4x!quant.uniform<i8:f32, 0.7:3>>

So all numbers that are multiplied here are those of the text, and results the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.quant import (
    Quantization,
    UniformQuantizedType,
    quantization_of,
    storage_cast,
)
from glow.dialects.quantized import stored_type
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.tosa.tosa_builder import TosaBuilder
from glow.interpreter.integer_arithmetic import quantize
from glow.passes.quantization.casts import tensor_of
from glow.passes.quantization.integer.fold_storage_casts import behind


def element(
    value: SSAValue, zero_point: int, scale: float = 1.0
) -> UniformQuantizedType:
    """Quantized elements that are stored as those of a value are."""
    own = quantization_of(value.type)
    if own is not None:
        bits, signed = own.bits, own.signed
    else:
        dtype = dtype_of(element_of(value))
        bits, signed = 8 * dtype.itemsize, dtype.kind == "i"
    return UniformQuantizedType(Quantization(bits, signed, (scale,), (zero_point,)))


def as_quantized(
    builder: TosaBuilder, value: SSAValue, target: UniformQuantizedType
) -> SSAValue:
    """Plain integers under a scale and a zero point."""
    wanted, source = tensor_type(shape_of(value), target), behind(value)
    if source is not None and source.type == wanted:
        return source
    array = builder.known(value)
    if array is not None:
        held = np.ascontiguousarray(array).reshape(array.shape)
        return builder.quantized_constant(held, target.data, "weights")
    owner = value.owner
    if isinstance(owner, glow.ReshapeOp):
        return builder.reshape(
            as_quantized(builder, owner.input, target), wanted.get_shape()
        )
    if isinstance(owner, glow.TransposeOp):
        moved = as_quantized(builder, owner.input, target)
        return builder.transpose(moved, owner.attributes_view().ints("permutation"))
    return builder.insert(storage_cast(value, wanted)).results[0]


def as_stored(builder: TosaBuilder, value: SSAValue) -> SSAValue:
    """The integers of quantized elements."""
    target = stored_type(cast("TensorType[Attribute]", value.type))
    return builder.insert(storage_cast(value, target)).results[0]


def quantized_node(
    builder: TosaBuilder,
    node: type[NodeOp],
    operands: Sequence[SSAValue],
    target: TensorType[Attribute],
    attributes: Mapping[str, AttributeValue] | None = None,
) -> SSAValue:
    """The integers of a node on quantized elements."""
    attributes = {} if attributes is None else attributes
    return as_stored(
        builder, builder.create(node, operands, attributes, types=[target])
    )


def clamped(
    builder: TosaBuilder, value: SSAValue, low: int, high: int
) -> SSAValue | None:
    """Integers of quantized elements between two of them; None for others."""
    source = behind(value)
    data = None if source is None else quantization_of(source.type)
    if source is None or data is None or data.axis is not None:
        return None
    (point,), (scale,) = data.zero_points, data.scales
    (least, most), kind = data.full_range, tensor_of(source)
    before = source.owner
    if isinstance(before, glow.RescaleOp) and len(before.inputs) == 1:
        source = before.input  # Which bounds change the scale of, too.
    if low <= least and high >= most:
        return value
    if low == point and high >= most:
        return quantized_node(builder, glow.ReluOp, [source], kind)
    bounds = [
        -np.inf if low <= least else (low - point) * scale,
        np.inf if high >= most else (high - point) * scale,
    ]
    stored = quantize(np.array(bounds, np.float32), data)
    if stored.tolist() != [max(low, least), min(high, most)]:
        return None
    clip = {"low": bounds[0], "high": bounds[1]}
    return quantized_node(builder, glow.ClipOp, [source], kind, clip)


def channels(stored: Array, scales: Array, point: int, axis: int) -> Quantization:
    """Parameters of constants with a scale for each index of an axis."""
    count, dtype = stored.shape[axis], stored.dtype
    numbers = tuple(float(one) for one in np.broadcast_to(scales, (count,)))
    bits, signed = 8 * dtype.itemsize, dtype.kind == "i"
    return Quantization(bits, signed, numbers, (point,) * count, axis)
