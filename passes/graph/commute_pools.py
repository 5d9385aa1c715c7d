"""Pools change places with their neighbours, where that saves work.

| before                         | after                                             |
|--------------------------------|---------------------------------------------------|
| `max_pool(sigmoid(x))`         | `sigmoid(max_pool(x))`: costly monotone functions |
| `reduce_mean` over the plane   | `avg_pool2d` over the whole image, which stays    |
| of an image                    | in the blocked layout                             |

An average pool goes before a 1x1 convolution by `hoist-pool`.
"""

from __future__ import annotations

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


class CommutePoolsPass(RewritePass):
    """Pool before costly functions; means over planes as pools."""

    name = "commute-pools"
    preserves = VALUES
    rewrites = {glow.MaxPool2dOp: (maximum_first,), glow.ReduceMeanOp: (mean_of_plane,)}
