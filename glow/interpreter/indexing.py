"""Nodes that read, write or go along an axis in an order of their own.

Indices outside of their axis raise GlowError, as calls of compiled code do.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, widen
from glow.interpreter.scalar_functions import Function
from glow.interpreter.shape import check_indices

REDUCTIONS: Mapping[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
"""What a scatter does with an element and an update; without one, the update stays."""

BOXES = 256
"""The candidates that are looked at together."""


def run_gather_nd(op: GlowOp, x: Array, indices: Array) -> Array:
    """`glow.gather_nd`."""
    batch, count = op.attributes_view().int("batch_dims"), indices.shape[-1]
    for number in range(count):
        axis = batch + number
        check_indices(indices[..., number], axis, x.shape[axis])
    places = np.indices(indices.shape[:-1], sparse=True)[:batch]
    positions = tuple(indices[..., number] for number in range(count))
    return x[(*places, *positions)]  # repeated where there are no coordinates


def run_scatter(op: GlowOp, data: Array, indices: Array, updates: Array) -> Array:
    """`glow.scatter`: one update after the other, in row-major order."""
    attributes = op.attributes_view()
    reduction = REDUCTIONS.get(attributes.string("reduction"))
    if reduction is None and (line := _one_line(op, indices, updates)) is not None:
        return _with_slices(data, line, updates)
    places = np.indices(updates.shape, sparse=True)
    beside = (1,) * (updates.ndim - indices.ndim + 1)
    positions: list[Array] = []
    for axis, source in enumerate(attributes.ints("coordinates")):
        if source < 0:
            found = indices[..., -1 - source]
            check_indices(found, axis, data.shape[axis])
            found = np.where(found < 0, found + data.shape[axis], found)
            positions.append(found.reshape((*found.shape, *beside)))
        else:
            positions.append(places[source])
    result = data.copy()
    flat = np.zeros(updates.shape, np.int64)
    for position, size in zip(positions, data.shape, strict=True):
        flat = flat * size + position
    flat = flat.ravel()
    elements = result.reshape(-1)
    if reduction is None:
        elements[flat] = updates.ravel()
    else:
        reduction.at(elements, flat, updates.ravel())
    return elements.reshape(data.shape)


def _one_line(op: GlowOp, indices: Array, updates: Array) -> tuple[int, Array] | None:
    """The axis and the places of whole slices, where indices are one line that is repeated."""
    axes = op.attributes_view().ints("coordinates")
    (axis, *others) = [number for number, source in enumerate(axes) if source < 0] or [
        0
    ]
    is_elements = all(source in (number, -1) for number, source in enumerate(axes))
    fits = len(axes) == updates.ndim == indices.ndim - 1
    if others or not is_elements or not fits or updates.size == 0:
        return None
    steps = zip(indices.strides[:-1], updates.shape, strict=True)
    if any(step and size > 1 for n, (step, size) in enumerate(steps) if n != axis):
        return None
    return axis, indices[
        *(slice(None) if n == axis else 0 for n in range(indices.ndim))
    ]


def _with_slices(data: Array, line: tuple[int, Array], updates: Array) -> Array:
    """Data whose slices at some places are updates, or begin with them."""
    axis, places = line
    check_indices(places, axis, data.shape[axis])
    result = data.copy()
    whole = [
        places if n == axis else slice(size) for n, size in enumerate(updates.shape)
    ]
    result[tuple(whole)] = updates
    return result


def run_cumulative(op: GlowOp, x: Array) -> Array:
    """`glow.cumulative`."""
    attributes = op.attributes_view()
    axis, is_sum = attributes.int("axis"), attributes.string("kind") == "sum"
    values = np.moveaxis(widen(x), axis, 0)
    values = values[::-1] if attributes.has("reverse") else values
    function = np.add if is_sum else np.multiply
    total = function.accumulate(values, axis=0, dtype=values.dtype)
    if attributes.has("exclusive"):
        first = np.full((1, *total.shape[1:]), 0 if is_sum else 1, total.dtype)
        total = np.concatenate([first, total])[: len(values)]
    total = total[::-1] if attributes.has("reverse") else total
    return np.moveaxis(total, 0, axis)


def top_places(x: Array, k: int, *, smallest: bool = False) -> Array:
    """Where the `k` largest elements of the last axis are, in order: the first of equal ones.

    The largest are those that come last in a stable sort of the reverse.
    """
    if smallest:
        return np.argsort(x, axis=-1, kind="stable")[..., :k]
    order = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return x.shape[-1] - 1 - order[..., :k]


def run_top_k(op: GlowOp, x: Array) -> tuple[Array, Array]:
    """`glow.top_k`."""
    attributes = op.attributes_view()
    smallest = attributes.has("smallest")
    places = top_places(widen(x), attributes.int("k"), smallest=smallest)
    return np.take_along_axis(x, places, axis=-1), places


def run_compact(op: GlowOp, flags: Array) -> tuple[Array, Array]:
    """`glow.compact`."""
    found = np.flatnonzero(flags)
    places = np.zeros(flags.shape, np.int64)
    places[: len(found)] = found
    return places, np.array(len(found))


def run_select_boxes(
    op: GlowOp, boxes: Array, order: Array, valid: Array, threshold: Array
) -> tuple[Array, Array]:
    """`glow.select_boxes`, in the type of the boxes."""
    attributes = op.attributes_view()
    limit = attributes.int("limit")
    low, high = corners(boxes, centers=attributes.has("center_point_box"))
    selected = np.zeros((*order.shape[:2], limit), np.int64)
    count = np.zeros(order.shape[:2], np.int64)
    for image, number in np.ndindex(order.shape[:2]):
        places = order[image, number][valid[image, number]]
        kept = selected_boxes(low[image], high[image], places, threshold, limit)
        selected[image, number, : len(kept)] = kept
        count[image, number] = len(kept)
    return selected, count


def selected_boxes(
    low: Array, high: Array, places: Array, threshold: Array, limit: int
) -> Array:
    """The first candidates of which none overlaps one before it that is taken.

    They are looked at by blocks: first beside what is taken, then beside each other.
    """
    kept = places[:0]
    for start in range(0, len(places), BOXES):
        block = places[start : start + BOXES]
        block = block[~(overlaps(low, high, block, kept) > threshold).any(axis=1)]
        excluded = overlaps(low, high, block, block) > threshold
        kept = np.concatenate([kept, block[_taken(excluded)]])
        if len(kept) >= limit:
            break
    return kept[:limit]


def _taken(excluded: Array) -> Array:
    """Which of some boxes are taken in order, where a row says which others one excludes."""
    is_free = np.ones(len(excluded), np.bool_)
    for index, others in enumerate(excluded):
        if is_free[index]:
            is_free[index + 1 :] &= ~others[index + 1 :]
    return is_free


def corners(boxes: Array, *, centers: bool) -> tuple[Array, Array]:
    """The lower and the upper corners [..., 2] of boxes."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centers:
        half = second * boxes.dtype.type(0.5)
        return first - half, first + half
    return np.minimum(first, second), np.maximum(first, second)


def overlaps(low: Array, high: Array, ones: Array, others: Array) -> Array:
    """The area that boxes share with others, divided by that of both; 0 of empty ones."""
    sides = high - low
    areas = sides[:, 0] * sides[:, 1]
    width, height = (
        np.minimum(high[ones, axis][:, None], high[others, axis])
        - np.maximum(low[ones, axis][:, None], low[others, axis])
        for axis in (0, 1)
    )
    shared = width * height
    union = areas[ones][:, None] + areas[others] - shared
    is_shared = (width > 0) & (height > 0) & (union > 0)
    is_shared &= (areas[ones] > 0)[:, None] & (areas[others] > 0)
    return np.where(is_shared, shared / union, 0)


NODES: dict[type[Operation], Function] = {
    glow.GatherNDOp: run_gather_nd,
    glow.ScatterOp: run_scatter,
    glow.CumulativeOp: run_cumulative,
    glow.TopKOp: run_top_k,
    glow.CompactOp: run_compact,
    glow.SelectBoxesOp: run_select_boxes,
}
