"""Folds padding into the windows that read it.

A convolution or a pool pads for nothing, without a copy of the image. Zeros may be the
padding of convolutions and of means that count them; a maximum never sees its own. In
quantized windows too, padding is the number 0, and the result's scale is the window's.

    %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x8x6x6xf32>
    %1 = glow.conv2d %0, %w : tensor<1x4x4x4xf32>
  becomes
    %1 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x4x4x4xf32>
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of
from glow.passes.rewriting.patterns import RewritePass

LOWEST = float("-inf")


def plane_pads(pad: glow.PadOp) -> tuple[int, ...] | None:
    """[top, left, bottom, right] of padding that leaves the other axes alone."""
    pads = pad.attributes_view().ints("pads")
    if len(pads) != 8 or min(pads) < 0 or any((*pads[:2], *pads[4:6])):
        return None
    return (*pads[2:4], *pads[6:])


def fold_pad(op: NodeOp, builder: NodeBuilder, number: float) -> SSAValue | None:
    """The window over the unpadded image, if the padding is of the right number."""
    pad = op.inputs[0].owner
    if (
        not isinstance(pad, glow.PadOp)
        or pad.attributes_view().string("mode") != "constant"
    ):
        return None
    pads = plane_pads(pad)
    if pads is None or pad.attributes_view().float("value") != number:
        return None
    attributes = attributes_of(op)
    own = op.attributes_view().ints("pads")
    attributes["pads"] = [a + b for a, b in zip(pads, own, strict=True)]
    operands = [pad.input, *op.inputs[1:]]
    return builder.substitute(type(op), operands, attributes)


def into_convolution(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Zeros before a convolution."""
    return fold_pad(op, builder, 0.0)


def into_mean(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Zeros before a mean that counts them, and whose windows never leave the image."""
    view = op.attributes_view()
    if view.has("ceil_mode") or not (view.has("count_include_pad")):
        return None
    return fold_pad(op, builder, 0.0)


def into_maximum(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Minus infinity before a maximum; no window may see nothing else."""
    view = op.attributes_view()
    pad = op.inputs[0].owner
    if view.has("ceil_mode") or not isinstance(pad, glow.PadOp):
        return None
    pads, kernel = plane_pads(pad), view.ints("kernel")
    if pads is None or any(
        p + own >= kernel[n % 2]
        for n, (p, own) in enumerate(zip(pads, view.ints("pads"), strict=True))
    ):
        return None
    return fold_pad(op, builder, LOWEST)


class FoldPadsPass(RewritePass):
    """Fold padding into convolutions and pools."""

    name = "fold-pads"
    preserves = VALUES
    rewrites = {
        glow.Conv2dOp: (into_convolution,),
        glow.AvgPool2dOp: (into_mean,),
        glow.MaxPool2dOp: (into_maximum,),
    }
