"""Convolution and pooling over [N, C, H, W] arrays.

Sums accumulate in float64 and are rounded once, after bias and absorbed activation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

import numpy as np
from xdsl.ir import Operation

from glow.dialects.attributes import Attributes
from glow.dialects.glow import ArgMaxPool2dOp, AvgPool2dOp, Conv2dOp, MaxPool2dOp
from glow.dialects.glow.convolution import window_shape
from glow.dialects.node import GlowOp
from glow.interpreter.array_functions import ACTIVATIONS
from glow.interpreter.arrays import Array, exact, lowest
from glow.interpreter.scalar_functions import Function, result_dtype
from glow.interpreter.shared_work import for_each

ELEMENTS_AT_ONCE = 1 << 18
"""Of columns, or of weights: two megabytes."""

TAPS_AT_ONCE = 1 << 16

FEWEST_COLUMNS = 128
"""Of a matrix product: fewer would take long for each."""

SHARED_PRODUCTS = 1 << 25
"""Multiply-adds of a layer that threads share: of less, what they do between products counts."""

ALL = slice(None)


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
    """[N, O, OH, OW] in the accumulator type, before any activation."""
    plane = window_shape(image.shape[2:], weights.shape[2:], attributes)
    dtype = np.result_type(exact(image[:0]), exact(weights[:0]))
    result = np.empty((len(image), len(weights), *plane), dtype)
    convolve_into(result, attributes, (image, weights, bias), group)
    return result


def convolve_into(
    result: Array,
    attributes: Attributes,
    operands: tuple[Array, Array, Array | None],
    group: int,
    finish: Callable[[Array], Array] = np.asarray,
) -> None:
    """Write what `finish` makes of the sums, some outputs or rows at a time: im2col and matmul,
    or tap by tap.

    So they stay in a near cache: arrays of all sums and windows are memory that the system
    has to hand out first. How they are divided depends on shapes alone; threads share them.
    """
    image, weights, bias = operands
    kernel = (weights.shape[2], weights.shape[3])
    length, (height, width) = math.prod(weights.shape[1:]), result.shape[2:]
    whole, every = slice(0, height), slice(0, len(weights))

    def store(outputs: slice, rows: slice, sums: Array) -> None:
        place = result[:, outputs, rows]
        sums = sums.reshape(*place.shape[:3], width)
        if bias is not None:
            sums += exact(bias[outputs])[:, None, None]
        place[...] = finish(sums)

    def taps(channels: slice, rows: slice) -> Array:
        padded = padded_rows(attributes, image[:, channels], rows, kernel[0])
        return windows(padded, attributes, kernel)

    def matrix(outputs: slice) -> Array:
        part = exact(weights[outputs])
        return part.reshape(group, len(part) // group, length)

    def channels_alone(some: slice) -> None:
        store(some, whole, _depthwise(taps(some, whole), exact(weights[some])))

    if weights.shape[1] == 1 and len(weights) == group:
        at_once = TAPS_AT_ONCE // max(1, image[:, :1].size)
        for_each(_slices(group, at_once), channels_alone, is_long=False)
        return
    is_long = length * result.size >= SHARED_PRODUCTS
    columns = max(FEWEST_COLUMNS, ELEMENTS_AT_ONCE // max(1, length * group))
    lines = _slices(height, columns // max(1, len(image) * image.shape[3]))
    if len(lines) > 1 or group > 1:
        factors = matrix(every)
        for_each(
            lines,
            lambda rows: store(every, rows, factors @ _columns(taps(ALL, rows), group)),
            is_long=is_long,
        )
        return
    windows_of_all = _columns(taps(ALL, whole), group)
    for_each(
        _slices(len(weights), ELEMENTS_AT_ONCE // max(1, length)),
        lambda some: store(some, whole, matrix(some) @ windows_of_all),
        is_long=is_long,
    )


def _slices(length: int, at_once: int) -> list[slice]:
    """An axis in order, in parts of at least one."""
    step = max(1, at_once)
    return [slice(i, min(i + step, length)) for i in range(0, length, step)]


def padded_rows(
    attributes: Attributes, image: Array, rows: slice, kernel: int
) -> Array:
    """The padded lines of an image, as accumulators, that some rows of results read."""
    stride, dilation = (attributes.ints(name)[0] for name in ("strides", "dilations"))
    top, left, _, right = attributes.ints("pads")
    first = rows.start * stride - top
    count = (rows.stop - rows.start - 1) * stride + dilation * (kernel - 1) + 1
    lines = image[:, :, max(0, first) : max(0, first + count)]
    above = min(max(0, -first), count)
    pads = (above, left, count - above - lines.shape[2], right)
    return pad_plane(exact(lines), pads, 0)


def _columns(taps: Array, group: int) -> Array:
    """Windows [N, C, OH, OW, kh, kw] as columns [N, group, C / group * kh * kw, OH * OW]."""
    batch, channels, *plane, height, width = taps.shape
    length = channels // group * height * width
    return taps.transpose(0, 1, 4, 5, 2, 3).reshape(
        batch, group, length, math.prod(plane)
    )


def _depthwise(taps: Array, weights: Array) -> Array:
    """Windows [N, C, OH, OW, kh, kw] times weights [C, 1, kh, kw], tap by tap."""
    result = np.zeros(taps.shape[:4], np.result_type(taps, weights))
    product = np.empty_like(result)
    for row, column in np.ndindex(*weights.shape[2:]):
        factors = weights[:, :, row, column][..., None]
        np.multiply(taps[..., row, column], factors, out=product)
        result += product
    return result


def run_conv2d(
    op: GlowOp, image: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.conv2d`."""
    attributes, dtype = op.attributes_view(), result_dtype(op)
    if dtype.kind in "biu":  # Which sums are converted to, all at once.
        dtype = np.result_type(exact(image[:0]), exact(weights[:0]))
    plane = window_shape(image.shape[2:], weights.shape[2:], attributes)
    result = np.empty((len(image), len(weights), *plane), dtype)
    operands, group = (image, weights, bias), attributes.int("group")
    convolve_into(result, attributes, operands, group, partial(activate, attributes))
    return result


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
