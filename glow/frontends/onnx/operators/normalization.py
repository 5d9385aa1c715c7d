"""Handlers of normalizations and softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from glow.dialects.glow import (
    AbsOp,
    AddOp,
    ArgMaxOp,
    BatchNormOp,
    DivOp,
    EqualOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    MulOp,
    ReduceMeanOp,
    ReduceSumOp,
    RsqrtOp,
    SelectOp,
    SoftmaxOp,
    SqrtOp,
    SubOp,
)  # fmt: skip
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import fail_unless
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import (
    Constant,
    OnnxNode,
    Operand,
    Value,
    element_type,
    shape,
)  # fmt: skip
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op

AXIS_SOFTMAX = 13
"""From this opset on softmax works along one axis, before on all axes from it."""


@onnx_op("BatchNormalization")
def batch_normalization(node: OnnxNode) -> Sequence[Value]:
    """Statistics are inputs, or in training mode those of the batch, and results."""
    refuse_if(not node.attr_int("spatial", 1), "spatial 0")
    epsilon = node.attr_float("epsilon", 1e-5)
    # Before there was a mode, training was to ask for more than one result.
    wants_statistics = any(map(node.uses, range(1, 5)))
    by_results = wants_statistics and node.opset < TRAINING_MODE
    if not by_results and not node.attr_int("training_mode", 0):
        refuse_if(wants_statistics, "statistics without training_mode")
        return [node.emit(BatchNormOp, *node.values(), epsilon=epsilon)]
    value, scale, bias, *running = node.values()
    if node.graph.training:
        result = node.emit(BatchNormOp, *node.values(), epsilon=epsilon)
        return [result, *running, *running]
    axes = [axis for axis in range(node.rank(0)) if axis != 1]
    mean = node.emit(ReduceMeanOp, value, axes=axes, keepdims=True)
    centered = node.emit(SubOp, value, mean)
    square = node.emit(MulOp, centered, centered)
    mean = node.reshape(mean, shape(running[0]))
    statistics = [mean, node.emit(ReduceMeanOp, square, axes=axes)]
    result = node.emit(BatchNormOp, value, scale, bias, *statistics, epsilon=epsilon)
    momentum = node.attr_float("momentum", 0.9)
    updated = [
        Expression(node, old) * momentum
        + Expression(node, node.convert(new, element_type(old))) * (1 - momentum)
        for old, new in zip(running, statistics, strict=True)
    ]
    return [result, *(each.value for each in updated), *statistics]


TRAINING_MODE = 14


@onnx_op("LRN")
def local_response_normalization(node: OnnxNode) -> Value:
    """One node; ONNX's `bias` is our `offset`."""
    return node.emit(
        LocalResponseNormOp,
        node.value(0),
        size=node.attr_int("size", 0),
        alpha=node.attr_float("alpha", 1e-4),
        beta=node.attr_float("beta", 0.75),
        offset=node.attr_float("bias", 1.0),
    )


def normalized(
    node: OnnxNode, value: Operand, axes: Sequence[int], epsilon: float
) -> tuple[Operand, Operand, Operand]:
    """`(x - mean) / sqrt(variance + epsilon)` over axes, the mean, and the divisor's
    reciprocal.
    """
    mean = node.emit(ReduceMeanOp, value, axes=axes, keepdims=True)
    centered = node.emit(SubOp, value, mean)
    square = node.emit(MulOp, centered, centered)
    variance = node.emit(ReduceMeanOp, square, axes=axes, keepdims=True)
    shifted = node.emit(AddOp, variance, node.number(epsilon, value))
    inverse = node.emit(RsqrtOp, shifted)
    return node.emit(MulOp, centered, inverse), mean, inverse


@onnx_op("LayerNormalization")
def layer_normalization(node: OnnxNode) -> Sequence[Value]:
    """One node; the statistics are computed beside it where they are read."""
    value, rank = node.value(0), node.rank(0)
    axis = node.positive(node.attr_int("axis", -1), rank)
    epsilon = node.attr_float("epsilon", 1e-5)
    given = [node.value(index) for index in (1, 2) if node.has(index)]
    fits = [broadcast_shape([shape(value), shape(x)]) == shape(value) for x in given]
    fail_unless(all(fits), f"scale or bias does not broadcast to {list(shape(value))}")
    if any(len(shape(parameter)) > rank - axis for parameter in given):
        # They differ along axes that are not normalized, which one node cannot say.
        result, mean, inverse = normalized(node, value, range(axis, rank), epsilon)
        for op_class, parameter in zip((MulOp, AddOp), given, strict=False):
            result = node.emit(op_class, result, parameter)
        return [result, mean, inverse]
    parameters = [node.broadcast(x, shape(value)[axis:]) for x in given]
    result = node.emit(LayerNormOp, value, *parameters, axis=axis, epsilon=epsilon)
    if not node.uses(1) and not node.uses(2):
        return [result]
    _, mean, inverse = normalized(node, value, range(axis, rank), epsilon)
    return [result, mean, inverse]


@onnx_op("MeanVarianceNormalization")
def mean_variance_normalization(node: OnnxNode) -> Value:
    """`(x - mean) / (deviation + 1e-9)` over axes, by default all but the channels.

    ONNX's own body computes E[x^2] - E[x]^2, which cancels where the mean is large.
    """
    value, rank = node.value(0), node.rank(0)
    given = node.attr_ints("axes")
    default = [0, 2, 3]
    axes = sorted(node.positive(a, rank) for a in (default if given is None else given))
    mean = node.emit(ReduceMeanOp, value, axes=axes, keepdims=True)
    centered = node.emit(SubOp, value, mean)
    square = node.emit(MulOp, centered, centered)
    variance = node.emit(ReduceMeanOp, square, axes=axes, keepdims=True)
    deviation = node.emit(SqrtOp, variance)
    divisor = node.emit(AddOp, deviation, node.number(1e-9, value))
    return node.emit(DivOp, centered, divisor)


