"""Folds batch normalizations, and channel-wise scales and shifts, into weights.

A batch normalization with constant parameters is `x * scale + shift` for each channel.
After a convolution or fully connected layer with constant weights that is only used
here, the scale goes into the weights and the shift into the bias, for a whole chain of
such steps. Elsewhere (pre-activation networks) a chain that holds a normalization
becomes one multiplication and one addition. Scales and shifts are computed in float64.

    %0 = glow.conv2d %x, %w : tensor<1x8x4x4xf32>
    %1 = glow.batch_norm %0, %scale, %bias, %mean, %variance : tensor<1x8x4x4xf32>
  becomes
    %1 = glow.conv2d %x, %w.folded, %b.folded : tensor<1x8x4x4xf32>
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value, dtype_of
from glow.passes.rewriting.constant_batch_norm import scale_and_shift
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
    erase,
    name_of,
    replace_value,
    rewrite_nodes,
)
from glow.passes.rewriting.trace import fused

Channels = NDArray[np.float64]


@dataclass(frozen=True)
class ChannelAffine:
    """`x * scale + shift` with one number of each for each channel (axis 1)."""

    scale: Channels
    shift: Channels

    def then(self, other: ChannelAffine) -> ChannelAffine:
        """This step followed by another."""
        shift = self.shift * other.scale + other.shift
        return ChannelAffine(self.scale * other.scale, shift)


def channel_constant(value: SSAValue, like: SSAValue) -> Channels | None:
    """One number for each channel of `like`, when the value is such a constant."""
    array = constant_value(value)
    rank = len(shape_of(like))
    if array is None or array.ndim > rank or rank < 2:
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    channels = shape_of(like)[1]
    if shape[1] not in (1, channels) or np.prod(shape) != shape[1]:
        return None
    return np.broadcast_to(array.astype(np.float64).ravel(), (channels,))


def affine_step(op: Operation, value: SSAValue) -> ChannelAffine | None:
    """What `op` does to its operand `value`, when that is affine for each channel."""
    if not isinstance(op, AFFINE) or op.results[0].type != value.type:
        return None
    if isinstance(op, glow.BatchNormOp):
        found = scale_and_shift(op) if op.input is value else None
        return None if found is None else ChannelAffine(*found)
    lhs, rhs = op.operands[:2]
    if lhs is rhs or (rhs is value and isinstance(op, glow.SubOp | glow.DivOp)):
        return None
    number = channel_constant(rhs if lhs is value else lhs, value)
    if number is None:
        return None
    zero, one = np.zeros_like(number), np.ones_like(number)
    if isinstance(op, glow.MulOp):
        return ChannelAffine(number, zero)
    if isinstance(op, glow.DivOp):
        return ChannelAffine(one / number, zero) if np.all(number) else None
    return ChannelAffine(one, number if isinstance(op, glow.AddOp) else -number)


AFFINE = (glow.BatchNormOp, glow.MulOp, glow.AddOp, glow.SubOp, glow.DivOp)


@dataclass
class Chain:
    """Affine steps that follow each other without other uses in between."""

    ops: list[Operation]
    affine: ChannelAffine

    @property
    def has_batch_norm(self) -> bool:
        """Whether a batch normalization is among the steps."""
        return any(isinstance(op, glow.BatchNormOp) for op in self.ops)


def chain_after(value: SSAValue) -> Chain | None:
    """The affine steps that alone use the value, one after the other."""
    chain: Chain | None = None
    while value.has_one_use():
        (use,) = value.uses
        step = affine_step(use.operation, value)
        if step is None:
            break
        if chain is None:
            chain = Chain([], step)
        else:
            chain.affine = chain.affine.then(step)
        chain.ops.append(use.operation)
        value = use.operation.results[0]
    return chain


def _is_float(value: SSAValue) -> bool:
    return dtype_of(element_type(value)).kind == "f"


def fold_into_weights(op: Operation) -> None:
    """Fold the affine steps after a layer into its weights and bias."""
    assert isinstance(op, glow.Conv2dOp | glow.FullyConnectedOp)
    weights = constant_value(op.weights)
    bias = None if op.bias is None else constant_value(op.bias)
    if weights is None or (op.bias is not None and bias is None) or op.activation:
        return
    chain = chain_after(op.result) if _is_float(op.result) else None
    if chain is None:
        return
    for step in chain.ops:
        fused(step, op)
    affine, dtype = chain.affine, weights.dtype
    outputs = len(affine.scale)
    per_output = (outputs, 1, 1, 1) if weights.ndim == 4 else (outputs,)
    if np.all(affine.scale == 1.0):
        new_weights = op.weights
    else:
        # The scale is rounded once: products in float64 would cost twice the time.
        scale = affine.scale.astype(dtype).reshape(per_output)
        scaled = np.multiply(weights, scale)
        new_weights = NodeBuilder(op).constant(scaled, f"{name_of(op.weights)}.folded")
    old_bias = np.zeros(outputs) if bias is None else bias.astype(np.float64)
    shift = (old_bias * affine.scale + affine.shift).astype(dtype)
    name = f"{name_of(op.weights) if op.bias is None else name_of(op.bias)}.bias"
    new_bias = NodeBuilder(op).constant(shift, name)
    _replace_chain(op, chain, [op.inputs[0], new_weights, new_bias])


def _replace_chain(op: NodeOp, chain: Chain, operands: list[SSAValue]) -> None:
    """Put the layer with new operands in the place of itself and the chain."""
    builder = NodeBuilder(op)
    layer = builder.create(type(op), operands, attributes_of(op))
    layer.name_hint = chain.ops[-1].results[0].name_hint
    replace_value(chain.ops[-1].results[0], layer)
    for step in reversed(chain.ops):
        erase(step)
    erase(op)


def merge_chain(op: Operation) -> None:
    """Make a chain with a batch normalization one multiplication and one addition."""
    source = op.operands[0] if not _is_constant(op.operands[0]) else op.operands[1]
    first = affine_step(op, source)
    if first is None or not _is_float(source):
        return
    rest = chain_after(op.results[0])
    chain = Chain([op], first)
    if rest is not None:
        chain = Chain([op, *rest.ops], first.then(rest.affine))
    if not chain.has_batch_norm or len(chain.ops) < 2:
        return
    builder = NodeBuilder(op)
    shape = (len(chain.affine.scale), *(1,) * (len(shape_of(source)) - 2))
    dtype = dtype_of(element_type(source))
    scale, shift = (
        builder.constant(
            array.astype(dtype).reshape(shape), f"{name_of(op.results[0])}.{kind}"
        )
        for kind, array in (
            ("scale", chain.affine.scale),
            ("shift", chain.affine.shift),
        )
    )
    scaled = builder.node(glow.MulOp, source, scale)
    result = builder.node(glow.AddOp, scaled, shift)
    result.name_hint = chain.ops[-1].results[0].name_hint
    replace_value(chain.ops[-1].results[0], result)
    for step in reversed(chain.ops):
        erase(step)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, glow.ConstantOp | glow.SplatOp)


class FoldBatchNormPass(GraphPass):
    """Fold batch normalizations and channel-wise steps into weights."""

    name = "fold-batch-norm"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        layers = (glow.Conv2dOp, glow.FullyConnectedOp)
        rewrite_nodes(op, dict.fromkeys(layers, fold_into_weights))
        rewrite_nodes(op, dict.fromkeys(AFFINE, merge_chain))
