"""Normalizations and softmax; statistics are computed again, which costs less than to keep them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule, rule_of


def mean(builder: GradientBuilder, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The mean along axes, which keeps them."""
    return builder.node(glow.ReduceMeanOp, value, axes=list(axes), keepdims=True)


def softmax(
    builder: GradientBuilder, op: glow.SoftmaxOp, gradient: SSAValue
) -> Gradients:
    """y * (g - sum(g * y))."""
    axis = op.attributes_view().int("axis")
    weighted = builder.mul(gradient, op.result)
    total = builder.sum(weighted, [axis], keepdims=True)
    return [builder.mul(op.result, builder.sub(gradient, total))]


def log_softmax(
    builder: GradientBuilder, op: glow.LogSoftmaxOp, gradient: SSAValue
) -> Gradients:
    """g - exp(y) * sum(g)."""
    axis = op.attributes_view().int("axis")
    total = builder.sum(gradient, [axis], keepdims=True)
    share = builder.apply(glow.ExpOp, op.result)
    return [builder.sub(gradient, builder.mul(share, total))]


def layer_norm(
    builder: GradientBuilder, op: glow.LayerNormOp, gradient: SSAValue
) -> Gradients:
    """r * (h - mean(h) - n * mean(h * n)) with h = g * scale, the normalized n, r = 1 / deviation.

    Those of scale and bias are the sums of g * n and g.
    """
    attributes, shape = op.attributes_view(), shape_of(op.input)
    axis = attributes.int("axis")
    inner = list(range(axis, len(shape)))
    centered = builder.sub(op.input, mean(builder, op.input, inner))
    variance = mean(builder, builder.mul(centered, centered), inner)
    epsilon = builder.number(attributes.float("epsilon"), variance)
    inverse = builder.apply(glow.RsqrtOp, builder.add(variance, epsilon))
    normal = builder.mul(centered, inverse)
    scaled = builder.broadcast(builder.mul(gradient, op.scale), shape)
    along = mean(builder, builder.mul(scaled, normal), inner)
    rest = builder.sub(scaled, mean(builder, scaled, inner))
    of_input = builder.mul(builder.sub(rest, builder.mul(normal, along)), inverse)
    outer = list(range(axis))
    of_scale = builder.sum(builder.mul(gradient, normal), outer)
    of_bias = builder.sum(gradient, outer)
    return [of_input, of_scale, of_bias][: len(op.inputs)]


def batch_norm(
    builder: GradientBuilder, op: glow.BatchNormOp, gradient: SSAValue
) -> Gradients:
    """Of `(x - mean) * r * scale + bias` with r = 1 / sqrt(variance + epsilon), a channel each."""
    shape = shape_of(op.input)
    outer = [0, *range(2, len(shape))]
    column = (shape[1], *[1] * (len(shape) - 2))
    epsilon = builder.number(op.attributes_view().float("epsilon"), op.variance)
    inverse = builder.apply(glow.RsqrtOp, builder.add(op.variance, epsilon))
    slope = builder.mul(op.scale, inverse)
    of_input = builder.mul(gradient, builder.reshape(slope, column))
    centered = builder.sub(op.input, builder.reshape(op.mean, column))
    along = builder.sum(builder.mul(gradient, centered), outer)
    total = builder.sum(gradient, outer)
    cube = builder.mul(builder.mul(slope, inverse), inverse)
    return [
        of_input,
        builder.mul(along, inverse),
        total,
        builder.neg(builder.mul(total, slope)),
        builder.mul(builder.mul(along, cube), builder.number(-0.5, along)),
    ]


def neighbours(
    builder: GradientBuilder, value: SSAValue, size: int, before: int
) -> SSAValue:
    """The sum of `size` channels divided by `size`, from `before` channels earlier on."""
    batch, channels, *rest = shape_of(value)
    flat = builder.reshape(value, (batch, 1, channels, prod(rest)))
    pads = [before, 0, size - 1 - before, 0]
    pooled = builder.node(
        glow.AvgPool2dOp, flat, kernel=[size, 1], pads=pads, count_include_pad=True
    )
    return builder.reshape(pooled, shape_of(value))


def local_response_norm(
    builder: GradientBuilder, op: glow.LocalResponseNormOp, gradient: SSAValue
) -> Gradients:
    """g * d^-beta - 2 * alpha * beta * x * mean of neighbours(g * y / d).

    d is offset + alpha * mean of neighbours(x^2); backwards they are those on the other side.
    """
    attributes = op.attributes_view()
    size, alpha = attributes.int("size"), attributes.float("alpha")
    beta = attributes.float("beta")
    squares = builder.mul(op.input, op.input)
    near = neighbours(builder, squares, size, (size - 1) // 2)
    offset = builder.number(attributes.float("offset"), near)
    divisor = builder.add(builder.scale(near, alpha), offset)
    exponent = builder.number(-beta, divisor)
    direct = builder.mul(gradient, builder.apply(glow.PowOp, divisor, exponent))
    weighted = builder.mul(gradient, builder.div(op.result, divisor))
    around = neighbours(builder, weighted, size, size // 2)
    indirect = builder.mul(builder.scale(op.input, 2 * alpha * beta), around)
    return [builder.sub(direct, indirect)]


RULES: dict[type[Operation], Rule] = {
    **rule_of(softmax, glow.SoftmaxOp),
    **rule_of(log_softmax, glow.LogSoftmaxOp),
    **rule_of(layer_norm, glow.LayerNormOp),
    **rule_of(batch_norm, glow.BatchNormOp),
    **rule_of(local_response_norm, glow.LocalResponseNormOp),
}
