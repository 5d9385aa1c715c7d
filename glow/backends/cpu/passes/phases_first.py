"""Shuffles of pixels whose phases come before channels, by the order of a convolution's outputs.

Exporters write a shuffle with the phases of each channel side by side, so that channels which
follow each other go to different pixels. With all channels of a phase side by side a backend moves
whole blocks of them; a convolution before it gives its outputs in either order.

    %0 = glow.conv2d %x, %w : tensor<1x256x96x96xf32>
    %1 = glow.reshape %0 : tensor<1x64x2x2x96x96xf32>
    %2 = glow.transpose %1 permutation [0, 1, 4, 2, 5, 3] : tensor<1x64x96x2x96x2xf32>
  becomes
    %0 = glow.conv2d %x, %w.phases : tensor<1x256x96x96xf32>
    %1 = glow.reshape %0 : tensor<1x2x2x64x96x96xf32>
    %2 = glow.transpose %1 permutation [0, 3, 4, 1, 5, 2] : tensor<1x64x96x2x96x2xf32>
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.quant import Quantization, quantization_of
from glow.dialects.weight_table import Array
from glow.dialects.weights import stored_value
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase_dead_nodes,
    name_of,
    rewrite_nodes,
)

CHANNELS_FIRST, PHASES_FIRST = (0, 1, 4, 2, 5, 3), (0, 3, 4, 1, 5, 2)
"""The order of [N, C, s, s, H, W], and of [N, s, s, C, H, W]."""

LEAST_BLOCK = 4
"""Backends have blocks of at least so many channels."""


def _convolution(op: glow.TransposeOp) -> glow.Conv2dOp | None:
    """The convolution of one group whose outputs a shuffle alone reads, if there is one."""
    split = op.input.owner
    if op.attributes_view().ints("permutation") != CHANNELS_FIRST:
        return None
    if not isinstance(split, glow.ReshapeOp) or not op.input.has_one_use():
        return None
    conv, (_, channels, *_, height, width) = split.input.owner, shape_of(op.input)
    is_shuffle = shape_of(split.input)[2:] == (height, width)
    if not isinstance(conv, glow.Conv2dOp) or not is_shuffle or channels % LEAST_BLOCK:
        return None
    is_whole = conv.attributes_view().int("group") == 1
    return conv if is_whole and split.input.has_one_use() else None


def phases_first(op: Operation) -> None:
    """Let a shuffle read its phases in another order, if it can."""
    assert isinstance(op, glow.TransposeOp)
    conv = _convolution(op)
    if conv is None:
        return
    batch, channels, *phases, height, width = shape_of(op.input)
    order = np.arange(channels * prod(phases)).reshape(channels, -1).T.reshape(-1)
    moved = _with_outputs(conv, order)
    if moved is not None:
        builder = NodeBuilder(op)
        apart = builder.reshape(moved, (batch, *phases, channels, height, width))
        builder.replace(builder.transpose(apart, PHASES_FIRST))


def _with_outputs(conv: glow.Conv2dOp, order: NDArray[np.int64]) -> SSAValue | None:
    """A convolution with its outputs in another order, if weights and bias are known."""
    builder, operands = NodeBuilder(conv), [conv.input]
    for value in conv.inputs[1:]:
        array = stored_value(value)
        if array is None:
            return None
        operands.append(_moved(builder, value, array, order))
    attributes, types = attributes_of(conv), [conv.result.type]
    return builder.create(glow.Conv2dOp, operands, attributes, types=types)


def _moved(
    builder: NodeBuilder, value: SSAValue, array: Array, order: NDArray[np.int64]
) -> SSAValue:
    """A constant with the elements of its first axis in another order."""
    name, data = f"{name_of(value)}.phases", quantization_of(value.type)
    if data is None:
        return builder.constant(array[order], name)
    return builder.quantized_constant(array[order], _ordered(data, order), name)


def _ordered(data: Quantization, order: NDArray[np.int64]) -> Quantization:
    """The parameters for elements in that order."""
    if data.axis is None:
        return data
    places: list[int] = order.tolist()
    return replace(
        data,
        scales=tuple(data.scales[place] for place in places),
        zero_points=tuple(data.zero_points[place] for place in places),
    )


@dataclass(frozen=True)
class PhasesFirstPass(ModulePass):
    """Order the outputs of convolutions before shuffles of pixels by phases."""

    name = "phases-first"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {glow.TransposeOp: phases_first})
        erase_dead_nodes(op)
