"""Activations that a layer absorbed: the gradient of what stands before them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.attributes import Attributes, to_attribute
from glow.dialects.node import NodeOp
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.rewriting.absorbed_activation import (
    activation_attributes,
    activation_class,
    attributes_without_activation,
)


def before_activation(
    builder: GradientBuilder, op: NodeOp, gradient: SSAValue
) -> SSAValue:
    """The gradient of a layer's sums; most activations tell their slope by their result."""
    activation = activation_class(op)
    if activation is None:
        return gradient
    plain = attributes_without_activation(op)
    sums = builder.create(type(op), list(op.inputs), plain)
    derivative = glow.FACTS[activation].derivative
    assert derivative is not None
    values = {
        name: attribute
        for name, value in activation_attributes(op).items()
        if (attribute := to_attribute(value)) is not None
    }
    attributes = Attributes(activation.get_irdl_definition(), values)
    (inner,) = derivative(builder, [sums], op.results[0], gradient, attributes)
    assert inner is not None
    return inner
