"""The activation that a convolution or a fully connected layer absorbed, as a node again."""

from __future__ import annotations

from glow.dialects.attributes import AttributeValue
from glow.dialects.glow import FACTS
from glow.dialects.node import NodeOp
from glow.passes.rewriting.node_builder import attributes_of

ARGUMENTS = {"clip": ("low", "high"), "leaky_relu": ("alpha",)}
"""What the numbers in `activation_args` mean."""


def activation_class(op: NodeOp) -> type[NodeOp] | None:
    """The class of the node whose function `op` absorbed, if it did."""
    attributes = op.attributes_view()
    if not attributes.has("activation"):
        return None
    name = f"glow.{attributes.string('activation')}"
    return next(candidate for candidate in FACTS if candidate.name == name)


def activation_attributes(op: NodeOp) -> dict[str, AttributeValue]:
    """The attributes of the node whose function `op` absorbed."""
    attributes = op.attributes_view()
    names = ARGUMENTS.get(attributes.string("activation"), ())
    values = attributes.floats("activation_args") if names else ()
    return dict(zip(names, values, strict=True))


def attributes_without_activation(op: NodeOp) -> dict[str, AttributeValue]:
    """The attributes of a layer like `op` that absorbed nothing."""
    attributes = attributes_of(op)
    for name in ("activation", "activation_args"):
        attributes.pop(name, None)
    return attributes
