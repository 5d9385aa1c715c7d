"""Handlers of regions of interest, each of which becomes an image of one size.

The bins of a region hold samples between the points of the image: `glow.sample` adds them up,
by tables that ordinary nodes compute from the corners of the regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from xdsl.dialects.builtin import f32, f64

from glow.dialects.glow import ReduceMaxOp
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.operators.spatial.sampling import PLANE, Taps, sample
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op


@onnx_op("RoiAlign")
def roi_align(node: OnnxNode) -> Value:
    """Regions of interest in `output_height` x `output_width` bins of some samples each."""
    batch, channels, *plane = node.shape(0)
    fail_unless(
        len(plane) == PLANE and node.shape(1)[1:] == (4,),
        f"regions {list(node.shape(1))} do not suit an input {list(node.shape(0))}",
    )
    mode, count = node.attr_string("mode", "avg"), node.shape(1)[0]
    refuse_if(mode not in ("avg", "max"), f"mode '{mode}'")
    bins = [node.attr_int(f"output_{name}", 1) for name in ("height", "width")]
    if count == 0:
        return _nothing(node, bins)
    compute = f64 if element_type(node.value(0)) == f64 else f32
    regions = _regions(node, Expression(node, node.value(1)).convert(compute))
    grids = _samples(node, regions, bins)
    axes: list[Taps] = []
    for axis, size in enumerate(plane):
        position, is_own = _positions(regions[axis], bins[axis], grids[axis])
        if mode == "max":  # a sample that is taken again changes nothing
            is_own = grids[axis].count.within(1, inf)
        taps = _taps_beside(position, is_own, size)
        outer = (count, bins[0], 1) if axis == 0 else (count, 1, bins[1])
        axes.append(_spread(taps, outer))
    first = Expression(node, node.value(2)).convert(compute)
    image = Taps(batch, first.reshape((count, 1, 1, 1)))
    pixels = Expression(node, node.value(0)).reshape((batch, channels, prod(plane)))
    pixels = pixels.transpose(0, 2, 1).reshape((batch * prod(plane), channels))
    result = sample(pixels, [image, *axes], largest=mode == "max")
    result = result.reshape((count, prod(bins), channels)).transpose(0, 2, 1)
    if mode == "avg":
        samples = (grids[0].count * grids[1].count).maximum(1)
        samples = samples.convert(element_type(result.value))
        result = result / samples.reshape((count, 1, 1))
    return result.reshape((count, channels, *bins)).value


def _nothing(node: OnnxNode, bins: Sequence[int]) -> Value:
    """The bins of no region."""
    dtype = dtype_of(element_type(node.value(0)))
    return np.zeros((0, node.shape(0)[1], *bins), dtype)


@dataclass(frozen=True)
class Region:
    """Where regions begin along an axis, and how long they are: [R, 1]."""

    start: Expression
    extent: Expression


@dataclass(frozen=True)
class Samples:
    """How many samples the bins of each region have along an axis, [R, 1], and the most."""

    count: Expression
    most: int


def _regions(node: OnnxNode, corners: Expression) -> list[Region]:
    """The regions along both axes of the plane, from corners [R, (x, y, x, y)]."""
    corners = corners * node.attr_float("spatial_scale", 1.0)
    default = "half_pixel" if node.opset >= HALF_PIXEL_REGIONS else "output_half_pixel"
    mode = node.attr_string("coordinate_transformation_mode", default)
    if mode == "half_pixel":
        corners = corners - 0.5
    regions: list[Region] = []
    for axis in range(PLANE):
        start, end = (corners.part(1, 1 - axis + k) for k in (0, 2))
        extent = end - start
        extent = extent if mode == "half_pixel" else extent.maximum(1)
        regions.append(Region(start, extent))
    return regions


HALF_PIXEL_REGIONS = 16


def _samples(
    node: OnnxNode, regions: Sequence[Region], bins: Sequence[int]
) -> list[Samples]:
    """The samples of bins: a fixed number, or one for each pixel that is begun."""
    fixed = node.attr_int("sampling_ratio", 0)
    if fixed > 0:
        splat = np.full(regions[0].start.shape, fixed)
        return [Samples(region.start.constant(splat), fixed) for region in regions]
    counts = [
        (region.extent / size).ceil().maximum(0)
        for region, size in zip(regions, bins, strict=True)
    ]
    most = [count.maximum(1).apply(ReduceMaxOp, axes=[0, 1]) for count in counts]
    known = [node.known(x.value, "number of samples of a region") for x in most]
    return [Samples(x, int(m)) for x, m in zip(counts, known, strict=True)]


def _positions(
    region: Region, bins: int, samples: Samples
) -> tuple[Expression, Expression]:
    """Where the samples of all bins are, [R, bins * samples], and whether a region has them.

    A region that has fewer samples than others has the last one again.
    """
    start, most = region.start, samples.most
    numbers = start.constant(np.tile(np.arange(most), bins).reshape(1, -1))
    borders = start.constant(np.repeat(np.arange(bins), most).reshape(1, -1))
    is_own = numbers < samples.count
    number = is_own.choose(numbers, (samples.count - 1).maximum(0))
    within = (number + 0.5) / samples.count.maximum(1)
    return start + (borders + within) * (region.extent / bins), is_own


def _taps_beside(position: Expression, is_own: Expression, size: int) -> Taps:
    """The points beside positions [R, P]; those beyond a pixel from the axis are 0.

    Where `is_own` does not hold, points have no weight.
    """
    exists = position.within(-1, size)
    inside = position.clamp(0, size - 1)
    first = inside.floor().clamp(0, max(size - 2, 0))
    pair = first.constant(np.arange(2))
    axes = (*position.shape, 1)
    rest = (inside - first).reshape(axes)
    points = exists.reshape(axes).choose(first.reshape(axes) + pair, -1)
    weights = 1.0 - abs(rest - pair)
    own = is_own.reshape((*is_own.shape, 1))
    return Taps(size, points, own.choose(weights, 0.0))


def _spread(taps: Taps, outer: tuple[int, int, int]) -> Taps:
    """Taps [R, bins * samples, 2] as [R, bins or 1, bins or 1, samples * 2]."""
    assert taps.weights is not None
    count = prod(taps.points.shape) // max(prod(outer), 1)
    points, weights = (x.reshape((*outer, count)) for x in (taps.points, taps.weights))
    return Taps(taps.size, points, weights)


@onnx_op("MaxRoiPool")
def max_roi_pool(node: OnnxNode) -> Value:
    """The largest pixel of each bin of a region [image, x, y, x, y], all whole pixels."""
    batch, channels, *plane = node.shape(0)
    bins = node.attr_ints("pooled_shape") or []
    fail_unless(
        len(plane) == len(bins) == PLANE and node.shape(1)[1:] == (5,),
        f"regions {list(node.shape(1))} do not suit an input {list(node.shape(0))}",
    )
    count = node.shape(1)[0]
    if count == 0:
        return _nothing(node, bins)
    compute = f64 if element_type(node.value(0)) == f64 else f32
    regions = Expression(node, node.value(1)).convert(compute)
    corners = regions.part(1, 1, 4) * node.attr_float("spatial_scale", 1.0)
    pixels = (abs(corners) + 0.5).floor()
    pixels = (corners < 0).choose(-pixels, pixels)
    axes = [Taps(batch, regions.part(1, 0).reshape((count, 1, 1, 1)))]
    for axis, size in enumerate(plane):
        first, last = (pixels.part(1, 1 - axis + k) for k in (0, 2))
        extent = (last - first + 1).maximum(1) / bins[axis]
        border = first.constant(np.arange(bins[axis]).reshape(1, -1))
        start = (first + (border * extent).floor()).clamp(0, size)
        end = (first + ((border + 1) * extent).ceil()).clamp(0, size)
        points = _points_between(node, start, end)
        outer = (count, bins[0], 1) if axis == 0 else (count, 1, bins[1])
        axes.append(Taps(size, points.reshape((*outer, points.shape[-1]))))
    image = Expression(node, node.value(0)).reshape((batch, channels, prod(plane)))
    image = image.transpose(0, 2, 1).reshape((batch * prod(plane), channels))
    result = sample(image, axes, largest=True)
    result = result.reshape((count, prod(bins), channels)).transpose(0, 2, 1)
    return result.reshape((count, channels, *bins)).value


def _points_between(node: OnnxNode, start: Expression, end: Expression) -> Expression:
    """The whole numbers of [start, end), [R, P] each; the last one again where others have
    more, and -1 where there is none.
    """
    extent = end - start
    most = extent.maximum(1).apply(ReduceMaxOp, axes=[0, 1])
    known = int(node.known(most.value, "number of pixels of a region"))
    axes = (*start.shape, 1)
    number = start.constant(np.arange(known))
    last = (extent - 1).reshape(axes)
    number = (number < last).choose(number, last)
    exists = extent.reshape(axes).within(1, inf)
    return exists.choose(start.reshape(axes) + number, -1)
