"""Handlers of operators that read, write or go along an axis in an order of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from glow.dialects.glow import (
    AddOp,
    ConcatOp,
    CumulativeOp,
    GatherNDOp,
    GatherOp,
    LessOp,
    ModOp,
    ScatterOp,
    SelectOp,
    SubOp,
    TopKOp,
)
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import Array
from glow.frontends.onnx.node import (
    Constant,
    OnnxNode,
    Operand,
    Value,
    shape,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import HANDLERS, Handler, contrib_op, onnx_op
from glow.interpreter.shape import check_indices


def _check_constant(
    indices: Operand, axes: Sequence[int], sizes: Sequence[int]
) -> None:
    """Refuse constant indices outside of the axes that the last axis of them names."""
    if isinstance(indices, Constant):
        for number, axis in enumerate(axes):
            check_indices(indices.array[..., number], axis, sizes[axis])


def scatter(
    node: OnnxNode,
    data: Operand,
    indices: Operand,
    updates: Operand,
    coordinates: Sequence[int],
    reduction: str = "none",
) -> Operand:
    """`glow.scatter`; constant indices outside of their axis are an error now."""
    sizes = shape(data)
    count = shape(indices)[-1]
    axes = [coordinates.index(-1 - number) for number in range(count)]
    _check_constant(indices, axes, sizes)
    fail_unless(
        prod(sizes) > 0 or prod(shape(updates)) == 0,
        f"there is no place for updates in data of shape {list(sizes)}",
    )
    return node.emit(
        ScatterOp, data, indices, updates, coordinates=coordinates, reduction=reduction
    )


@onnx_op("Scatter", "ScatterElements")
def scatter_elements(node: OnnxNode) -> Value:
    """An update for each index, which says where along an axis."""
    rank = node.rank(0)
    axis = node.positive(node.attr_int("axis", 0), rank)
    fail_unless(
        node.rank(1) == rank and node.shape(1) == node.shape(2),
        f"indices of shape {list(node.shape(1))} and updates of shape "
        f"{list(node.shape(2))} for data of shape {list(node.shape(0))}",
    )
    indices = node.reshape(node.value(1), (*node.shape(1), 1))
    coordinates = [-1 if number == axis else number for number in range(rank)]
    reduction = node.attr_string("reduction", "none")
    return scatter(node, node.value(0), indices, node.value(2), coordinates, reduction)


@onnx_op("ScatterND")
def scatter_nd(node: OnnxNode) -> Value:
    """An update of one or more elements for each tuple of indices."""
    fail_unless(node.rank(1) > 0, "the indices have no axis")
    sizes, (*walked, count) = node.shape(0), node.shape(1)
    fail_unless(
        node.shape(2) == (*walked, *sizes[count:]),
        f"updates of shape {list(node.shape(2))} for indices of shape "
        f"{list(node.shape(1))} into {list(sizes)}",
    )
    behind = range(len(walked), len(walked) + len(sizes) - count)
    coordinates = [*(-1 - number for number in range(count)), *behind]
    reduction = node.attr_string("reduction", "none")
    return scatter(
        node, node.value(0), node.value(1), node.value(2), coordinates, reduction
    )


@onnx_op("GatherND")
@contrib_op("GatherND")
def gather_nd(node: OnnxNode) -> Value:
    """A slice for each tuple of indices."""
    fail_unless(node.rank(1) > 0, "the indices have no axis")
    batch, sizes = node.attr_int("batch_dims", 0), node.shape(0)
    *walked, count = node.shape(1)
    axes = range(batch, batch + count)
    fail_unless(
        0 <= batch and batch + count <= len(sizes),
        f"{count} indices and batch_dims {batch} for data of rank {len(sizes)}",
    )
    fail_unless(
        prod(walked) == 0 or all(sizes[axis] for axis in axes),
        f"no index is inside of an empty axis of {list(sizes)}",
    )
    _check_constant(node.value(1), axes, sizes)
    return node.emit(GatherNDOp, node.value(0), node.value(1), batch_dims=batch)


def _cumulative(kind: str) -> Handler:
    def handler(node: OnnxNode) -> Value:
        axis = node.integer(1, "axis")
        return node.emit(
            CumulativeOp,
            node.value(0),
            kind=kind,
            axis=node.positive(axis, node.rank(0)),
            exclusive=bool(node.attr_int("exclusive", 0)),
            reverse=bool(node.attr_int("reverse", 0)),
        )

    return handler


HANDLERS.update({"CumSum": _cumulative("sum"), "CumProd": _cumulative("prod")})

K_INPUT = 10
"""From this opset on TopK's k is an input."""


@onnx_op("TopK")
def top_k(node: OnnxNode) -> Sequence[Value]:
    """The last axis is sorted; another one is moved there."""
    rank = node.rank(0)
    axis = node.positive(node.attr_int("axis", -1), rank)
    k = node.attr_int("k", 1) if node.opset < K_INPUT else node.integer(1, "k")
    order = [*(a for a in range(rank) if a != axis), axis]
    results = node.graph.add(
        TopKOp,
        [node.transpose(node.value(0), order)],
        k=k,
        smallest=not node.attr_int("largest", 1),
    ).results
    back = [order.index(a) for a in range(rank)]
    return [node.transpose(result, back) for result in results]


