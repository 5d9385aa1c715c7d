"""Moves an activation into the convolution or fully connected layer before it.

The producer must have no other use and no activation yet. The graph keeps the function
as a name, so that every backend sees it; the CPU turns it into an epilogue.

    %0 = glow.conv2d %x, %w, %b : tensor<1x8x4x4xf32>
    %1 = glow.relu %0 : tensor<1x8x4x4xf32>
  becomes
    %1 = glow.conv2d %x, %w, %b activation "relu" : tensor<1x8x4x4xf32>
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.attributes import Attributes, floats_attr
from glow.dialects.node import NodeOp
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase,
    replace_value,
    rewrite_nodes,
)
from glow.passes.rewriting.trace import fused

PRODUCERS = (glow.Conv2dOp, glow.FullyConnectedOp)

Arguments = Callable[[Attributes], tuple[float, ...]]

ACTIVATIONS: dict[type[NodeOp], Arguments] = {
    glow.ReluOp: lambda _: (),
    glow.ClipOp: lambda clip: (clip.float("low"), clip.float("high")),
    glow.SigmoidOp: lambda _: (),
    glow.TanhOp: lambda _: (),
    glow.LeakyReluOp: lambda leaky: (leaky.float("alpha"),),
    glow.HardSwishOp: lambda _: (),
}
"""The absorbable nodes (those of `glow.ACTIVATIONS`) and their arguments."""

ARGUMENTS: dict[type[NodeOp], tuple[str, ...]] = {
    glow.ClipOp: ("low", "high"),
    glow.LeakyReluOp: ("alpha",),
}
"""What the arguments are called."""


def fuse_activation(op: Operation) -> None:
    """Move an activation node into its producer."""
    assert isinstance(op, NodeOp)
    producer = op.operands[0].owner
    if not isinstance(producer, PRODUCERS):
        return
    # Between two quantizations an activation rescales too, which no producer absorbs.
    if producer.result.type != op.results[0].type:
        return
    if producer.activation is not None or not producer.result.has_one_use():
        fused(op, producer, "its input is needed elsewhere, or has an activation")
        return
    fused(op, producer)
    producer.properties["activation"] = StringAttr(op.name.removeprefix("glow."))
    arguments = ACTIVATIONS[type(op)](op.attributes_view())
    if arguments:
        producer.properties["activation_args"] = floats_attr(*arguments)
    producer.result.name_hint = op.results[0].name_hint
    replace_value(op.results[0], producer.result)
    erase(op)


def separate_activation(op: Operation) -> None:
    """Undo `fuse_activation`: the function is a node of its own again."""
    assert isinstance(op, PRODUCERS)
    attributes = op.attributes_view()
    if not attributes.has("activation"):
        return
    name = f"glow.{attributes.string('activation')}"
    absorbed = next(each for each in ACTIVATIONS if each.name == name)
    names = ARGUMENTS.get(absorbed, ())
    numbers = attributes.floats("activation_args") if names else ()
    builder, others = NodeBuilder(op), attributes_of(op)
    for absent in ("activation", "activation_args"):
        others.pop(absent, None)
    product = builder.substitute(type(op), op.inputs, others)
    arguments = dict(zip(names, numbers, strict=True))
    builder.replace(builder.substitute(absorbed, [product], arguments))


class FuseActivationPass(GraphPass):
    """Fuse activations into convolutions and fully connected layers."""

    name = "fuse-activation"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, dict.fromkeys(ACTIVATIONS, fuse_activation))
