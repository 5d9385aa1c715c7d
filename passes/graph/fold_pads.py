"""Folds padding into what reads it: windows, and sums of pieces of a whole.

A convolution or a pool pads for nothing, without a copy of the image. Zeros may be the
padding of convolutions and of means that count them; a maximum never sees its own. In
quantized windows too, padding is the number 0, and the result's scale is the window's.

    %0 = glow.pad %x pads [0, 0, 1, 1, 0, 0, 1, 1] : tensor<1x8x6x6xf32>
    %1 = glow.conv2d %0, %w : tensor<1x4x4x4xf32>
  becomes
    %1 = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x4x4x4xf32>

The gradient of a tensor that is read in slices is a sum of padded pieces. Where these fill it, none
over another, it is a concatenation:

    %0 = glow.pad %x pads [0, 0, 0, 4] : tensor<2x6xf32>
    %1 = glow.pad %y pads [0, 2, 0, 0] : tensor<2x6xf32>
    %2 = glow.add %0, %1 : tensor<2x6xf32>
  becomes
    %2 = glow.concat %x, %y axis 1 : tensor<2x6xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of
from glow.passes.rewriting.patterns import RewritePass

LOWEST = float("-inf")


class Piece(NamedTuple):
    """A part [start, end) of a tensor on one axis."""

    axis: int
    start: int
    end: int
    value: SSAValue


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


def pieces_of(result: SSAValue, shape: tuple[int, ...]) -> list[Piece] | None:
    """The pieces that a sum adds up, sums that nothing else reads taken apart; None if
    something else is added.

    What stands beside an inner sum is looked at first, so that long sums end at once.
    """
    pieces: list[Piece] = []
    pending = [result]
    while pending:
        for operand in sum_at(pending.pop(), shape):
            if sum_at(operand, shape) and operand.has_one_use():
                pending.append(operand)
            elif (piece := piece_of(operand, shape)) is not None:
                pieces.append(piece)
            else:
                return None
    return sorted(pieces, key=lambda piece: piece[:3])


def sum_at(value: SSAValue, shape: tuple[int, ...]) -> Sequence[SSAValue]:
    """The operands of the sum of that shape that a value is; none if it is not."""
    owner = value.owner
    if isinstance(owner, glow.AddOp) and shape_of(value) == shape:
        return owner.inputs
    return ()


def piece_of(value: SSAValue, shape: tuple[int, ...]) -> Piece | None:
    """The piece of a tensor of a shape that padding by zeros puts at its place on one axis."""
    pad = value.owner
    if not isinstance(pad, glow.PadOp) or shape_of(value) != shape:
        return None
    view = pad.attributes_view()
    if view.string("mode") != "constant" or view.float("value") != 0.0:
        return None
    pads = view.ints("pads")
    before, after = pads[: len(shape)], pads[len(shape) :]
    axes = [
        axis for axis, both in enumerate(zip(before, after, strict=True)) if any(both)
    ]
    if len(axes) != 1 or min(pads) < 0:
        return None
    (axis,) = axes
    return Piece(axis, before[axis], shape[axis] - after[axis], pad.input)


def join_pieces(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The concatenation of padded pieces that fill a tensor."""
    result = op.results[0]
    if op.is_quantized:
        return None
    shape = shape_of(result)
    pieces = pieces_of(result, shape)
    if pieces is None or len({piece.axis for piece in pieces}) != 1:
        return None
    axis = pieces[0].axis
    borders = [0, *(piece.end for piece in pieces)]
    starts = [*(piece.start for piece in pieces), shape[axis]]
    if borders != starts:
        return None
    return builder.node(glow.ConcatOp, *(piece.value for piece in pieces), axis=axis)


class FoldPadsPass(RewritePass):
    """Fold padding into convolutions, pools and sums."""

    name = "fold-pads"
    preserves = VALUES
    rewrites = {
        glow.Conv2dOp: (into_convolution,),
        glow.AvgPool2dOp: (into_mean,),
        glow.MaxPool2dOp: (into_maximum,),
        glow.AddOp: (join_pieces,),
    }
