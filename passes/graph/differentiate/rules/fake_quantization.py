"""Fake quantization: straight through rounding, and nothing where numbers are saturated.

Source: Esser et al., Learned Step Size Quantization (2020), without its factor for the gradient
of the scale; as torch's learnable fake quantization.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule


def fake_quantize(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """With v = x / scale, r = round(v) and q = r between the bounds, all less the zero point:

    dy/dx = 1, dy/dscale = r - v, dy/dpoint = 0         where q is r,
    dy/dx = 0, dy/dscale = q,     dy/dpoint = -scale    elsewhere.
    """
    assert isinstance(op, glow.FakeQuantizeOp)
    gradient = gradients[0]
    assert gradient is not None
    zero = builder.number(0.0, op.input)
    scale = along_axis(builder, op, op.scale)
    steps = builder.div(op.input, scale)
    rounded = builder.apply(glow.RoundOp, steps)
    stored = bounded(builder, op, rounded)
    inside = builder.apply(glow.EqualOp, stored, rounded)

    def where_inside(value: SSAValue, otherwise: SSAValue) -> SSAValue:
        return builder.node(glow.SelectOp, inside, value, otherwise)

    slope = where_inside(builder.sub(rounded, steps), stored)
    found = [
        where_inside(gradient, zero),
        summed(builder, op, builder.mul(gradient, slope)),
    ]
    if op.zero_point is not None:
        outside = where_inside(zero, builder.neg(builder.mul(gradient, scale)))
        found.append(summed(builder, op, outside))
    return found


def along_axis(
    builder: GradientBuilder, op: glow.FakeQuantizeOp, parameter: SSAValue
) -> SSAValue:
    """A scale or zero point under a shape that broadcasts to the input's."""
    attributes = op.attributes_view()
    if not attributes.has("axis"):
        return parameter
    axis = attributes.int("axis")
    shape = [n if i == axis else 1 for i, n in enumerate(shape_of(op.input))]
    return builder.reshape(parameter, shape)


def bounded(
    builder: GradientBuilder, op: glow.FakeQuantizeOp, rounded: SSAValue
) -> SSAValue:
    """Whole numbers between the bounds less the zero point."""
    attributes = op.attributes_view()
    low, high = float(attributes.int("low")), float(attributes.int("high"))
    if op.zero_point is None:
        return builder.clamp(rounded, low, high)
    point = builder.apply(glow.RoundOp, along_axis(builder, op, op.zero_point))
    limits = [builder.sub(builder.number(n, point), point) for n in (low, high)]
    above = builder.apply(glow.MaxOp, rounded, limits[0])
    return builder.apply(glow.MinOp, above, limits[1])


def summed(
    builder: GradientBuilder, op: glow.FakeQuantizeOp, gradient: SSAValue
) -> SSAValue:
    """The gradient of a scale or zero point: the sum over what has it."""
    attributes = op.attributes_view()
    kept = attributes.int("axis") if attributes.has("axis") else None
    axes = [axis for axis in range(len(shape_of(op.input))) if axis != kept]
    return builder.sum(gradient, axes)


RULES: dict[type[Operation], Rule] = {glow.FakeQuantizeOp: fake_quantize}