@onnx_op("InstanceNormalization")
def instance_normalization(node: OnnxNode) -> Value:
    """Each channel of each image normalized by itself, then scaled and shifted."""
    value, rank = node.value(0), _channel_rank(node)
    epsilon = node.attr_float("epsilon", 1e-5)
    result, _, _ = normalized(node, value, range(2, rank), epsilon)
    scale, bias = (_per_channel(node, index, rank) for index in (1, 2))
    return node.emit(AddOp, node.emit(MulOp, result, scale), bias)


def _channel_rank(node: OnnxNode) -> int:
    """The rank of an input that has channels."""
    shape = node.shape(0)
    fail_unless(
        len(shape) > 1, f"the input must have channels, not shape {list(shape)}"
    )
    return len(shape)


def _per_channel(node: OnnxNode, index: int, rank: int) -> Operand:
    """A parameter [C] as [1, C, 1, ...]."""
    channels = node.shape(0)[1]
    fail_unless(
        node.shape(index) == (channels,),
        f"input {index} must have shape {channels}, not {list(node.shape(index))}",
    )
    return node.reshape(node.value(index), (1, channels, *[1] * (rank - 2)))


@onnx_op("GroupNormalization")
def group_normalization(node: OnnxNode) -> Value:
    """Channels normalized in groups; before opset 21 the parameters are per group."""
    _channel_rank(node)
    batch, channels, *plane = node.shape(0)
    groups = node.attr_int("num_groups", 1)
    fail_unless(
        groups > 0 and channels % groups == 0,
        f"num_groups {groups} must divide the {channels} channels",
    )
    grouped_shape = (batch, groups, channels // groups, *plane)
    grouped = node.reshape(node.value(0), grouped_shape)
    axes = range(2, len(grouped_shape))
    epsilon = node.attr_float("epsilon", 1e-5)
    result, _, _ = normalized(node, grouped, axes, epsilon)
    # Before opset 21 groups have parameters, then channels, as where the parts are spelled out.
    per_group = node.opset < 21
    outer = (1, groups, 1) if per_group else (channels,)
    parameters = [
        node.reshape(node.value(index), (*outer, *[1] * len(plane))) for index in (1, 2)
    ]
    shifted = result if per_group else node.reshape(result, node.shape(0))
    for op_class, parameter in zip((MulOp, AddOp), parameters, strict=True):
        shifted = node.emit(op_class, shifted, parameter)
    return node.reshape(shifted, node.shape(0))


def _along_axis(node: OnnxNode, function: Callable[[Operand, int], Operand]) -> Value:
    """A function along `axis`; old opsets flatten all axes from it to one."""
    value, sizes = node.value(0), node.shape(0)
    if node.opset >= AXIS_SOFTMAX:
        return function(value, node.positive(node.attr_int("axis", -1), len(sizes)))
    axis = node.positive(node.attr_int("axis", 1), len(sizes))
    if prod(sizes[axis + 1 :]) == 1:
        return function(value, axis)
    matrix = node.reshape(value, (prod(sizes[:axis]), prod(sizes[axis:])))
    return node.reshape(function(matrix, 1), sizes)


@onnx_op("Softmax")
def softmax(node: OnnxNode) -> Value:
    """`exp(x) / sum(exp(x))`."""
    return _along_axis(node, lambda x, axis: node.emit(SoftmaxOp, x, axis=axis))


@onnx_op("LogSoftmax")
def log_softmax(node: OnnxNode) -> Value:
    """`x - log(sum(exp(x)))`."""
    return _along_axis(node, lambda x, axis: node.emit(LogSoftmaxOp, x, axis=axis))


@onnx_op("LpNormalization")
def lp_normalization(node: OnnxNode) -> Value:
    """The input over its norm along an axis; 0 where the norm is 0."""
    value = node.value(0)
    axis = node.positive(node.attr_int("axis", -1), node.rank(0))
    if node.attr_int("p", 2) == 1:
        terms = node.emit(AbsOp, value)
        norm = node.emit(ReduceSumOp, terms, axes=[axis], keepdims=True)
    else:
        terms = node.emit(MulOp, value, value)
        norm = node.emit(ReduceSumOp, terms, axes=[axis], keepdims=True)
        norm = node.emit(SqrtOp, norm)
    zero = node.number(0, value)
    empty = node.emit(EqualOp, norm, zero)
    return node.emit(SelectOp, empty, zero, node.emit(DivOp, value, norm))


@onnx_op("Hardmax")
def hardmax(node: OnnxNode) -> Value:
    """1 at the first largest element along the axis, 0 elsewhere."""

    def along(value: Operand, axis: int) -> Operand:
        largest = node.emit(ArgMaxOp, value, axis=axis, keepdims=True)
        sizes = shape(value)
        along_axis = [size if a == axis else 1 for a, size in enumerate(sizes)]
        positions = np.arange(sizes[axis]).reshape(along_axis)
        chosen = node.emit(EqualOp, Constant(positions, "positions"), largest)
        return node.convert(chosen, element_type(value))

    return _along_axis(node, along)
