"""Folds a channel shuffle into the weights of convolutions around it.

ShuffleNet mixes its groups by reshape, transpose, reshape: a permutation of channels. It
costs nothing as a permutation of the outputs of a convolution of one group. Otherwise it
sinks through nodes that keep to their channels and becomes a permutation of the inputs of
the next convolution. Groups of that are then no longer contiguous, so it becomes a dense
one with zero weights, which backends may skip. Where no convolution follows, a few groups
of the one before become dense instead. Zero weights times infinite inputs give NaN where
groups would not, so exact numerics keep the groups.

    %0 = glow.conv2d %x, %v group 4 : tensor<1x136x28x28xf32>
    %1 = glow.reshape %0 : tensor<1x4x34x28x28xf32>
    %2 = glow.transpose %1 permutation [0, 2, 1, 3, 4] : tensor<1x34x4x28x28xf32>
    %3 = glow.reshape %2 : tensor<1x136x28x28xf32>
    %4 = glow.conv2d %3, %w group 4 : tensor<1x136x28x28xf32>
  becomes
    %0 = glow.conv2d %x, %v group 4 : tensor<1x136x28x28xf32>
    %4 = glow.conv2d %0, %w.shuffled : tensor<1x136x28x28xf32>
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weight_table import Array
from glow.dialects.weights import constant_value
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase_dead_nodes,
    name_of,
    replace_value,
    rewrite_nodes,
)

MAX_DENSE_GROUPS = 8
"""Up to so many groups a dense convolution beats one whose groups fit no vector."""


Order = NDArray[np.int64]
"""The old channel of each new one."""


def dense_weights(weights: Array, group: int) -> Array:
    """Weights [O, C / group, kh, kw] as [O, C, kh, kw], zero between groups."""
    outputs, inputs, *kernel = weights.shape
    dense = np.zeros((group, outputs // group, group, inputs, *kernel), weights.dtype)
    parts = weights.reshape(group, outputs // group, inputs, *kernel)
    for index in range(group):
        dense[index, :, index] = parts[index]
    return dense.reshape(outputs, group * inputs, *kernel)


def shuffle_of(op: glow.TransposeOp) -> Order | None:
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


def producer_of(op: glow.TransposeOp) -> glow.Conv2dOp | None:
    """The convolution whose result only the shuffle reads."""
    before = op.input.owner
    assert isinstance(before, glow.ReshapeOp)
    producer = before.input.owner
    only_here = before.input.has_one_use() and op.input.has_one_use()
    return producer if only_here and isinstance(producer, glow.Conv2dOp) else None


def keeps_channels(op: Operation) -> bool:
    """Whether each output channel of a node depends on the input channel of its place."""
    if isinstance(op, glow.Conv2dOp):
        return is_depthwise(op)
    return isinstance(op, glow.MaxPool2dOp | glow.AvgPool2dOp)


def is_depthwise(conv: glow.Conv2dOp) -> bool:
    """Whether a convolution has one constant filter for each channel."""
    channels = shape_of(conv.input)[1]
    group = conv.attributes_view().int("group")
    return group == channels == shape_of(conv.result)[1] and has_constants(conv)


def has_constants(conv: glow.Conv2dOp) -> bool:
    """Whether weights and bias are known."""
    bias = conv.bias
    known_bias = bias is None or constant_value(bias) is not None
    return known_bias and constant_value(conv.weights) is not None


def consumer_of(
    value: SSAValue, max_groups: int
) -> tuple[list[Operation], glow.Conv2dOp] | None:
    """The nodes that a shuffle of the value can sink through, and the convolution after."""
    passed: list[Operation] = []
    user = value.get_user_of_unique_use()
    while user is not None and keeps_channels(user) and user.operands[0] is value:
        passed.append(user)
        value = user.results[0]
        user = value.get_user_of_unique_use()
    if not isinstance(user, glow.Conv2dOp) or user.input is not value:
        return None
    few_groups = user.attributes_view().int("group") <= max_groups
    return (passed, user) if few_groups and has_constants(user) else None


def permuted(conv: glow.Conv2dOp, weights: Array, order: Order | None) -> SSAValue:
    """A new convolution in the place of another: other weights, the bias in that order."""
    builder = NodeBuilder(conv)
    operands = [
        conv.input,
        builder.constant(weights, f"{name_of(conv.weights)}.shuffled"),
    ]
    if conv.bias is not None:
        bias = conv.bias
        if order is not None:
            array = constant_value(bias)
            assert array is not None
            bias = builder.constant(array[order], f"{name_of(bias)}.shuffled")
        operands.append(bias)
    group = 1 if weights.shape[1] == shape_of(conv.input)[1] else len(weights)
    attributes = {**attributes_of(conv), "group": group}
    return builder.create(glow.Conv2dOp, operands, attributes)


def dense_weights_of(conv: glow.Conv2dOp) -> Array:
    """The constant weights of a convolution as those of one group."""
    weights = constant_value(conv.weights)
    assert weights is not None
    return dense_weights(weights, conv.attributes_view().int("group"))


def fold_into_producer(conv: glow.Conv2dOp, order: Order) -> SSAValue:
    """The shuffled result of a convolution."""
    return permuted(conv, dense_weights_of(conv)[order], order)


def sink(passed: list[Operation], consumer: glow.Conv2dOp, order: Order) -> None:
    """Shuffle the filters of the nodes passed back, and the inputs of the consumer."""
    back = np.argsort(order)
    for op in passed:
        if isinstance(op, glow.Conv2dOp):
            weights = constant_value(op.weights)
            assert weights is not None
            NodeBuilder(op).replace(permuted(op, weights[back], back))
    shuffled = dense_weights_of(consumer)[:, back]
    NodeBuilder(consumer).replace(permuted(consumer, shuffled, None))


def fold_shuffle(op: Operation, max_groups: int = MAX_DENSE_GROUPS) -> None:
    """Fold a shuffle into the convolution before it or after it.

    Convolutions of more than `max_groups` groups do not become dense.
    """
    assert isinstance(op, glow.TransposeOp)
    order = shuffle_of(op)
    last = op.result.get_user_of_unique_use()
    if order is None or last is None:
        return
    producer, value = producer_of(op), last.results[0]
    if producer is not None and not has_constants(producer):
        producer = None
    groups = 0 if producer is None else producer.attributes_view().int("group")
    consumer = consumer_of(value, max_groups) if groups != 1 else None
    if consumer is not None:
        before = op.input.owner
        assert isinstance(before, glow.ReshapeOp)
        replace_value(value, before.input)
        sink(*consumer, order)
    elif producer is not None and groups <= max_groups:
        NodeBuilder(last).replace(fold_into_producer(producer, order))


@dataclass(frozen=True)
class FoldChannelShufflePass(GraphPass):
    """Fold channel shuffles into convolutions; with `numerics` exact no groups become
    dense, so that infinities stay in their group.
    """

    name = "fold-channel-shuffle"
    preserves = VALUES

    numerics: str = "default"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        max_groups = 1 if self.numerics == "exact" else MAX_DENSE_GROUPS
        fold = partial(fold_shuffle, max_groups=max_groups)
        rewrite_nodes(op, {glow.TransposeOp: fold})
        erase_dead_nodes(op)
