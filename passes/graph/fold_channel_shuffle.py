"""Folds a channel shuffle into the convolution before it.

ShuffleNet mixes its groups by reshape, transpose, reshape: a permutation of channels. As
a permutation of the convolution's outputs it costs nothing. The groups of a grouped
convolution are then no longer contiguous, so it becomes a dense one with zero weights
between groups; that multiplies its arithmetic by the number of groups, and pays as long
as these are few, because it saves three passes over memory and dense kernels run at the
machine's peak. (Zero weights times infinite inputs give NaN where groups would not.)

    %0 = glow.conv2d %x, %w group 4 : tensor<1x136x28x28xf32>
    %1 = glow.reshape %0 : tensor<1x4x34x28x28xf32>
    %2 = glow.transpose %1 permutation [0, 2, 1, 3, 4] : tensor<1x34x4x28x28xf32>
    %3 = glow.reshape %2 : tensor<1x136x28x28xf32>
  becomes
    %3 = glow.conv2d %x, %w.shuffled : tensor<1x136x28x28xf32>
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weight_table import Array
from glow.dialects.weights import constant_value
from glow.passes.graph.node_builder import (
    NodeBuilder,
    attributes_of,
    erase_dead_nodes,
    name_of,
    rewrite_nodes,
)

MAX_DENSE_GROUPS = 8
"""Up to so many groups a dense convolution beats one whose groups fit no vector."""


def dense_weights(weights: Array, group: int) -> Array:
    """Weights [O, C / group, kh, kw] as [O, C, kh, kw], zero between groups."""
    outputs, inputs, *kernel = weights.shape
    dense = np.zeros((group, outputs // group, group, inputs, *kernel), weights.dtype)
    parts = weights.reshape(group, outputs // group, inputs, *kernel)
    for index in range(group):
        dense[index, :, index] = parts[index]
    return dense.reshape(outputs, group * inputs, *kernel)


def shuffle_of(op: glow.TransposeOp) -> NDArray[np.int64] | None:
    """The old channel of each new one, if the transpose stands for a shuffle."""
    before, after = op.input.owner, op.result.get_user_of_unique_use()
    if not isinstance(before, glow.ReshapeOp) or not isinstance(after, glow.ReshapeOp):
        return None
    plain, split = shape_of(before.input), shape_of(op.input)
    if shape_of(after.result) != plain or len(plain) != 4 or len(split) != 5:
        return None
    if op.attributes_view().ints("permutation") != (0, 2, 1, 3, 4):
        return None
    if (split[0], *split[3:]) != (plain[0], *plain[2:]):
        return None
    return np.arange(plain[1]).reshape(split[1:3]).T.reshape(-1)


def shuffled_producer(op: glow.TransposeOp) -> glow.Conv2dOp | None:
    """The convolution whose result only the shuffle reads."""
    before = op.input.owner
    assert isinstance(before, glow.ReshapeOp)
    producer = before.input.owner
    if not isinstance(producer, glow.Conv2dOp):
        return None
    only_here = before.input.has_one_use() and op.input.has_one_use()
    few_groups = producer.attributes_view().int("group") <= MAX_DENSE_GROUPS
    return producer if only_here and few_groups else None


def fold_shuffle(op: Operation) -> None:
    """Fold a shuffle into the weights and the bias of its producer."""
    assert isinstance(op, glow.TransposeOp)
    order = shuffle_of(op)
    conv = None if order is None else shuffled_producer(op)
    if order is None or conv is None:
        return
    weights = constant_value(conv.weights)
    bias = None if conv.bias is None else constant_value(conv.bias)
    if weights is None or (bias is None) != (conv.bias is None):
        return
    builder = NodeBuilder(conv)
    dense = dense_weights(weights, conv.attributes_view().int("group"))[order]
    operands: list[SSAValue] = [
        conv.input,
        builder.constant(dense, f"{name_of(conv.weights)}.shuffled"),
    ]
    if bias is not None and conv.bias is not None:
        name = f"{name_of(conv.bias)}.shuffled"
        operands.append(builder.constant(bias[order], name))
    attributes = {**attributes_of(conv), "group": 1}
    result = builder.create(glow.Conv2dOp, operands, attributes)
    last = op.result.get_user_of_unique_use()
    assert last is not None
    NodeBuilder(last).replace(result)


class FoldChannelShufflePass(ModulePass):
    """Fold channel shuffles into convolutions."""

    name = "fold-channel-shuffle"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {glow.TransposeOp: fold_shuffle})
        erase_dead_nodes(op)
