"""Operators on quantized tensors beyond ONNX's own: functions and products."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.dialects.glow import (
    AddOp,
    ConvertOp,
    DynamicMatmulOp,
    FullyConnectedOp,
    LeakyReluOp,
    MatmulIntegerOp,
    MulOp,
    ReduceMeanOp,
    SelectOp,
    SigmoidOp,
    SoftmaxOp,
)
from glow.dialects.node import NodeOp, tensor_type
from glow.dialects.quant import (
    DequantizeCastOp,
    Quantization,
    QuantizeCastOp,
    UniformQuantizedType,
)
from glow.dialects.weight_table import Array
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, shape
from glow.frontends.onnx.operators.quantization.quantized_types import (
    emit,
    integers,
    parameters,
    quantization,
    stored,
    sums_of,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op


def _transposed(operand: Operand, transpose: bool, what: str) -> Operand:
    if not transpose:
        return operand
    refuse_if(not isinstance(operand, Constant), f"{what} transposed at run time")
    assert isinstance(operand, Constant)
    return Constant(operand.array.T, operand.name)


@contrib_op("QGemm")
def qgemm(node: OnnxNode) -> Value:
    """Product of quantized matrices with a bias; float without a result's scale."""
    refuse_if(node.attr_float("alpha", 1.0) != 1.0, "alpha")
    refuse_if(node.attr_int("transA", 0) != 0, "transA")
    rhs = _transposed(node.value(3), bool(node.attr_int("transB", 0)), "weights")
    data, weights = parameters(node, 1, 2), parameters(node, 4, 5, 1)
    operands = [stored(node, node.value(0), data), stored(node, rhs, weights)]
    if node.has(6):
        bias = node.value(6)
        refuse_if(shape(bias) != (shape(rhs)[1],), "an addend that is no bias")
        operands.append(stored(node, bias, sums_of(data, weights)))
    if node.has(7):
        return emit(node, FullyConnectedOp, operands, parameters(node, 7, 8))
    rows, columns = node.shape(0)[0], shape(rhs)[1]
    types = [tensor_type((rows, columns), f32)]
    return node.emit(FullyConnectedOp, *operands, types=types)


def _function(
    node: OnnxNode, op_class: type[NodeOp], alpha: float | None = None
) -> Value:
    """A function of a quantized tensor, which becomes a table later."""
    data, target = parameters(node, 1, 2), parameters(node, 3, 4)
    source = stored(node, node.value(0), data)
    floats = tensor_type(node.shape(0), data.expressed)
    value = node.graph.cast(DequantizeCastOp, source, floats)
    attributes = {} if alpha is None else {"alpha": alpha}
    result = node.emit(op_class, value, types=None, **attributes)
    quantized = tensor_type(node.shape(0), UniformQuantizedType(target))
    return integers(node, node.graph.cast(QuantizeCastOp, result, quantized))


@contrib_op("QLinearSigmoid")
def qlinear_sigmoid(node: OnnxNode) -> Value:
    """Sigmoid of a quantized tensor."""
    return _function(node, SigmoidOp)


@contrib_op("QLinearLeakyRelu")
def qlinear_leaky_relu(node: OnnxNode) -> Value:
    """Leaky ReLU of a quantized tensor."""
    return _function(node, LeakyReluOp, alpha=node.attr_float("alpha", 0.01))


@contrib_op("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: OnnxNode) -> Value:
    """Product of a float matrix, quantized as a whole at run time, and integer weights."""
    scales = node.constant(2, "scale")
    points: Array = np.array(0, node.constant(1, "weights").dtype)
    if node.has(3):
        points = node.constant(3, "zero point")
    weights = stored(node, node.value(1), quantization(scales, points, 1))
    bias = [node.value(4)] if node.has(4) else []
    return node.emit(
        DynamicMatmulOp, node.value(0), weights, *bias, granularity="tensor"
    )


@contrib_op("MatMulIntegerToFloat")
def matmul_integer_to_float(node: OnnxNode) -> Value:
    """Integer product times both scales."""
    points = [node.value(index) for index in (4, 5) if node.has(index)]
    refuse_if(len(points) == 1, "one zero point of two")
    product = node.emit(MatmulIntegerOp, node.value(0), node.value(1), *points)
    units = node.emit(MulOp, node.value(2), node.value(3))
    result_type = tensor_type(shape(product), f32)
    result = node.emit(ConvertOp, product, types=[result_type])
    result = node.emit(MulOp, result, units)
    return node.emit(AddOp, result, node.value(6)) if node.has(6) else result


@contrib_op("QLinearSoftmax")
def qlinear_softmax(node: OnnxNode) -> Value:
    """Softmax of a quantized tensor; before opset 13 over all axes from `axis` on."""
    value, rank = _float_of(node, 0), node.rank(0)
    axis = node.positive(node.attr_int("axis", -1), rank)
    if node.attr_int("opset", 13) >= 13:
        result = node.emit(SoftmaxOp, value, axis=axis)
    else:
        rows = int(np.prod(node.shape(0)[:axis]))
        flat = node.reshape(value, (rows, int(np.prod(node.shape(0)[axis:]))))
        result = node.reshape(node.emit(SoftmaxOp, flat, axis=1), node.shape(0))
    return _quantized(node, result, parameters(node, 3, 4))


@contrib_op("QLinearReduceMean")
def qlinear_reduce_mean(node: OnnxNode) -> Value:
    """The mean over axes of a quantized tensor."""
    rank, given = node.rank(0), node.attr_ints("axes")
    axes = sorted(node.positive(a, rank) for a in given or range(rank))
    keepdims = bool(node.attr_int("keepdims", 1))
    value = node.emit(ReduceMeanOp, _float_of(node, 0), axes=axes, keepdims=keepdims)
    return _quantized(node, value, parameters(node, 3, 4))


@contrib_op("QLinearWhere")
def qlinear_where(node: OnnxNode) -> Value:
    """Elements of two quantized tensors, rescaled to the result's type."""
    values = [_float_of(node, index) for index in (1, 4)]
    chosen = node.emit(SelectOp, node.value(0), *values)
    return _quantized(node, chosen, parameters(node, 7, 8))


def _float_of(node: OnnxNode, index: int) -> SSAValue:
    """The numbers that a quantized input stands for; its parameters are behind it."""
    data = parameters(node, index + 1, index + 2)
    source = stored(node, node.value(index), data)
    floats = tensor_type(node.shape(index), data.expressed)
    return node.graph.cast(DequantizeCastOp, source, floats)


def _quantized(node: OnnxNode, value: Operand, target: Quantization) -> Value:
    """Floats as integers of a type."""
    quantized = tensor_type(shape(value), UniformQuantizedType(target))
    return integers(node, node.graph.cast(QuantizeCastOp, value, quantized))
