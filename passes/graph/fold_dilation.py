"""Recognises a dilated convolution that its exporter spells with batches.

Frameworks without dilation move every `rate`-th pixel into the batch, convolve densely,
and move the pixels back: five copies of the image for an attribute.

    %0 = glow.reshape %x : [N, C, H/r, r, W/r, r]
    %1 = glow.transpose %0 permutation [3, 5, 0, 1, 2, 4]
    %2 = glow.reshape %1 : [r*r*N, C, H/r, W/r]
    %3 = glow.conv2d %2, %w pads [1, 1, 1, 1]
    %4 = glow.reshape %3 : [r, r, N, O, H/r, W/r]
    %5 = glow.transpose %4 permutation [2, 3, 4, 0, 5, 1]
    %6 = glow.reshape %5 : [N, O, H, W]
  becomes
    %6 = glow.conv2d %x, %w dilations [r, r] pads [r, r, r, r]
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of
from glow.passes.rewriting.patterns import RewritePass

INTO_BATCH = (3, 5, 0, 1, 2, 4)
BACK = (2, 3, 4, 0, 5, 1)


def moved_from(value: SSAValue, permutation: tuple[int, ...]) -> glow.ReshapeOp | None:
    """The reshape below a transpose below the reshape that makes a value."""
    outer = value.owner
    moved = outer.input.owner if isinstance(outer, glow.ReshapeOp) else None
    if not isinstance(moved, glow.TransposeOp):
        return None
    inner = moved.input.owner
    if moved.attributes_view().ints("permutation") != permutation:
        return None
    return inner if isinstance(inner, glow.ReshapeOp) else None


def fold_dilation(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The dilated convolution that ends with this reshape."""
    split = moved_from(op.results[0], BACK)
    conv = split.input.owner if split is not None else None
    if split is None or not isinstance(conv, glow.Conv2dOp):
        return None
    parts = moved_from(conv.input, INTO_BATCH)
    if parts is None or not _fits(op, split, conv, parts):
        return None
    rates = shape_of(parts.result)[3], shape_of(parts.result)[5]
    view = conv.attributes_view()
    attributes = attributes_of(conv)
    attributes["dilations"] = list(rates)
    attributes["pads"] = [p * rates[n % 2] for n, p in enumerate(view.ints("pads"))]
    operands = [parts.input, *conv.inputs[1:]]
    return builder.substitute(glow.Conv2dOp, operands, attributes)


def _fits(
    op: NodeOp, split: glow.ReshapeOp, conv: glow.Conv2dOp, parts: glow.ReshapeOp
) -> bool:
    """Whether the shapes are those of the idiom."""
    view = conv.attributes_view()
    if view.ints("strides") != (1, 1) or view.ints("dilations") != (1, 1):
        return False
    batch, channels, height, rows, width, columns = shape_of(parts.result)
    dense = (rows * columns * batch, channels, height, width)
    outputs = shape_of(conv.result)[1]
    result = (batch, outputs, height * rows, width * columns)
    return (
        shape_of(parts.input) == (batch, channels, height * rows, width * columns)
        and shape_of(conv.input) == dense
        and shape_of(split.result) == (rows, columns, batch, outputs, height, width)
        and shape_of(op.results[0]) == result
    )


class FoldDilationPass(RewritePass):
    """Recognise dilated convolutions."""

    name = "fold-dilation"
    preserves = VALUES
    rewrites = {glow.ReshapeOp: (fold_dilation,)}
