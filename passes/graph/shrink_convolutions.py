"""Convolutions that make one pixel need no strides, no padding and no unseen weights.

Where the result is 1 x 1, the window stands in one place: strides mean nothing, rows and
columns of the filter that lie in the padding are multiplied by zeros, and the image may
have a border that no weight sees.

    %1 = glow.conv2d %x, %w pads [1, 1, 1, 1] strides [2, 2] : tensor<1x4x1x1xf32>   // 2x2
  becomes
    %1 = glow.conv2d %x, %w.inner : tensor<1x4x1x1xf32>                             // 2x2
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import stored_value
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.patterns import RewritePass


@dataclass(frozen=True)
class Seen:
    """The part [first, end) of a filter's rows or columns that lies on the image."""

    first: int
    end: int

    @staticmethod
    def of(extent: int, kernel: int, before: int) -> Seen:
        """What `kernel` taps see that start `before` pixels outside of the image."""
        return Seen(min(before, kernel), max(min(kernel, extent + before), 0))


def shrink(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The convolution without what has no effect on its one pixel."""
    assert isinstance(op, glow.Conv2dOp)
    view, weights = op.attributes_view(), stored_value(op.weights)
    plane, kernel = shape_of(op.input)[2:], shape_of(op.weights)[2:]
    if shape_of(op.result)[2:] != (1, 1) or view.ints("dilations") != (1, 1):
        return None
    pads = view.ints("pads")
    rows, columns = (Seen.of(plane[n], kernel[n], pads[n]) for n in range(2))
    whole = (rows, columns) == (Seen(0, kernel[0]), Seen(0, kernel[1]))
    if whole and not any(pads) and view.ints("strides") == (1, 1):
        return None
    visible = rows.first < rows.end and columns.first < columns.end
    if weights is None or not visible or not _ends_with_image(plane, kernel, pads):
        return None
    attributes = {**attributes_of(op), "strides": [1, 1], "pads": [0, 0, 0, 0]}
    inner = weights[:, :, rows.first : rows.end, columns.first : columns.end]
    value = op.weights
    if not whole:
        name = f"{name_of(op.weights)}.inner"
        value = builder.constant_like(op.weights, inner.copy(), name)
    operands = [op.input, value, *op.inputs[2:]]
    return builder.substitute(glow.Conv2dOp, operands, attributes)


def _ends_with_image(
    plane: tuple[int, ...], kernel: tuple[int, ...], pads: tuple[int, ...]
) -> bool:
    """Whether the seen part of the filter is as large as the image.

    Only then is the one pixel of the smaller window the only one.
    """
    return all(kernel[n] - pads[n] >= plane[n] for n in range(2))


class ShrinkConvolutionsPass(RewritePass):
    """Drop strides, padding and weights without effect."""

    name = "shrink-convolutions"
    preserves = VALUES
    rewrites = {glow.Conv2dOp: (shrink,)}
