"""What batch normalization and its gradient both need of a batch, built in one way.

Where both are built, the second's nodes are duplicates that `cse` merges with the first's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, element_type


@dataclass(frozen=True)
class BatchStatistics:
    """Statistics of each channel, of shape [1, C, 1, ...]."""

    axes: list[int]
    count: int
    """The elements of a channel."""
    mean: SSAValue
    centred: SSAValue
    """The input less the mean."""
    variance: SSAValue
    deviation: SSAValue
    """The root of the variance plus epsilon."""
    scale: SSAValue


def batch_statistics(
    builder: NodeBuilder, op: glow.BatchNormTrainingOp
) -> BatchStatistics:
    """The statistics of a normalization's input."""
    shape = shape_of(op.input)
    axes = [axis for axis in range(len(shape)) if axis != 1]
    along = [size if axis == 1 else 1 for axis, size in enumerate(shape)]
    mean = builder.node(glow.ReduceMeanOp, op.input, axes=axes, keepdims=True)
    centred = builder.node(glow.SubOp, op.input, mean)
    square = builder.node(glow.MulOp, centred, centred)
    variance = builder.node(glow.ReduceMeanOp, square, axes=axes, keepdims=True)
    epsilon = op.attributes_view().float("epsilon")
    smallest = builder.splat(epsilon, element_type(op.input))
    total = builder.node(glow.AddOp, variance, smallest)
    return BatchStatistics(
        axes,
        prod(shape) // max(shape[1], 1),
        mean,
        centred,
        variance,
        builder.node(glow.SqrtOp, total),
        builder.reshape(op.scale, along),
    )
