"""Handlers of operators on quantized tensors: QDQ pairs, QOperators, integer products.

ONNX keeps scale and zero point beside plain integers; our types hold them. A handler
reads its integers through `quant.scast` as quantized elements, and gives integers back
in the same way; the casts cancel where one handler's result is another's operand.
Scales and zero points must be known at import, except those of dynamic quantization.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    AddOp,
    AvgPool2dOp,
    ConcatOp,
    Conv2dOp,
    DynamicQuantizeOp,
    MatmulOp,
    MulOp,
    RescaleOp,
)
from glow.dialects.node import NodeOp, tensor_type
from glow.dialects.quant import (
    DequantizeCastOp,
    Quantization,
    QuantizeCastOp,
    UniformQuantizedType,
    storage_cast_of,
)
from glow.dialects.quantized import stored_type
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.operators.quantization.integer_products import (
    CUBE,
    computed_convolution,
    computed_matmul,
)
from glow.frontends.onnx.operators.quantization.plain import (
    dequantize,
    is_computed,
    is_plain,
    quantize,
)
from glow.frontends.onnx.operators.spatial.convolution import (
    as_plane,
    from_plane,
    window_of,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op, onnx_op

DEFAULT_ZERO_POINT = np.array(0, np.uint8)
BIAS_BITS = 32
STORAGE_BITS = (8, 16, 32)

Tensor = TensorType[Attribute]


# -- parameters and casts


def storage_bits(dtype: np.dtype[np.generic]) -> tuple[int, bool]:
    """Bits and signedness of a storage type that is supported."""
    supported = dtype.kind in "iu" and dtype.itemsize * 8 in STORAGE_BITS
    refuse_if(not supported, f"quantized elements stored as {dtype}")
    return dtype.itemsize * 8, dtype.kind == "i"


def quantization(scales: Array, zero_points: Array, axis: int | None) -> Quantization:
    """The parameters that ONNX gives as two tensors; without an axis one of each."""
    bits, signed = storage_bits(zero_points.dtype)
    refuse_if(scales.ndim > 1, "blocked quantization")
    count, numbers = scales.size, scales.astype(np.float32).reshape(-1)
    refuse_if(count > 1 and axis is None, f"{count} scales, not one for the tensor")
    if not (count and np.isfinite(numbers).all() and (numbers > 0).all()):
        found = numbers.min() if count else "empty"
        raise GlowError(f"scales must be positive and finite, not {found}")
    if zero_points.size not in (1, count):
        raise GlowError(f"{zero_points.size} zero points for {count} scales")
    if bits == BIAS_BITS and zero_points.any():
        raise GlowError("32-bit elements must have zero point 0")
    points = np.broadcast_to(zero_points.reshape(-1), numbers.shape)
    return Quantization(
        bits,
        signed,
        tuple(float(number) for number in numbers),
        tuple(int(point) for point in points),
        axis if numbers.size > 1 else None,
    )


def parameters(
    node: OnnxNode, scale: int, zero_point: int, axis: int | None = None
) -> Quantization:
    """The quantization that two constant inputs give; the zero point may be left out."""
    scales = node.constant(scale, "scale")
    points = (
        node.constant(zero_point, "zero point")
        if node.has(zero_point)
        else DEFAULT_ZERO_POINT
    )
    return quantization(scales, points, axis)


def quantized_tensor(extents: Sequence[int], data: Quantization) -> Tensor:
    """The type of a tensor of quantized elements, whose scales must fit its shape."""
    if data.axis is not None:
        count, extent = len(data.scales), extents[data.axis]
        if count != extent:
            raise GlowError(
                f"{count} scales for {extent} indices of axis {data.axis} of a tensor "
                f"of shape {list(extents)}"
            )
    return TensorType(UniformQuantizedType(data), extents)


def stored(node: OnnxNode, value: Operand, data: Quantization) -> SSAValue:
    """Plain integers as quantized elements."""
    target = quantized_tensor(shape(value), data)
    plain = stored_type(target).element_type
    if element_type(value) != plain:
        raise GlowError(
            f"the zero point has type {plain}, the tensor {element_type(value)}"
        )
    if isinstance(value, Constant):
        return node.graph.quantized_constant(value, target)
    return node.graph.cast(storage_cast_of(stored_type(target)), value, target)


def integers(node: OnnxNode, value: SSAValue) -> SSAValue:
    """Quantized elements as plain integers."""
    target = stored_type(cast(Tensor, value.type))
    return node.graph.cast(storage_cast_of(target), value, target)


def emit(
    node: OnnxNode,
    op_class: type[NodeOp],
    operands: Sequence[Operand],
    result: Quantization,
    result_shape: Sequence[int] | None = None,
    **attributes: int | Sequence[int] | bool | str,
) -> SSAValue:
    """Plain integers: the result of a node on quantized elements."""
    values = [node.graph.value_of(operand) for operand in operands]
    if result_shape is None:
        from glow.dialects.attributes import Attributes, to_attribute

        properties = {
            name: attribute
            for name, value in attributes.items()
            if (attribute := to_attribute(value)) is not None
        }
        types = [cast(Tensor, value.type) for value in values]
        view = Attributes(op_class.get_irdl_definition(), properties)
        inferred = op_class.infer(types, view)
        assert inferred is not None
        result_shape = inferred[0].get_shape()
    target = tensor_type(result_shape, UniformQuantizedType(result))
    made = node.graph.add(op_class, values, [target], **attributes)
    return integers(node, made.results[0])


# -- QDQ


@onnx_op("QuantizeLinear")
@contrib_op("QuantizeLinear")
def quantize_linear(node: OnnxNode) -> Value:
    """Float to integers."""
    if is_plain(node, 1, 2):
        return quantize(node)
    axis = node.positive(node.attr_int("axis", 1), max(node.rank(0), 2))
    data = parameters(node, 1, 2, axis)
    target = quantized_tensor(node.shape(0), data)
    value = node.graph.value_of(node.value(0))
    return integers(node, node.graph.cast(QuantizeCastOp, value, target))


@onnx_op("DequantizeLinear")
@contrib_op("DequantizeLinear")
def dequantize_linear(node: OnnxNode) -> Value:
    """Integers to float."""
    if is_plain(node, 1, 2):
        return dequantize(node)
    axis = node.positive(node.attr_int("axis", 1), max(node.rank(0), 2))
    scales = node.constant(1, "scale")
    if node.has(2):
        points = node.constant(2, "zero point")
    else:
        points = np.array(0, dtype_of(element_type(node.value(0))))
    data = quantization(scales, points, axis)
    source = stored(node, node.value(0), data)
    target = tensor_type(node.shape(0), data.expressed)
    return node.graph.cast(DequantizeCastOp, source, target)


# -- QOperators


@onnx_op("QLinearConv")
def qlinear_conv(node: OnnxNode) -> Value:
    """Convolution of quantized tensors."""
    if node.rank(0) == CUBE or is_computed(node, 1, 2, 4, 5, 6, 7):
        return computed_convolution(node)
    data, weights = parameters(node, 1, 2), parameters(node, 4, 5, 0)
    sums = sums_of(data, weights)
    operands = [
        stored(node, as_plane(node, node.value(0)), data),
        stored(node, as_plane(node, node.value(3)), weights),
    ]
    if node.has(8):
        operands.append(stored(node, node.value(8), sums))
    window = window_of(node, node.shape(0)[2:], node.shape(3)[2:])
    result = emit(
        node,
        Conv2dOp,
        operands,
        parameters(node, 6, 7),
        group=node.attr_int("group", 1),
        **window.attributes(),
    )
    return from_plane(node, result, node.rank(0))


def sums_of(data: Quantization, weights: Quantization) -> Quantization:
    """The quantization of 32-bit sums of products."""
    with np.errstate(over="ignore", under="ignore"):
        units = np.float32(data.scales[0]) * np.array(weights.scales, np.float32)
    if not np.isfinite(units).all() or not units.all():
        raise GlowError("the product of both operands' scales is no float32 number")
    zeros = np.zeros(units.size, np.int32)
    return quantization(units, zeros, 0)


@onnx_op("QLinearMatMul")
def qlinear_matmul(node: OnnxNode) -> Value:
    """Product of quantized matrices."""
    if is_plain(node, 1, 2, 4, 5, 6, 7):
        return computed_matmul(node)
    columns = node.rank(3) - 1
    left, right = parameters(node, 1, 2), parameters(node, 4, 5, columns)
    sums_of(left, right)
    operands = [stored(node, node.value(0), left), stored(node, node.value(3), right)]
    return emit(node, MatmulOp, operands, parameters(node, 6, 7))


def _binary(node: OnnxNode, op_class: type[NodeOp]) -> Value:
    operands = [
        stored(node, node.value(first), parameters(node, first + 1, first + 2))
        for first in (0, 3)
    ]
    return emit(node, op_class, operands, parameters(node, 6, 7))


@contrib_op("QLinearAdd")
def qlinear_add(node: OnnxNode) -> Value:
    """Sum of quantized tensors."""
    return _binary(node, AddOp)


@contrib_op("QLinearMul")
def qlinear_mul(node: OnnxNode) -> Value:
    """Product of quantized tensors, element by element."""
    return _binary(node, MulOp)


@contrib_op("QLinearGlobalAveragePool")
def qlinear_global_average_pool(node: OnnxNode) -> Value:
    """The mean of each channel of a quantized tensor."""
    refuse_if(node.attr_int("channels_last", 0) != 0, "channels_last")
    refuse_if(node.rank(0) != 4, f"{node.rank(0) - 2} spatial axes")
    operand = stored(node, node.value(0), parameters(node, 1, 2))
    target = parameters(node, 3, 4)
    return emit(node, AvgPool2dOp, [operand], target, kernel=node.shape(0)[2:])


@contrib_op("QLinearAveragePool")
def qlinear_average_pool(node: OnnxNode) -> Value:
    """The mean of each window of a quantized tensor."""
    refuse_if(node.attr_int("channels_last", 0) != 0, "channels_last")
    refuse_if(node.rank(0) != 4, f"{node.rank(0) - 2} spatial axes")
    operand = stored(node, node.value(0), parameters(node, 1, 2))
    kernel = node.attr_ints("kernel_shape") or []
    window = window_of(node, node.shape(0)[2:], kernel)
    return emit(
        node,
        AvgPool2dOp,
        [operand],
        parameters(node, 3, 4),
        kernel=kernel,
        ceil_mode=bool(node.attr_int("ceil_mode", 0)),
        count_include_pad=bool(node.attr_int("count_include_pad", 0)),
        **window.attributes(),
    )


@contrib_op("QLinearConcat")
def qlinear_concat(node: OnnxNode) -> Value:
    """Concatenation of quantized tensors, each rescaled to the result's type."""
    target = parameters(node, 0, 1)
    parts: list[SSAValue] = []
    for first in range(2, len(node.inputs), 3):
        data = parameters(node, first + 1, first + 2)
        part = stored(node, node.value(first), data)
        if data != target:
            same = tensor_type(shape(part), UniformQuantizedType(target))
            part = node.graph.add(RescaleOp, [part], [same]).results[0]
        parts.append(part)
    return emit(node, ConcatOp, parts, target, axis=node.attr_int("axis", 0))


# -- integer products and dynamic quantization


@onnx_op("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: OnnxNode) -> Sequence[Value]:
    """Float to integers by the range that is found at run time."""
    return list(node.graph.add(DynamicQuantizeOp, [node.value(0)]).results)
