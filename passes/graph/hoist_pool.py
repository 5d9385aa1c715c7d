"""Moves an average pool in front of the 1x1 convolution before it.

Both are linear and each keeps what the other works on: a 1x1 convolution mixes channels,
a pool mixes pixels. The convolution then computes as many pixels as the pool leaves, a
quarter for the usual 2x2. Every window must be a mean of pixels alone, so that the mean
of the bias is the bias: nothing may reach into padding. Quantized ones stay: the
convolution saturates (often a ReLU that needs no node any more), and a mean in front of
it would be rounded to the input's scale.

    %0 = glow.conv2d %x, %w, %b : tensor<1x32x8x8xf32>
    %1 = glow.avg_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x32x4x4xf32>
  becomes
    %0 = glow.avg_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x64x4x4xf32>
    %1 = glow.conv2d %0, %w, %b : tensor<1x32x4x4xf32>
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase,
    rewrite_nodes,
)


def is_mean_of_pixels(pool: glow.AvgPool2dOp) -> bool:
    """Whether no window reaches outside the image."""
    attributes = pool.attributes_view()
    return not any(attributes.ints("pads")) and not attributes.has("ceil_mode")


def mixes_channels_only(conv: glow.Conv2dOp) -> bool:
    """Whether each output pixel is a linear function of the same input pixel."""
    attributes = conv.attributes_view()
    return (
        not conv.is_quantized
        and shape_of(conv.weights)[2:] == (1, 1)
        and set(attributes.ints("strides")) == {1}
        and not any(attributes.ints("pads"))
        and conv.activation is None
    )


def hoist_pool(op: Operation) -> None:
    """Swap a pool with its producer where that saves multiplications."""
    assert isinstance(op, glow.AvgPool2dOp)
    conv = op.input.owner
    if (
        not isinstance(conv, glow.Conv2dOp)
        or not conv.result.has_one_use()
        or not mixes_channels_only(conv)
        or not is_mean_of_pixels(op)
        or prod(shape_of(op.result)) >= prod(shape_of(op.input))
    ):
        return
    pooled = NodeBuilder(op).node(glow.AvgPool2dOp, conv.input, **attributes_of(op))
    operands = [pooled, *conv.inputs[1:]]
    builder = NodeBuilder(op)
    result = builder.create(glow.Conv2dOp, operands, attributes_of(conv))
    assert isinstance(result.owner, Operation)
    result.owner.location = conv.location
    builder.replace(result)
    erase(conv)


class HoistPoolPass(GraphPass):
    """Move average pools in front of 1x1 convolutions."""

    name = "hoist-pool"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {glow.AvgPool2dOp: hoist_pool})
