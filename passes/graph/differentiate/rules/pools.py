"""Average pools: each element of a window gets an equal part of the gradient."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weight_table import dtype_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.convolutions import window_of
from glow.passes.graph.differentiate.rules.movement import padded
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule, rule_of
from glow.passes.rewriting.node_builder import element_type, like


def counts(
    op: glow.AvgPool2dOp, axis: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How many elements each window counts along an axis of the plane."""
    attributes, window = op.attributes_view(), window_of(op)
    kernel, size = attributes.ints("kernel")[axis], shape_of(op.input)[2 + axis]
    begin, end = window["pads"][axis], window["pads"][axis + 2]
    first = np.arange(shape_of(op.result)[2 + axis]) * window["strides"][axis] - begin
    taps = first[:, None] + np.arange(kernel)[None, :] * window["dilations"][axis]
    if attributes.has("count_include_pad"):
        return ((taps >= -begin) & (taps < size + end)).sum(1).astype(np.float64)
    return ((taps >= 0) & (taps < size)).sum(1).astype(np.float64)


def shares(
    builder: GradientBuilder, op: glow.AvgPool2dOp, gradient: SSAValue
) -> SSAValue:
    """The gradient divided by the number of elements that each window counts."""
    count = np.maximum(np.outer(counts(op, 0), counts(op, 1)), 1)
    if count.min(initial=np.inf) == count.max(initial=0):
        return builder.scale(gradient, 1 / count.flat[0])
    factors = (1 / count).astype(dtype_of(element_type(gradient)))
    return builder.mul(gradient, builder.constant(factors, "pool_shares"))


def avg_pool2d(
    builder: GradientBuilder, op: glow.AvgPool2dOp, gradient: SSAValue
) -> Gradients:
    """The parts, repeated over their windows; windows that overlap add up."""
    attributes, window = op.attributes_view(), window_of(op)
    kernel, shape = attributes.ints("kernel"), shape_of(op.input)
    part = shares(builder, op, gradient)
    if kernel == shape[2:4] and shape_of(op.result)[2:4] == (1, 1):
        if not any(window["pads"]):
            return [part]  # one window, which is all of the plane
    part = builder.broadcast(part, shape_of(op.result))
    if window["strides"] == kernel and window["dilations"] == (1, 1):
        whole = repeated(builder, part, kernel)
    else:
        whole = summed(builder, part, op)
    begins = [0, 0, *window["pads"][:2]]
    ends = [
        size + begin - extent
        for size, begin, extent in zip(shape, begins, shape_of(whole), strict=True)
    ]
    return [padded(builder, whole, [*(-begin for begin in begins), *ends])]


def repeated(
    builder: GradientBuilder, value: SSAValue, kernel: tuple[int, ...]
) -> SSAValue:
    """Each element as a block of the kernel's size."""
    batch, channels, height, width = shape_of(value)
    apart = builder.reshape(value, (batch, channels, height, 1, width, 1))
    blocks = (batch, channels, height, kernel[0], width, kernel[1])
    whole = builder.broadcast(apart, blocks)
    plane = height * kernel[0], width * kernel[1]
    return builder.reshape(whole, (batch, channels, *plane))


def summed(builder: GradientBuilder, value: SSAValue, op: glow.AvgPool2dOp) -> SSAValue:
    """The sums of the windows' parts: a transposed convolution with ones, without pads."""
    window, kernel = window_of(op), op.attributes_view().ints("kernel")
    batch, channels, *plane = shape_of(value)
    planes = builder.reshape(value, (batch * channels, 1, *plane))
    ones = builder.full(1.0, like(value, (1, 1, *kernel)))
    whole = builder.node(
        glow.ConvTranspose2dOp,
        planes,
        ones,
        strides=window["strides"],
        dilations=window["dilations"],
    )
    return builder.reshape(whole, (batch, channels, *shape_of(whole)[2:]))


RULES: dict[type[Operation], Rule] = {**rule_of(avg_pool2d, glow.AvgPool2dOp)}
