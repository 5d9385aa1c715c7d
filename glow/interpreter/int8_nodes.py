"""The CPU backend's products of bytes: exact sums modulo 2^32, then the epilogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation

from glow.dialects.attributes import Attributes
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array
from glow.interpreter.blocks import from_blocks, to_blocks
from glow.interpreter.convolution import convolve
from glow.interpreter.evaluation import evaluate_region
from glow.interpreter.integer_arithmetic import wrapped

PlainWeights: TypeAlias = Callable[[GlowOp, Array, Array, tuple[int, ...]], Array]
"""`plain(op, input, packed, shape)`: the weights in plain order."""


def finish(op: Operation, sums: Array, extras: tuple[Array, ...]) -> Array:
    """What the epilogue makes of the sums."""
    if not op.regions or not op.regions[0].blocks:
        return sums
    return evaluate_region(op.regions[0].block, (sums, *extras))[0]


def convolve_bytes(
    attributes: Attributes, image: Array, weights: Array, bias: Array, group: int
) -> Array:
    """The sums [N, O, OH, OW] in i32; the image is padded with the zero point."""
    point = attributes.int("zero_point")
    # Less the zero point the padding is zero, which gives each sum less this constant.
    constant = point * weights.astype(np.int64).sum(axis=(1, 2, 3))
    total = convolve(attributes, image.astype(np.float64) - point, weights, None, group)
    return wrapped(total + (constant + bias).reshape(-1, 1, 1))


def run_int8_conv2d(
    op: GlowOp,
    image: Array,
    weights: Array,
    bias: Array,
    *extras: Array,
    plain: PlainWeights,
) -> Array:
    """`cpu.int8_conv2d`."""
    attributes = op.attributes_view()
    inputs, group = attributes.int("input_channels"), attributes.int("group")
    outputs, lanes = attributes.int("output_channels"), bias.shape[1]
    shape = (outputs, inputs // group, *attributes.ints("kernel"))
    total = convolve_bytes(
        attributes,
        from_blocks(image, inputs),
        plain(op, image, weights, shape),
        bias.reshape(-1)[:outputs],
        group,
    )
    return finish(op, to_blocks(total, lanes), extras)


def run_int8_depthwise_conv2d(
    op: GlowOp, image: Array, weights: Array, bias: Array, *extras: Array
) -> Array:
    """`cpu.int8_depthwise_conv2d`, padding lanes included."""
    plain = weights.transpose(0, 3, 1, 2).reshape(-1, 1, *weights.shape[1:3])
    total = convolve_bytes(
        op.attributes_view(),
        from_blocks(image),
        plain,
        bias.reshape(-1),
        plain.shape[0],
    )
    return finish(op, to_blocks(total, bias.shape[1]), extras)


def run_int8_matmul(
    op: GlowOp,
    x: Array,
    weights: Array,
    bias: Array,
    *extras: Array,
    plain: PlainWeights,
) -> Array:
    """`cpu.int8_matmul`."""
    matrix = plain(op, x, weights, (x.shape[-1], bias.shape[0]))
    total = x.astype(np.float64) @ matrix.astype(np.float64)
    return finish(op, wrapped(total + bias), extras)


def run_int8_batch_matmul(
    op: GlowOp, lhs: Array, rhs: Array, points: Array, *extras: Array
) -> Array:
    """`cpu.int8_batch_matmul`."""
    attributes = op.attributes_view()
    left, right = (
        np.transpose(x.astype(np.float64) - point, attributes.ints(axes))
        for x, point, axes in (
            (lhs, points[0], "lhs_axes"),
            (rhs, points[1], "rhs_axes"),
        )
    )
    total = np.transpose(left @ right, attributes.ints("result_axes"))
    return finish(op, wrapped(total), extras)
