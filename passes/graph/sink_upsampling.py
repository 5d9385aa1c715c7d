"""Moves upsampling behind the 1x1 convolution that reads it, also through a concatenation.

Both are linear and each keeps what the other works on: a 1x1 convolution mixes channels,
upsampling mixes pixels, so that the convolution may compute the few pixels of before. Heads of
segmentation and detection networks concatenate planes of several sizes: the convolution is
then a sum, of which each part has its own size (SegFormer's and DeepLab's heads, YOLO's neck).

    %0 = glow.sample %x, %places, %shares axis 3 : tensor<1x64x8x16xf32>
    %1 = glow.sample %0, %places, %shares axis 2 : tensor<1x64x16x16xf32>
    %2 = glow.concat %1, %y axis 1 : tensor<1x128x16x16xf32>
    %3 = glow.conv2d %2, %w, %b : tensor<1x32x16x16xf32>
  becomes
    %0 = glow.conv2d %y, %w.channels64, %b : tensor<1x32x16x16xf32>
    %1 = glow.conv2d %x, %w.channels0 : tensor<1x32x8x8xf32>
    %2 = glow.sample %1, %places, %shares axis 3 : tensor<1x32x8x16xf32>
    %3 = glow.sample %2, %places, %shares axis 2 : tensor<1x32x16x16xf32>
    %4 = glow.add %0, %3 : tensor<1x32x16x16xf32>

Upsampling is `glow.sample`, or `glow.gather` of the nearest pixels; a plane of one pixel is
repeated by the sum itself. Quantized convolutions stay: each part would be rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.commute_pools import PLANE
from glow.passes.graph.hoist_pool import mixes_channels_only
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.patterns import RewritePass

WORTHWHILE = 32
"""The multiplications that each result must save: the parts are upsampled and added up in passes
over memory."""

ROUNDING = 1e-5
"""How far the sum of a pixel's shares may be from one."""


@dataclass(frozen=True)
class Part:
    """Some channels of a convolution's input."""

    joined: SSAValue
    """As the convolution reads them."""
    value: SSAValue
    """Before they were upsampled, if they were."""
    steps: Sequence[NodeOp]
    """What upsamples them, first to last."""
    channels: range
    """Which of the input's channels they are."""

    @property
    def pixels(self) -> int:
        """The size of the plane that is not upsampled yet."""
        return prod(shape_of(self.value)[2:])

    @property
    def keeps_constants(self) -> bool:
        """Whether a constant plane, such as a bias, stays that when it is upsampled."""
        return all(map(_is_mean, self.steps))


def sink_upsampling(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The sum of what a convolution's parts give, those of few pixels upsampled behind it."""
    assert isinstance(op, glow.Conv2dOp)
    if not _may_split(op):
        return None
    parts, pixels = _parts(op.input), prod(shape_of(op.result)[2:])
    small = [p for p in parts if len(p.channels) * (1 - p.pixels / pixels) > WORTHWHILE]
    whole = [part for part in parts if part not in small]
    # Where no part has all pixels, the bias comes with one that leaves it as it is.
    host = next((part for part in small if part.keeps_constants), None)
    if not small or not (whole or host or op.bias is None):
        return None
    terms = [_whole(op, builder, whole)] if whole else []
    for part in small:
        has_bias = part is host and not whole
        term = _convolved(op, builder, part.value, [part], has_bias=has_bias)
        is_repeated = whole and part.pixels == 1 and part.keeps_constants
        terms.append(term if is_repeated else _upsampled(builder, term, part.steps))
    return reduce(partial(builder.node, glow.AddOp), terms)


def _may_split(op: glow.Conv2dOp) -> bool:
    """Whether weights can be taken apart, and each pixel depends on one of the input."""
    is_known = constant_value(op.weights) is not None
    return (
        is_known and mixes_channels_only(op) and op.attributes_view().int("group") == 1
    )


def _whole(op: glow.Conv2dOp, builder: NodeBuilder, parts: Sequence[Part]) -> SSAValue:
    """What the parts that have all pixels give, with the bias."""
    values = [part.joined for part in parts]
    x = builder.node(glow.ConcatOp, *values, axis=1) if parts[1:] else values[0]
    return _convolved(op, builder, x, parts, has_bias=True)


def _parts(value: SSAValue) -> list[Part]:
    """What is concatenated to all channels, or these."""
    joined, pieces = value.owner, (value,)
    if isinstance(joined, glow.ConcatOp) and joined.attributes_view().int("axis") == 1:
        pieces = tuple(joined.inputs)
    parts: list[Part] = []
    for piece in pieces:
        first = parts[-1].channels.stop if parts else 0
        channels = range(first, first + shape_of(piece)[1])
        parts.append(Part(piece, *_before_upsampling(piece), channels))
    return parts


def _before_upsampling(value: SSAValue) -> tuple[SSAValue, Sequence[NodeOp]]:
    """The value before its plane was made larger, and what makes it so."""
    steps: list[NodeOp] = []
    step = value.owner
    while isinstance(step, glow.SampleOp | glow.GatherOp) and _upsamples(step):
        steps.insert(0, step)
        value = step.inputs[0]
        step = value.owner
    return value, steps


def _upsamples(op: glow.SampleOp | glow.GatherOp) -> bool:
    """Whether there are more pixels than before, sums of these by one table for all channels."""
    view, (x, places) = op.attributes_view(), op.inputs[:2]
    shape, result = shape_of(x), shape_of(op.results[0])
    table_axes = 2 if isinstance(op, glow.SampleOp) else 1
    return (
        len(shape) == len(result)
        and view.int("axis") in PLANE
        and len(shape_of(places)) == table_axes
        and not view.has("largest")
        and prod(result) > prod(shape)
    )


def _is_mean(step: NodeOp) -> bool:
    """Whether each pixel is another one, or a weighted mean of others."""
    if isinstance(step, glow.GatherOp):
        return True
    shares = constant_value(step.inputs[2])
    return shares is not None and np.allclose(shares.sum(1), 1, atol=ROUNDING)


def _convolved(
    op: glow.Conv2dOp,
    builder: NodeBuilder,
    x: SSAValue,
    parts: Sequence[Part],
    *,
    has_bias: bool,
) -> SSAValue:
    """What a convolution gives of some channels."""
    array = constant_value(op.weights)
    assert array is not None
    channels = [channel for part in parts for channel in part.channels]
    name = f"{name_of(op.weights)}.channels{channels[0]}"
    weights = builder.constant(np.ascontiguousarray(array[:, channels]), name)
    bias = [op.bias] if has_bias and op.bias is not None else []
    return builder.create(glow.Conv2dOp, [x, weights, *bias], attributes_of(op))


def _upsampled(
    builder: NodeBuilder, value: SSAValue, steps: Sequence[NodeOp]
) -> SSAValue:
    """A value of few pixels upsampled by those steps."""
    for step in steps:
        operands = [value, *step.inputs[1:]]
        value = builder.create(type(step), operands, attributes_of(step))
    return value


class SinkUpsamplingPass(RewritePass):
    """Upsample behind 1x1 convolutions."""

    name = "sink-upsampling"
    preserves = VALUES  # a convolution's sums are added up in another order
    rewrites = {glow.Conv2dOp: (sink_upsampling,)}
