"""Convolution and pooling over [N, C, H, W] arrays.

Sums accumulate in float64 and are rounded once, after bias and absorbed activation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import numpy as np
from xdsl.ir import Operation

from glow.dialects.attributes import Attributes
from glow.dialects.glow import ArgMaxPool2dOp, AvgPool2dOp, Conv2dOp, MaxPool2dOp
from glow.dialects.glow.convolution import window_shape
from glow.dialects.node import GlowOp
from glow.interpreter.array_functions import ACTIVATIONS
from glow.interpreter.arrays import Array, exact, lowest
from glow.interpreter.scalar_functions import Function


def activate(attributes: Attributes, x: Array) -> Array:
    """The absorbed activation of a convolution or matrix product."""
    if not attributes.has("activation"):
        return x
    has_arguments = attributes.has("activation_args")
    arguments = attributes.floats("activation_args") if has_arguments else ()
    return ACTIVATIONS[attributes.string("activation")](x, *arguments)


def windows(padded: Array, attributes: Attributes, kernel: tuple[int, int]) -> Array:
    """A view [N, C, ..., OH, OW, kh, kw] of the windows of a padded plane (axes 2, 3)."""
    strides, dilations = attributes.ints("strides"), attributes.ints("dilations")
    extent = tuple(d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(2, 3))
    return view[
        :, :, :: strides[0], :: strides[1], ..., :: dilations[0], :: dilations[1]
    ]


def pad_plane(image: Array, pads: tuple[int, ...], value: float) -> Array:
    """`image` with [top, left, bottom, right] borders of `value` on axes 2 and 3."""
    if not any(pads):
        return image
    top, left, bottom, right = pads
    widths = [(0, 0), (0, 0), (top, bottom), (left, right)]
    widths += [(0, 0)] * (image.ndim - 4)
    return np.pad(image, widths, constant_values=value)


def convolve(
    attributes: Attributes, image: Array, weights: Array, bias: Array | None, group: int
) -> Array:
    """[N, O, OH, OW] in the accumulator type, before any activation (im2col, matmul)."""
    outputs, per_group, *kernel = weights.shape
    padded = pad_plane(exact(image), attributes.ints("pads"), 0)
    taps = windows(padded, attributes, (kernel[0], kernel[1]))
    is_depthwise = per_group == 1 and outputs == group
    multiply = _depthwise if is_depthwise else _multiply_columns
    result = multiply(taps, exact(weights), group)
    if bias is not None:
        result = result + exact(bias)[:, None, None]
    return result


def _multiply_columns(taps: Array, weights: Array, group: int) -> Array:
    """Windows [N, C, OH, OW, kh, kw] as columns, times weights [O, C / group, kh, kw]."""
    batch, _, *plane = taps.shape[:4]
    outputs, per_group, *kernel = weights.shape
    taps = taps.reshape(batch, group, per_group, *plane, *kernel)
    columns = taps.transpose(0, 1, 2, 5, 6, 3, 4).reshape(
        batch, group, math.prod(weights.shape[1:]), math.prod(plane)
    )
    matrix = weights.reshape(group, outputs // group, -1)
    return (matrix @ columns).reshape(batch, outputs, *plane)


def _depthwise(taps: Array, weights: Array, group: int) -> Array:
    """Windows [N, C, OH, OW, kh, kw] times weights [C, 1, kh, kw], tap by tap."""
    result = np.zeros(taps.shape[:4], taps.dtype)
    for row, column in np.ndindex(*weights.shape[2:]):
        result += taps[..., row, column] * weights[:, :, row, column][..., None]
    return result


def run_conv2d(
    op: GlowOp, image: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.conv2d`."""
    attributes = op.attributes_view()
    group = attributes.int("group")
    return activate(attributes, convolve(attributes, image, weights, bias, group))


def fold_windows(
    image: Array,
    attributes: Attributes,
    border: tuple[float, float],
    fold: Callable[[Array, Array], Array],
) -> Array:
    """Fold the elements of each window; a blocked image keeps its lanes (axis 4).

    `border` holds the value of padding and the value beyond the padding, where the
    last window of `ceil_mode` may reach.
    """
    first, *others = window_taps(image, attributes, border)
    return reduce(fold, others, first)


def window_taps(
    image: Array, attributes: Attributes, border: tuple[float, float]
) -> Iterator[Array]:
    """The elements of all windows [N, C, OH, OW, ...], one tap after the other."""
    kernel, strides = attributes.ints("kernel"), attributes.ints("strides")
    dilations, pads = attributes.ints("dilations"), attributes.ints("pads")
    plane = image.shape[2:4]
    shape = window_shape(plane, kernel, attributes, attributes.has("ceil_mode"))
    padded = pad_plane(image, pads, border[0])
    reach = [
        (shape[axis] - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1) + 1
        for axis in (0, 1)
    ]
    beyond = [max(0, reach[axis] - padded.shape[2 + axis]) for axis in (0, 1)]
    padded = pad_plane(padded, (0, 0, beyond[0], beyond[1]), border[1])
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            y, x = row * dilations[0], column * dilations[1]
            yield padded[
                :,
                :,
                y : y + (shape[0] - 1) * strides[0] + 1 : strides[0],
                x : x + (shape[1] - 1) * strides[1] + 1 : strides[1],
            ]


def run_max_pool2d(op: GlowOp, image: Array) -> Array:
    """`glow.max_pool2d`: padding never wins, NaN does."""
    border = lowest(image.dtype)
    return fold_windows(image, op.attributes_view(), (border, border), np.maximum)


def run_arg_max_pool2d(op: GlowOp, image: Array) -> Array:
    """`glow.arg_max_pool2d`: the first of the taps that are inside and largest."""
    attributes = op.attributes_view()
    border = lowest(image.dtype)
    numbers = np.where(np.isnan(image), border, image)
    plane = np.arange(math.prod(image.shape[2:])).reshape(1, 1, *image.shape[2:])
    taps = np.stack([*window_taps(numbers, attributes, (border, border))])
    places = np.stack([*window_taps(plane, attributes, (-1, -1))])
    places = np.broadcast_to(places, taps.shape)
    wins = (places >= 0) & (taps == taps.max(axis=0))
    first = wins.argmax(axis=0, keepdims=True)
    return np.maximum(np.take_along_axis(places, first, axis=0)[0], 0)


def run_avg_pool2d(op: GlowOp, image: Array) -> Array:
    """`glow.avg_pool2d`: ONNX's divisor.

    It counts the elements of the input, with `count_include_pad` those of the padding
    too, but never what `ceil_mode` reaches beyond the padding. A window that counts
    nothing gives 0.
    """
    attributes = op.attributes_view()
    total = fold_windows(exact(image), attributes, (0, 0), np.add)
    counts = window_counts(attributes, image.shape[2:4])
    return total / counts.reshape(*counts.shape, *[1] * (image.ndim - 4))


def window_counts(attributes: Attributes, plane: Sequence[int]) -> Array:
    """How many elements each window of an average counts, at least 1: [1, 1, OH, OW]."""
    counted = float(attributes.has("count_include_pad"))
    counts = fold_windows(np.ones((1, 1, *plane)), attributes, (counted, 0), np.add)
    return np.maximum(counts, 1)


NODES: dict[type[Operation], Function] = {
    Conv2dOp: run_conv2d,
    MaxPool2dOp: run_max_pool2d,
    ArgMaxPool2dOp: run_arg_max_pool2d,
    AvgPool2dOp: run_avg_pool2d,
}
