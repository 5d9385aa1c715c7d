"""Quantization in floats as a division, rounding between bounds, and a product."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, element_type


def fake_quantize(op: Operation) -> None:
    """round(clamp(x / scale, low - point, high - point)) * scale.

    The bounds are whole numbers, so that it is the same to clamp first; and the zero point
    that the casts add and take away again moves the bounds only.
    """
    assert isinstance(op, glow.FakeQuantizeOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    low, high = attributes.int("low"), attributes.int("high")
    shape = parameter_shape(op)
    scale = builder.reshape(op.scale, shape)
    steps = builder.node(glow.DivOp, op.input, scale)
    if op.zero_point is None:
        inside = builder.node(glow.ClipOp, steps, low=float(low), high=float(high))
    else:
        point = builder.node(glow.RoundOp, builder.reshape(op.zero_point, shape))

        def bound(number: int) -> SSAValue:
            limit = builder.splat(number, element_type(op.input))
            return builder.node(glow.SubOp, limit, point)

        above = builder.node(glow.MaxOp, steps, bound(low))
        inside = builder.node(glow.MinOp, above, bound(high))
    whole = builder.node(glow.RoundOp, inside)
    builder.replace(builder.node(glow.MulOp, whole, scale))


def parameter_shape(op: glow.FakeQuantizeOp) -> list[int]:
    """The shape under which scale and zero point broadcast to the input."""
    attributes = op.attributes_view()
    if not attributes.has("axis"):
        return []
    shape, axis = shape_of(op.input), attributes.int("axis")
    return [size if index == axis else 1 for index, size in enumerate(shape)]


LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    glow.FakeQuantizeOp: fake_quantize
}
