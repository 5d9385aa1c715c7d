"""Sums of convolutions of one input become one convolution.

Networks are trained with several branches where one computes the same: a 3x3, a 1x1 and a batch
normalization of the input side by side (RepVGG, arXiv 2101.03697; MobileOne, arXiv 2206.04040).
Exporters leave them as they are. All are convolutions whose window the largest one has, too:
weights and biases add up, in float64.

    %1 = glow.conv2d %x, %v, %a pads [1, 1, 1, 1] : tensor<1x8x4x4xf32>          // 3x3
    %2 = glow.conv2d %x, %w, %b : tensor<1x8x4x4xf32>                            // 1x1
    %3 = glow.batch_norm %x, %scale, %bias, %mean, %variance : tensor<1x8x4x4xf32>
    %4 = glow.add %1, %2 : tensor<1x8x4x4xf32>
    %5 = glow.add %4, %3 : tensor<1x8x4x4xf32>
  becomes
    %5 = glow.conv2d %x, %v.merged, %v.bias pads [1, 1, 1, 1] : tensor<1x8x4x4xf32>

The input itself is no branch: to add it in the end costs next to nothing, and what it is added
to may be small. Before networks are quantized branches stay, each with a range of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import constant_value
from glow.passes.rewriting.constant_batch_norm import Floats, scale_and_shift
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
    name_of,
)
from glow.passes.rewriting.patterns import RewritePass

IMAGE_RANK = 4


@dataclass(frozen=True)
class Branch:
    """A convolution of an input, or what is one."""

    input: SSAValue
    weights: Floats
    """[O, C / group, kh, kw]"""
    bias: Floats
    """[O]"""
    group: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    starts: tuple[int, ...]
    """The row and the column of the input, less the padding, where the first window begins."""

    @property
    def taps(self) -> tuple[int, ...]:
        """The extents of the window."""
        return self.weights.shape[2:]

    def places_in(self, other: Branch) -> tuple[slice, ...] | None:
        """The taps of another branch that read what those of this one do, if it has them."""
        found: list[slice] = []
        numbers = zip(
            self.starts,
            other.starts,
            self.taps,
            other.taps,
            self.dilations,
            other.dilations,
            strict=True,
        )
        for mine, theirs, taps, more, step, other_step in numbers:
            first, rest = divmod(mine - theirs, other_step)
            if rest or first < 0 or first + taps > more:
                return None
            if taps > 1 and step != other_step:
                return None
            found.append(slice(first, first + taps))
        return tuple(found)

    def in_groups(self, group: int) -> Floats | None:
        """The weights in fewer groups, if each output has one input; None for other branches."""
        if group == self.group:
            return self.weights
        outputs, inputs, *taps = self.weights.shape
        if self.group != outputs or inputs != 1:
            return None
        each = outputs // group
        weights = np.zeros((outputs, each, *taps))
        for channel in range(outputs):
            weights[channel, channel % each] = self.weights[channel, 0]
        return weights

    def plus(self, other: Branch) -> tuple[Floats, Floats] | None:
        """Weights and bias of a sum whose window and groups this branch has."""
        places = other.places_in(self)
        weights = other.in_groups(self.group)
        if self.strides != other.strides or places is None or weights is None:
            return None
        total = self.weights.copy()
        total[:, :, *places] += weights
        return total, self.bias + other.bias


def branch_of(value: SSAValue) -> Branch | None:
    """The branch that makes a value, which nothing else reads; None for other values."""
    op = value.owner
    if not value.has_one_use() or len(shape_of(value)) != IMAGE_RANK:
        return None
    if isinstance(op, glow.Conv2dOp):
        return _convolution(op)
    return _batch_norm(op) if isinstance(op, glow.BatchNormOp) else None


def _convolution(op: glow.Conv2dOp) -> Branch | None:
    bias = None if op.bias is None else constant_value(op.bias)
    weights = constant_value(op.weights)
    if weights is None or op.activation or (op.bias is not None and bias is None):
        return None
    view = op.attributes_view()
    zeros = np.zeros(weights.shape[0])
    return Branch(
        op.input,
        weights.astype(np.float64),
        zeros if bias is None else bias.astype(np.float64),
        view.int("group"),
        tuple(view.ints("strides")),
        tuple(view.ints("dilations")),
        tuple(-pad for pad in view.ints("pads")[:2]),
    )


def _batch_norm(op: glow.BatchNormOp) -> Branch | None:
    """A number for each channel is a filter of one tap in a group of its own."""
    found = scale_and_shift(op)
    if found is None:
        return None
    scale, shift = found
    weights = scale.reshape(-1, 1, 1, 1)
    return Branch(op.input, weights, shift, len(scale), (1, 1), (1, 1), (0, 0))


def merge(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The one convolution that is the sum of two."""
    if dtype_of(element_type(op.results[0])).kind != "f":
        return None
    for value, addend in (op.inputs, op.inputs[::-1]):
        conv = value.owner
        if not isinstance(conv, glow.Conv2dOp) or value.type != addend.type:
            continue
        if _input_of(addend) is not conv.input:
            continue
        branch, other = branch_of(value), branch_of(addend)
        total = branch.plus(other) if branch and other else None
        if total is not None:
            return _merged(conv, builder, *total)
    return None


def _input_of(value: SSAValue) -> SSAValue | None:
    """What a branch reads; asked before constants are."""
    op = value.owner
    return op.input if isinstance(op, glow.Conv2dOp | glow.BatchNormOp) else None


def _merged(
    conv: glow.Conv2dOp, builder: NodeBuilder, weights: Floats, bias: Floats
) -> SSAValue:
    name, dtype = name_of(conv.weights), dtype_of(element_type(conv.weights))
    parts = [builder.constant(weights.astype(dtype), f"{name}.merged")]
    if bias.any():
        parts.append(builder.constant(bias.astype(dtype), f"{name}.bias"))
    return builder.substitute(glow.Conv2dOp, [conv.input, *parts], attributes_of(conv))


class MergeBranchesPass(RewritePass):
    """Make one convolution of sums of convolutions of one input."""

    name = "merge-branches"
    preserves = VALUES
    rewrites = {glow.AddOp: (merge,)}
