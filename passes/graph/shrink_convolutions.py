"""Convolutions need no weights that meet padding alone, nor strides of a single step.

Filters with far dilations on small images, and those that stand in one place, have rows and
columns that meet zeros wherever they stand: these and their padding go.

    %1 = glow.conv2d %x, %w pads [9, 1, 9, 1] dilations [9, 1] : tensor<1x4x8x8xf32>   // 3x3
  becomes
    %1 = glow.conv2d %x, %w.inner pads [0, 1, 0, 1] : tensor<1x4x8x8xf32>              // 1x3
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import stored_value
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.patterns import RewritePass


@dataclass(frozen=True)
class Axis:
    """How a filter moves over an image along one of the two axes."""

    extent: int
    """The image's."""
    steps: int
    """In how many places the filter stands: the result's extent."""
    taps: range
    """Those of the whole filter's weights that it has."""
    stride: int
    dilation: int
    before: int
    after: int

    @staticmethod
    def all_of(op: glow.Conv2dOp) -> list[Axis]:
        """The rows and the columns of a convolution."""
        view, pads = op.attributes_view(), op.attributes_view().ints("pads")
        planes = (shape_of(value)[2:] for value in (op.input, op.result))
        taps = map(range, shape_of(op.weights)[2:])
        steps = view.ints("strides"), view.ints("dilations")
        both = zip(*planes, taps, *steps, pads[:2], pads[2:], strict=True)
        return [Axis(*numbers) for numbers in both]

    def shrunk(self) -> Axis:
        """The axis without what has no effect; itself where it has nothing of that, or where
        a smaller filter would stand in more places.
        """
        taps = self._on_image()
        stride = 1 if self.steps == 1 else self.stride
        if not taps or (taps == self.taps and stride == self.stride):
            return self
        dilation = 1 if len(taps) == 1 else self.dilation
        before = self.before - taps.start * self.dilation
        reached = (self.steps - 1) * stride + (len(taps) - 1) * dilation + 1
        after = max(0, reached - self.extent - before)
        if before < 0 or self.extent + before + after - reached >= stride:
            return self
        return replace(
            self,
            taps=taps,
            stride=stride,
            dilation=dilation,
            before=before,
            after=after,
        )

    def _on_image(self) -> range:
        """The taps from the first to the last that are on the image in some place."""
        seen: list[int] = []
        for tap in self.taps:
            first = tap * self.dilation - self.before
            step = max(0, -(first // self.stride))
            if step < self.steps and first + step * self.stride < self.extent:
                seen.append(tap)
        return range(seen[0], seen[-1] + 1) if seen else range(0)


def shrink(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The convolution without what has no effect on its result."""
    assert isinstance(op, glow.Conv2dOp)
    axes = Axis.all_of(op)
    rows, columns = (axis.shrunk() for axis in axes)
    if [rows, columns] == axes or (weights := stored_value(op.weights)) is None:
        return None
    attributes = {
        **attributes_of(op),
        "strides": [rows.stride, columns.stride],
        "dilations": [rows.dilation, columns.dilation],
        "pads": [rows.before, columns.before, rows.after, columns.after],
    }
    inner = weights[
        :, :, rows.taps.start : rows.taps.stop, columns.taps.start : columns.taps.stop
    ]
    value = op.weights
    if inner.shape != weights.shape:
        name = f"{name_of(op.weights)}.inner"
        value = builder.constant_like(op.weights, inner.copy(), name)
    operands = [op.input, value, *op.inputs[2:]]
    return builder.substitute(glow.Conv2dOp, operands, attributes)


class ShrinkConvolutionsPass(RewritePass):
    """Drop weights that meet padding alone, and strides of a single step."""

    name = "shrink-convolutions"
    preserves = VALUES
    rewrites = {glow.Conv2dOp: (shrink,)}