@onnx_op("ReverseSequence")
def reverse_sequence(node: OnnxNode) -> Value:
    """The first steps of each sequence, as many as its length says, in reverse order."""
    rank = node.rank(0)
    batch, time = (
        node.positive(node.attr_int(name, default), rank)
        for name, default in (("batch_axis", 1), ("time_axis", 0))
    )
    fail_unless(
        sorted((batch, time)) == [0, 1], f"axes {batch} and {time}, not 0 and 1"
    )
    count, steps = node.shape(0)[batch], np.arange(node.shape(0)[time])
    # Lengths and steps lie along their axes of the two, and broadcast.
    row, column = ((count, 1), (1, -1)) if batch == 0 else ((1, count), (-1, 1))
    lengths = node.reshape(node.convert(node.value(1), i64), row)
    step = Constant(steps.reshape(column), "steps")
    reverse = node.emit(SubOp, lengths, Constant(steps.reshape(column) + 1, "steps"))
    inside = node.emit(LessOp, step, lengths)
    places: Operand = node.emit(SelectOp, inside, reverse, step)
    both = shape(places)
    places = node.reshape(places, (*both, 1))
    if batch > 0:
        numbers = np.broadcast_to(np.arange(count)[None, :, None], (*both, 1))
        numbers = Constant(np.ascontiguousarray(numbers), "numbers")
        places = node.emit(ConcatOp, places, numbers, axis=2)
    return node.emit(GatherNDOp, node.value(0), places, batch_dims=1 - batch)


@onnx_op("TensorScatter")
def tensor_scatter(node: OnnxNode) -> Value:
    """Updates of each sequence in a cache from its own index on."""
    rank = node.rank(0)
    axis = node.positive(node.attr_int("axis", -2), rank)
    mode = node.attr_string("mode", "linear")
    fail_unless(axis > 0, "the axis of sequences is that of the batch")
    refuse_if(mode not in ("linear", "circular"), f"mode '{mode}'")
    order = [0, axis, *(a for a in range(1, rank) if a != axis)]
    updates = node.transpose(node.value(1), order)
    batch, steps = shape(updates)[:2]
    first: Operand = Constant(np.zeros(batch, np.int64), "start")
    if node.has(2):
        first = node.convert(node.value(2), i64)
    places: Operand = node.emit(
        AddOp, node.reshape(first, (batch, 1)), Constant(np.arange(steps), "steps")
    )
    if mode == "circular":
        places = node.emit(ModOp, places, node.number(node.shape(0)[axis], places))
    coordinates = [-1 if a == axis else order.index(a) for a in range(rank)]
    places = node.reshape(places, (batch, steps, 1))
    return scatter(node, node.value(0), places, updates, coordinates)


@onnx_op("Col2Im")
def col2im(node: OnnxNode) -> Value:
    """The sum of the blocks of an image, each at its place; what is in the pads goes."""
    image, block = node.integers(1, "image_shape"), node.integers(2, "block_shape")
    batch, depth, count = node.shape(0)
    rank, channels = len(image), depth // max(1, prod(block))
    dilations = node.attr_ints("dilations") or [1] * rank
    strides = node.attr_ints("strides") or [1] * rank
    pads = node.attr_ints("pads") or [0] * (2 * rank)
    steps = [
        (size + sum(pads[axis::rank]) - dilations[axis] * (block[axis] - 1) - 1)
        // strides[axis]
        + 1
        for axis, size in enumerate(image)
    ]
    fail_unless(
        min(steps, default=1) > 0
        and prod(steps) == count
        and channels * prod(block) == depth,
        f"columns of shape {list(node.shape(0))} are not those of blocks {block} in an "
        f"image of {image}",
    )
    places: Array = np.zeros((1, 1), np.int64)
    inside: Array = np.ones((1, 1), np.bool_)
    for axis, size in enumerate(image):
        taps = np.arange(block[axis])[:, None] * dilations[axis] - pads[axis]
        along = taps + np.arange(steps[axis]) * strides[axis]
        places = _outer(np.add, np.multiply(places, size), along)
        inside = _outer(np.logical_and, inside, (along >= 0) & (along < size))
    updates = node.reshape(node.value(0), (batch * channels, places.size))
    updates = node.transpose(updates, (1, 0))
    kept = np.flatnonzero(inside)
    if len(kept) < places.size:
        updates = node.emit(GatherOp, updates, Constant(kept, "kept"), axis=0)
    indices = Constant(places.ravel()[kept][:, None], "places")
    empty = node.broadcast(node.number(0, updates), (prod(image), batch * channels))
    total = scatter(node, empty, indices, updates, (-1, 1), "add")
    return node.reshape(node.transpose(total, (1, 0)), (batch, channels, *image))


def _outer(function: np.ufunc, left: Array, right: Array) -> Array:
    """The function of all pairs [i, j] of rows and of columns, as [rows, columns]."""
    pairs = function(left[:, None, :, None], right[None, :, None, :])
    return pairs.reshape(len(left) * len(right), -1)
