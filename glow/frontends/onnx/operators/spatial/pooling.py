"""Handlers of pooling.

Windows are boxes, and what a pool makes of them it can make one axis after the other: a pool
over a volume is one over its planes, then one along the depth. Where results say which element
of a window was the largest, elements are read through a table of all windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from glow.dialects.glow import (
    AddOp,
    ArgMaxOp,
    AvgPool2dOp,
    GatherOp,
    MaxPool2dOp,
    MulOp,
    PadOp,
    Pool2dOp,
)
from glow.dialects.glow.convolution import window_size
from glow.dialects.node import fail_unless
from glow.frontends.onnx.graph import BUDGET
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, Value, shape
from glow.frontends.onnx.operators.indexing import scatter
from glow.frontends.onnx.operators.spatial.convolution import Window, window_of
from glow.frontends.onnx.operators.spatial.global_pools import norm_of, powers, root
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op

FRONT = 2
"""The axes before those of the window: the batch and the channels."""


def _pool_window(node: OnnxNode) -> Window:
    return window_of(node, node.shape(0)[FRONT:], node.attr_ints("kernel_shape") or [])


def _pooled(
    node: OnnxNode,
    op_class: type[Pool2dOp],
    value: Operand,
    window: Window,
    **options: bool,
) -> Operand:
    """The pool of all axes: of the last two, then of one after the other before them."""
    rank = len(window.kernel)
    last = list(range(max(rank - 2, 0), rank))
    for axes in (last, *([axis] for axis in reversed(range(last[0])))):
        value = _pool_axes(node, op_class, value, (window, axes), **options)
    return value


def _pool_axes(
    node: OnnxNode,
    op_class: type[Pool2dOp],
    value: Operand,
    place: tuple[Window, Sequence[int]],
    **options: bool,
) -> Operand:
    """A pool of one or two neighbouring axes of a window, as one over a plane."""
    (window, axes), sizes = place, shape(value)
    rank, begin, end = len(window.kernel), FRONT + axes[0], FRONT + axes[-1] + 1
    inner = prod(sizes[end:])
    before = len(axes) == 1 and inner == 1
    after = len(axes) == 1 and not before

    def plane(numbers: Sequence[int], still: int) -> list[int]:
        """The numbers of the axes, and of one that does not move."""
        own = [numbers[axis] for axis in axes]
        return [still] * before + own + [still] * after

    result = node.emit(
        op_class,
        node.reshape(
            value, (sizes[0], prod(sizes[1:begin]), *plane(sizes[FRONT:], inner))
        ),
        types=None,
        kernel=plane(window.kernel, 1),
        strides=plane(window.strides, 1),
        pads=plane(window.pads[:rank], 0) + plane(window.pads[rank:], 0),
        dilations=plane(window.dilations, 1),
        **options,
    )
    extents = shape(result)[FRONT + before :][: len(axes)]
    return node.reshape(result, (*sizes[:begin], *extents, *sizes[end:]))


@onnx_op("AveragePool")
def average_pool(node: OnnxNode) -> Value:
    """The mean of each window."""
    return _pooled(
        node,
        AvgPool2dOp,
        node.value(0),
        _pool_window(node),
        ceil_mode=bool(node.attr_int("ceil_mode", 0)),
        count_include_pad=bool(node.attr_int("count_include_pad", 0)),
    )


@onnx_op("LpPool")
def lp_pool(node: OnnxNode) -> Value:
    """The p-norm of each window: a root of the mean of powers times their number."""
    window, p = _pool_window(node), norm_of(node)
    ceil_mode = bool(node.attr_int("ceil_mode", 0))
    rank, sizes = len(window.kernel), node.shape(0)
    low, high = window.pads[:rank], list(window.pads[rank:])
    for axis, extent in enumerate(_extents(node, window, ceil_mode=ceil_mode)):
        reach = (extent - 1) * window.strides[axis] + 1
        reach += window.dilations[axis] * (window.kernel[axis] - 1)
        high[axis] = reach - sizes[FRONT + axis] - low[axis]
    terms = powers(node, node.value(0), p)
    terms = node.emit(PadOp, terms, pads=[0, 0, *low, 0, 0, *high])
    whole = Window(window.kernel, window.strides, [0] * (2 * rank), window.dilations)
    mean = _pooled(node, AvgPool2dOp, terms, whole)
    count = node.number(prod(window.kernel), mean)
    return root(node, node.emit(MulOp, mean, count), p)


def _extents(node: OnnxNode, window: Window, *, ceil_mode: bool) -> list[int]:
    """How many windows there are along each axis."""
    rank = len(window.kernel)
    return [
        window_size(
            size,
            window.kernel[axis],
            window.strides[axis],
            window.dilations[axis],
            (window.pads[axis], window.pads[rank + axis]),
            ceil_mode,
        )
        for axis, size in enumerate(node.shape(0)[FRONT:])
    ]


@onnx_op("MaxPool")
def max_pool(node: OnnxNode) -> Sequence[Value]:
    """The largest element of each window, and where in the input it is."""
    window, ceil_mode = _pool_window(node), bool(node.attr_int("ceil_mode", 0))
    value = node.value(0)
    largest = _pooled(node, MaxPool2dOp, value, window, ceil_mode=ceil_mode)
    if not node.uses(1):
        return [largest]
    extents = _extents(node, window, ceil_mode=ceil_mode)
    count = prod(extents) * prod(window.kernel)
    refuse_if(count > BUDGET, f"result Indices of {count} elements of windows")
    batch, channels, *sizes = node.shape(0)
    taps = [_taps(window, axis, size, extents[axis]) for axis, size in enumerate(sizes)]
    places = _flat(taps, [prod(sizes[axis + 1 :]) for axis in range(len(sizes))])
    flat = node.reshape(value, (batch, channels, prod(sizes)))
    found = node.emit(GatherOp, flat, Constant(places.ravel(), "windows"), axis=2)
    found = node.reshape(found, (batch, channels, *places.shape))
    best = node.emit(ArgMaxOp, found, axis=3)
    first = np.arange(len(places)) * places.shape[1]
    best = node.emit(AddOp, best, Constant(first, "windows"))
    if node.attr_int("storage_order", 0):
        places = _flat(taps, [prod(sizes[:axis]) for axis in range(len(sizes))])
    indices = node.emit(GatherOp, Constant(places.ravel(), "places"), best, axis=0)
    images = np.arange(batch * channels).reshape(batch, channels, 1) * prod(sizes)
    indices = node.emit(AddOp, indices, Constant(images, "images"))
    return [largest, node.reshape(indices, (batch, channels, *extents))]


Places = npt.NDArray[np.int64]


def _taps(window: Window, axis: int, size: int, extent: int) -> Places:
    """Which elements of an axis each window has: [windows, taps].

    In the place of those outside of the axis stands the first one inside, again.
    """
    begins = np.arange(extent) * window.strides[axis] - window.pads[axis]
    taps = np.arange(window.kernel[axis]) * window.dilations[axis]
    places = begins[:, None] + taps
    inside = (places >= 0) & (places < size)
    fail_unless(bool(inside.any(axis=1).all()), "a window has padding only")
    first = np.take_along_axis(places, inside.argmax(axis=1)[:, None], axis=1)
    return np.where(inside, places, first)


def _flat(taps: Sequence[Places], strides: Sequence[int]) -> Places:
    """Where the elements of windows over several axes are: [windows, taps]."""
    rank = len(taps)
    total = np.zeros([1] * (2 * rank), np.int64)
    for axis, (places, stride) in enumerate(zip(taps, strides, strict=True)):
        spread = [1] * (2 * rank)
        spread[axis], spread[rank + axis] = places.shape
        total = total + places.reshape(spread) * stride
    return total.reshape(prod(total.shape[:rank]), -1)


@onnx_op("MaxUnpool")
def max_unpool(node: OnnxNode) -> Value:
    """Elements back at the places that MaxPool has found them at, and 0 elsewhere."""
    value, kernel = node.value(0), node.attr_ints("kernel_shape") or []
    sizes, rank = shape(value), len(shape(value)) - FRONT
    strides = node.attr_ints("strides") or [1] * rank
    pads = node.attr_ints("pads") or [0] * (2 * rank)
    fail_unless(
        len(kernel) == len(strides) == rank and len(pads) == 2 * rank,
        f"kernel_shape {kernel} does not suit {rank} spatial axes",
    )
    extents = [
        (size - 1) * strides[axis] - pads[axis] - pads[rank + axis] + kernel[axis]
        for axis, size in enumerate(sizes[FRONT:])
    ]
    whole = (*sizes[:FRONT], *extents)
    fail_unless(min(whole) >= 0, f"pads {pads} leave nothing")
    zeros = node.broadcast(node.number(0, value), (prod(whole),))
    indices = node.reshape(node.value(1), (prod(sizes), 1))
    updates = node.reshape(value, (prod(sizes),))
    result = node.reshape(scatter(node, zeros, indices, updates, [-1]), whole)
    wanted = node.integers(2, "output_shape") if node.has(2) else list(whole)
    fail_unless(
        len(wanted) == len(whole), f"output_shape {wanted} does not suit {list(whole)}"
    )
    more = [size - own for size, own in zip(wanted, whole, strict=True)]
    if not any(more):
        return result
    return node.emit(PadOp, result, pads=[0] * len(whole) + more)
