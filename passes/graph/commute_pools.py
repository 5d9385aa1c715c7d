"""Pools change places with their neighbours, or are taken apart, where that saves work.

| before                         | after                                             |
|--------------------------------|---------------------------------------------------|
| `max_pool(sigmoid(x))`         | `sigmoid(max_pool(x))`: costly monotone functions |
| `reduce_mean` over the plane   | `avg_pool2d` over the whole image, which stays    |
| of an image                    | in the blocked layout                             |
| `max_pool` of 5 x 5            | `max_pool` of 1 x 5, then of 5 x 1                |

An average pool goes before a 1x1 convolution by `hoist-pool`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, like
from glow.passes.rewriting.patterns import RewritePass

MONOTONE = (
    glow.SigmoidOp, glow.TanhOp, glow.SoftplusOp, glow.SoftsignOp, glow.ErfOp, glow.ExpOp,
)  # fmt: skip
"""Costly functions that never decrease."""

PLANE = (2, 3)
"""The axes of pixels in an image [N, C, H, W]."""


def maximum_first(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A function of the maxima for the maxima of a function."""
    function = op.inputs[0].owner
    if not isinstance(function, MONOTONE) or not op.inputs[0].has_one_use():
        return None
    pooled = builder.node(glow.MaxPool2dOp, function.operands[0], **attributes_of(op))
    return builder.node(type(function), pooled)


def mean_of_plane(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """An average pool over the whole image for a mean over its plane."""
    x, shape = op.inputs[0], shape_of(op.inputs[0])
    if len(shape) != 4 or op.attributes_view().ints("axes") != PLANE or 0 in shape:
        return None
    result = op.results[0]
    if not op.is_quantized and dtype_of(element_of(x)).kind != "f":
        return None
    types = [like(result, (*shape[:2], 1, 1))]
    attributes = {"kernel": list(shape[2:])}
    pooled = builder.create(glow.AvgPool2dOp, [x], attributes, types=types)
    return builder.reshape(pooled, shape_of(op.results[0]))


def rows_then_columns(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The maxima of rows, then of columns of these, where that reads fewer elements."""
    view, plane = op.attributes_view(), shape_of(op.inputs[0])[2:]
    (down, across), pads = view.ints("kernel"), view.ints("pads")
    outputs = shape_of(op.results[0])[2:]
    if 0 in outputs or 1 in (down, across):
        return None
    rows = plane[0] / outputs[0]
    if rows * (across + STORED) + down >= down * across:
        return None
    attributes, x = attributes_of(op), op.inputs[0]
    parts = [
        {name: _along(view.ints(name), axis, still) for name, still in WINDOW.items()}
        for axis in (1, 0)
    ]
    shape = (*shape_of(x)[:2], plane[0], outputs[1])
    first = {**attributes, **parts[0], "pads": [0, pads[1], 0, pads[3]]}
    last = {**attributes, **parts[1], "pads": [pads[0], 0, pads[2], 0]}
    maxima = builder.create(glow.MaxPool2dOp, [x], first, types=[like(x, shape)])
    types = [like(op.results[0], shape_of(op.results[0]))]
    return builder.create(glow.MaxPool2dOp, [maxima], last, types=types)


def _along(numbers: Sequence[int], axis: int, still: int) -> list[int]:
    """One axis of a window; along the other it does not move."""
    return [numbers[axis] if axis == k else still for k in (0, 1)]


STORED = 4
"""Elements that are read in the time in which one is stored and read again."""

WINDOW = {"kernel": 1, "strides": 1, "dilations": 1}
"""What describes a window along each axis, and its value where it does not move."""


class CommutePoolsPass(RewritePass):
    """Pool before costly functions, large windows by axis; means over planes as pools."""

    name = "commute-pools"
    preserves = VALUES
    rewrites = {
        glow.MaxPool2dOp: (maximum_first, rows_then_columns),
        glow.ReduceMeanOp: (mean_of_plane,),
    }
