"""Normalizations, softmax and reductions; computed in float64, rounded once.

NaN: maxima, minima and their positions take the first NaN; sums and means give NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.glow.arithmetic import divide
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, is_float, lowest, widen
from glow.interpreter.scalar_functions import Function


def per_channel(parameter: Array, rank: int) -> Array:
    """A [C] parameter, shaped to broadcast over axis 1."""
    return widen(parameter).reshape(-1, *[1] * (rank - 2))


def run_batch_norm(
    op: GlowOp, x: Array, scale: Array, bias: Array, mean: Array, variance: Array
) -> Array:
    """`glow.batch_norm`."""
    epsilon = op.attributes_view().float("epsilon")
    scale, bias, mean, variance = (
        per_channel(parameter, x.ndim) for parameter in (scale, bias, mean, variance)
    )
    return (widen(x) - mean) / np.sqrt(variance + epsilon) * scale + bias


def run_layer_norm(
    op: GlowOp, x: Array, scale: Array, bias: Array | None = None
) -> Array:
    """`glow.layer_norm`."""
    return normalized(op.attributes_view(), x, scale, bias)


def normalized(
    attributes: Attributes, x: Array, scale: Array, bias: Array | None
) -> Array:
    """Less the mean, by the deviation, times the scale plus the bias."""
    axes = tuple(range(attributes.int("axis"), x.ndim))
    centred = widen(x) - np.mean(widen(x), axis=axes, keepdims=True)
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    result = centred / np.sqrt(variance + attributes.float("epsilon")) * widen(scale)
    return result if bias is None else result + widen(bias)


def run_local_response_norm(op: GlowOp, x: Array) -> Array:
    """`glow.local_response_norm`."""
    return local_response_norm(op.attributes_view(), x)


def local_response_norm(attributes: Attributes, x: Array) -> Array:
    """Local response normalization; an even window is longer after the channel."""
    size = attributes.int("size")
    before, after = (size - 1) // 2, size // 2
    widths = [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)]
    squares = np.pad(widen(x) ** 2, widths)
    total = sum(squares[:, first : first + x.shape[1]] for first in range(size))
    base = attributes.float("offset") + attributes.float("alpha") / size * total
    return widen(x) / base ** attributes.float("beta")


def run_log_softmax(op: GlowOp, x: Array) -> Array:
    """`glow.log_softmax`."""
    return log_softmax(x, op.attributes_view().int("axis"))


def log_softmax(x: Array, axis: int) -> Array:
    """x - log(sum(exp(x))), shifted by the maximum so that nothing overflows."""
    shifted = widen(x) - np.max(widen(x), axis=axis, keepdims=True, initial=-math.inf)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def run_softmax(op: GlowOp, x: Array) -> Array:
    """`glow.softmax`."""
    return softmax(x, op.attributes_view().int("axis"))


def softmax(x: Array, axis: int) -> Array:
    """Exponentials by their sum, shifted by the maximum so that nothing overflows."""
    shifted = widen(x) - np.max(widen(x), axis=axis, keepdims=True, initial=-math.inf)
    powers = np.exp(shifted)
    return powers / np.sum(powers, axis=axis, keepdims=True)


def accumulated(x: Array) -> Array:
    """The elements in the type of their sum: float64, or 64-bit integers that wrap."""
    return widen(x) if is_float(x) else x.astype(np.int64, copy=False)


def mean(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The mean; that of integers rounds towards zero."""
    total = np.sum(accumulated(x), axis=axis, keepdims=keepdims)
    count = np.asarray(math.prod(x.shape[index] for index in axis))
    return divide(total, count)


def minimum(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The smallest element; of no elements, the largest number."""
    largest = np.iinfo(x.dtype).max if x.dtype.kind in "iu" else math.inf
    initial = True if x.dtype.kind == "b" else largest
    return np.min(widen(x), axis=axis, keepdims=keepdims, initial=initial)


def maximum(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The largest element; of no elements, the smallest number."""
    return np.max(widen(x), axis=axis, keepdims=keepdims, initial=lowest(x.dtype))


def reduction(function: Callable[[Array, tuple[int, ...], bool], Array]) -> Function:
    """A node that folds its `axes`."""

    def run(op: GlowOp, x: Array) -> Array:
        attributes = op.attributes_view()
        return function(x, attributes.ints("axes"), attributes.has("keepdims"))

    return run


def position(find: Callable[..., Array]) -> Function:
    """The index along the axis that `find` (argmax, argmin) gives, first or last."""

    def run(op: GlowOp, x: Array) -> Array:
        attributes = op.attributes_view()
        axis, last = attributes.int("axis"), attributes.has("select_last")
        array = np.flip(widen(x), axis) if last else widen(x)
        index = find(array, axis=axis, keepdims=attributes.has("keepdims"))
        return x.shape[axis] - 1 - index if last else index

    return run


NODES: dict[type[Operation], Function] = {
    glow.BatchNormOp: run_batch_norm,
    glow.LayerNormOp: run_layer_norm,
    glow.LocalResponseNormOp: run_local_response_norm,
    glow.SoftmaxOp: run_softmax,
    glow.LogSoftmaxOp: run_log_softmax,
    glow.ReduceSumOp: reduction(
        lambda x, axes, keep: np.sum(accumulated(x), axis=axes, keepdims=keep)
    ),
    glow.ReduceMeanOp: reduction(mean),
    glow.ReduceMaxOp: reduction(maximum),
    glow.ReduceMinOp: reduction(minimum),
    glow.ReduceProdOp: reduction(
        lambda x, axes, keep: np.prod(accumulated(x), axis=axes, keepdims=keep)
    ),
    glow.ArgMaxOp: position(np.argmax),
    glow.ArgMinOp: position(np.argmin),
}
