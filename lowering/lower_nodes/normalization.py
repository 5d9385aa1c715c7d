"""Normalizations, softmax and means as reductions and arithmetic."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import dtype_of
from glow.passes.rewriting.constant_batch_norm import scale_and_shift
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, name_of


def batch_norm(op: Operation) -> None:
    """x * scale + shift for each channel; computed here when the parameters are known."""
    assert isinstance(op, glow.BatchNormOp)
    builder = NodeBuilder(op)
    shape = (shape_of(op.scale)[0], *(1,) * (len(shape_of(op.input)) - 2))
    factors = _constant_factors(op, builder) or _computed_factors(op, builder)
    scale, shift = (builder.reshape(factor, shape) for factor in factors)
    scaled = builder.node(glow.MulOp, op.input, scale)
    builder.replace(builder.node(glow.AddOp, scaled, shift))


def _constant_factors(
    op: glow.BatchNormOp, builder: NodeBuilder
) -> tuple[SSAValue, SSAValue] | None:
    found = scale_and_shift(op)
    if found is None:
        return None
    dtype, shape = (
        dtype_of(element_type(op.scale)),
        (-1, *(1,) * (len(shape_of(op.input)) - 2)),
    )
    scale, shift = (
        builder.constant(
            array.astype(dtype).reshape(shape), f"{name_of(op.result)}.{kind}"
        )
        for kind, array in zip(("scale", "shift"), found, strict=True)
    )
    return scale, shift


def _computed_factors(
    op: glow.BatchNormOp, builder: NodeBuilder
) -> tuple[SSAValue, SSAValue]:
    epsilon = builder.splat(
        op.attributes_view().float("epsilon"), element_type(op.variance)
    )
    variance = builder.node(glow.AddOp, op.variance, epsilon)
    deviation = builder.node(glow.SqrtOp, variance)
    factor = builder.node(glow.DivOp, op.scale, deviation)
    moved = builder.node(glow.MulOp, op.mean, factor)
    return factor, builder.node(glow.SubOp, op.bias, moved)


def _mean(builder: NodeBuilder, value: SSAValue, axes: list[int]) -> SSAValue:
    """The mean over axes, which stay with size 1."""
    total = builder.node(glow.ReduceSumOp, value, axes=axes, keepdims=True)
    count = prod(shape_of(value)[axis] for axis in axes)
    if isinstance(element_type(value), IntegerType):  # Which have no 1 / count.
        number = builder.splat(count, element_type(value))
        return builder.node(glow.DivOp, total, number)
    factor = builder.splat(1 / count, element_type(value))
    return builder.node(glow.MulOp, total, factor)


def layer_norm(op: Operation) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the trailing axes."""
    assert isinstance(op, glow.LayerNormOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    axes = list(range(attributes.int("axis"), len(shape_of(op.input))))
    centred = builder.node(glow.SubOp, op.input, _mean(builder, op.input, axes))
    square = builder.node(glow.MulOp, centred, centred)
    epsilon = builder.splat(attributes.float("epsilon"), element_type(op.input))
    variance = builder.node(glow.AddOp, _mean(builder, square, axes), epsilon)
    deviation = builder.node(glow.SqrtOp, variance)
    result = builder.node(glow.DivOp, centred, deviation)
    result = builder.node(glow.MulOp, result, op.scale)
    if op.bias is not None:
        result = builder.node(glow.AddOp, result, op.bias)
    builder.replace(result)


def _shifted(op: NodeOp, builder: NodeBuilder) -> tuple[SSAValue, SSAValue, SSAValue]:
    """x - max(x) along the axis, its exponentials and their sum."""
    axes = [op.attributes_view().int("axis")]
    largest = builder.node(glow.ReduceMaxOp, op.operands[0], axes=axes, keepdims=True)
    shifted = builder.node(glow.SubOp, op.operands[0], largest)
    exponential = builder.node(glow.ExpOp, shifted)
    total = builder.node(glow.ReduceSumOp, exponential, axes=axes, keepdims=True)
    return shifted, exponential, total


def softmax(op: Operation) -> None:
    """exp(x - max) / sum(exp(x - max))."""
    assert isinstance(op, NodeOp)
    builder = NodeBuilder(op)
    _, exponential, total = _shifted(op, builder)
    builder.replace(builder.node(glow.DivOp, exponential, total))


def log_softmax(op: Operation) -> None:
    """(x - max) - log(sum(exp(x - max)))."""
    assert isinstance(op, NodeOp)
    builder = NodeBuilder(op)
    shifted, _, total = _shifted(op, builder)
    builder.replace(builder.node(glow.SubOp, shifted, builder.node(glow.LogOp, total)))


def local_response_norm(op: Operation) -> None:
    """x / (offset + alpha / size * sum of squares of the neighbours) ^ beta.

    The squares are padded along channels; slices of that are the neighbours.
    """
    assert isinstance(op, glow.LocalResponseNormOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    shape, size = shape_of(op.input), attributes.int("size")
    rest = [0] * (len(shape) - 2)
    pads = [0, (size - 1) // 2, *rest, 0, size // 2, *rest]
    squares = builder.node(glow.MulOp, op.input, op.input)
    padded = builder.node(glow.PadOp, squares, pads=pads)
    total: SSAValue | None = None
    for first in range(size):
        neighbour = builder.node(
            glow.SliceOp,
            padded,
            starts=[0, first, *rest],
            sizes=list(shape),
            steps=[1] * len(shape),
        )
        total = (
            neighbour if total is None else builder.node(glow.AddOp, total, neighbour)
        )
    assert total is not None
    scalar = element_type(op.input)
    factor = builder.splat(attributes.float("alpha") / size, scalar)
    base = builder.node(
        glow.AddOp,
        builder.node(glow.MulOp, total, factor),
        builder.splat(attributes.float("offset"), scalar),
    )
    exponent = builder.splat(attributes.float("beta"), scalar)
    power = builder.node(glow.PowOp, base, exponent)
    builder.replace(builder.node(glow.DivOp, op.input, power))


def reduce_mean(op: Operation) -> None:
    """The sum times 1 / count."""
    assert isinstance(op, glow.ReduceMeanOp)
    builder = NodeBuilder(op)
    mean = _mean(builder, op.input, list(op.attributes_view().ints("axes")))
    builder.replace(builder.reshape(mean, shape_of(op.result)))


LOWERINGS = {
    glow.BatchNormOp: batch_norm,
    glow.LayerNormOp: layer_norm,
    glow.SoftmaxOp: softmax,
    glow.LocalResponseNormOp: local_response_norm,
    glow.LogSoftmaxOp: log_softmax,
    glow.ReduceMeanOp: reduce_mean,
}
