"""Handlers of operators that read images at coordinates which the network computes.

Coordinates become, one axis at a time, the points beside them and what each weighs; the points
of all axes together are the table of `glow.sample`. Tables are computed by ordinary nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32, i64

from glow.dialects.glow import Conv2dOp, SampleOp
from glow.dialects.glow.convolution import window_size
from glow.dialects.glow.elementwise import is_integer
from glow.dialects.node import fail_unless
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.operators.spatial.resize import is_narrow, rounded
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op, onnx_op

CUBIC_FACTOR = -0.75
"""Of the cubic weights of GridSample."""


@dataclass(frozen=True)
class Taps:
    """The points of an axis of `size` that results read, [..., taps], and their weights.

    Points are whole numbers; one outside of the axis counts as 0. Without weights, each
    weighs 1.
    """

    size: int
    points: Expression
    weights: Expression | None = None


def sample(
    image: Expression, axes: Sequence[Taps], *, largest: bool = False
) -> Expression:
    """The sums [N..., P, C] of elements of an image [N..., points of all axes, C].

    The taps of the axes are [N..., ..., taps], where P are all axes between.
    """
    rank = len(axes)
    index = i32 if prod(image.shape) < LARGE else i64
    place = weight = inside = None
    for axis, taps in enumerate(axes):
        *outer, count = taps.points.shape
        spread = (*outer, *[1] * axis, count, *[1] * (rank - 1 - axis))
        exists = taps.points.within(0, taps.size - 1).reshape(spread)
        points = taps.points.reshape(spread).convert(index)
        place = points if place is None else place * taps.size + points
        if taps.weights is not None:
            weights = taps.weights.reshape(spread)
            weight = weights if weight is None else weight * weights
        inside = exists if inside is None else inside & exists
    assert place is not None
    assert inside is not None
    outer, batch = place.shape[:-rank], len(image.shape) - 2
    table = (*outer[:batch], prod(outer[batch:]), prod(place.shape[-rank:]))
    places = inside.choose(place, -1).reshape(table)
    if weight is None:
        weight = axes[0].points.constant(np.ones((1,)))
    weights = weight.broadcast(place.shape).reshape(table)
    return image.apply(
        SampleOp, places, weights, axis=len(image.shape) - 2, largest=largest
    )


LARGE = 1 << 31
"""From so many elements on places are of 64 bits."""


def linear_taps(position: Expression, size: int) -> Taps:
    """The two points beside a position [..., 1]."""
    first = position.floor()
    points = first + first.constant(np.arange(2))
    return Taps(size, points, 1.0 - abs(position - points))


def cubic_taps(position: Expression, size: int) -> Taps:
    """The four points beside a position [..., 1] (Keys' weights)."""
    first, a = position.floor(), CUBIC_FACTOR
    points = first + first.constant(np.arange(-1, 3))
    x = abs(position - points)
    near = (x * (a + 2) - (a + 3)) * x * x + 1
    far = ((x * a - 5 * a) * x + 8 * a) * x - 4 * a
    return Taps(size, points, (x <= 1).choose(near, far))


def nearest_taps(position: Expression, size: int) -> Taps:
    """The point of a position that is a whole number."""
    return Taps(size, position)


MODES = {"nearest": nearest_taps, "linear": linear_taps, "cubic": cubic_taps}
OLD_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of modes before opset 20."""


@onnx_op("GridSample")
@contrib_op("GridSample")
def grid_sample(node: OnnxNode) -> Value:
    """Elements at coordinates from -1 to 1 of each axis, the last axis first."""
    image, grid = node.value(0), Expression(node, node.value(1))
    (batch, channels, *sizes), rank = node.shape(0), node.rank(0) - 2
    fail_unless(
        grid.shape[:1] == (batch,) and grid.shape[-1:] == (rank,) and rank > 0,
        f"a grid of shape {list(grid.shape)} does not suit an input {[*node.shape(0)]}",
    )
    mode = node.attr_string(
        "mode", "bilinear" if node.opset < NAMED_MODES else "linear"
    )
    mode = OLD_MODES.get(mode, mode)
    refuse_if(mode not in MODES, f"mode '{mode}'")
    padding = node.attr_string("padding_mode", "zeros")
    refuse_if(padding not in PADDINGS, f"padding_mode '{padding}'")
    element, compute = element_type(image), f64
    if is_narrow(image) and element != f64:
        compute = f32
    grid = grid.convert(compute).reshape((batch, prod(grid.shape[1:-1]), rank))
    aligned = bool(node.attr_int("align_corners", 0))
    axes = [
        _grid_taps(
            grid.part(2, rank - 1 - axis), size, (mode, padding), aligned=aligned
        )
        for axis, size in enumerate(sizes)
    ]
    pixels = Expression(node, image).reshape((batch, channels, prod(sizes)))
    if is_integer(element):
        pixels = pixels.convert(compute)
    result = sample(pixels.transpose(0, 2, 1), axes).transpose(0, 2, 1)
    result = result.reshape((batch, channels, *node.shape(1)[1:-1]))
    return rounded(node, result.value, element) if is_integer(element) else result.value


NAMED_MODES = 20
PADDINGS = ("zeros", "border", "reflection")


def _grid_taps(
    place: Expression, size: int, method: tuple[str, str], *, aligned: bool
) -> Taps:
    """The taps of an axis, for coordinates [N, P, 1] from -1 to 1."""
    mode, padding = method
    if aligned:
        low, high, position = 0.0, size - 1.0, (place + 1) / 2 * (size - 1)
    else:
        low, high, position = -0.5, size - 0.5, ((place + 1) * size - 1) / 2
    if mode == "nearest":
        position = position.round()
    if padding != "zeros" and mode != "cubic":  # as PyTorch, which pads points alone
        padded = _padded(position, size, (low, high), padding)
        position = position.within(low, high).choose(position, padded)
    taps = MODES[mode](position, size)
    if padding == "zeros":
        return taps
    points = _padded(taps.points, size, (low, high), padding)
    return Taps(size, points.clamp(0, size - 1), taps.weights)


def _padded(
    position: Expression, size: int, borders: tuple[float, float], padding: str
) -> Expression:
    """Positions outside of an axis moved to its end, or reflected by its borders."""
    low, high = borders
    if padding == "border" or size == 1:
        return position.clamp(0, size - 1)
    distance = abs(position - low)
    times = (distance / (high - low)).floor()
    rest = distance - times * (high - low)
    is_even = times - (times / 2).floor() * 2 < 1
    return is_even.choose(rest + low, high - rest)


@onnx_op("DeformConv")
def deform_conv(node: OnnxNode) -> Value:
    """A convolution whose taps are moved by offsets: pixels are sampled, then multiplied."""
    batch, channels, *plane = node.shape(0)
    outputs, per_group, *kernel = node.shape(1)
    refuse_if(len(plane) != PLANE, f"{len(plane)} spatial axes")
    group, parts = node.attr_int("group", 1), node.attr_int("offset_group", 1)
    strides, dilations = (
        node.attr_ints(name) or [1, 1] for name in ("strides", "dilations")
    )
    pads, taps = node.attr_ints("pads") or [0] * 4, prod(kernel)
    extents = [
        window_size(
            size, kernel[a], strides[a], dilations[a], (pads[a], pads[a + PLANE])
        )
        for a, size in enumerate(plane)
    ]
    moved = (batch, parts * taps * PLANE, *extents)
    fail_unless(
        node.shape(2) == moved and channels % max(parts, 1) == 0,
        f"offsets have shape {list(node.shape(2))}, not {list(moved)}",
    )
    fail_unless(
        channels == per_group * group and outputs % max(group, 1) == 0,
        f"{channels} channels do not suit weights {list(node.shape(1))} in {group} groups",
    )
    compute = f64 if element_type(node.value(0)) == f64 else f32
    offsets = Expression(node, node.value(2)).convert(compute)
    offsets = offsets.reshape((batch, parts, taps, PLANE, prod(extents)))
    axes: list[Taps] = []
    for axis, size in enumerate(plane):
        grid = np.indices((*kernel, *extents))
        begins = grid[PLANE + axis] * strides[axis] - pads[axis]
        still = (begins + grid[axis] * dilations[axis]).reshape(taps, prod(extents))
        position = offsets.part(3, axis).reshape((batch, parts, taps, prod(extents)))
        position = position + position.constant(still)
        flat = position.reshape((batch, parts, taps * prod(extents), 1))
        axes.append(linear_taps(flat, size))
    pixels = Expression(node, node.value(0))
    pixels = pixels.reshape((batch, parts, channels // parts, prod(plane)))
    found = sample(pixels.transpose(0, 1, 3, 2), axes)
    found = found.reshape((batch, parts, taps, *extents, channels // parts))
    if node.has(4):
        mask = Expression(node, node.value(4))
        found = found * mask.reshape((batch, parts, taps, *extents, 1))
    columns = found.transpose(0, 1, 5, 2, 3, 4)
    bias = [node.value(3)] if node.has(3) else []
    return node.emit(
        Conv2dOp,
        columns.reshape((batch, channels * taps, *extents)).value,
        node.reshape(node.value(1), (outputs, per_group * taps, 1, 1)),
        *bias,
        group=group,
    )


PLANE = 2
