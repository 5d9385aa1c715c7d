"""Handlers of operators whose results are as large as the data says.

What they find goes into a buffer of its largest size, with a count. The count is asked for:
the program ends there, and the next one, which knows it, goes on with a slice of the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i1, i8, i64

from glow.dialects.glow import (
    AddOp,
    AndOp,
    CompactOp,
    ConcatOp,
    CumulativeOp,
    DivOp,
    GatherOp,
    LessOp,
    ModOp,
    MulOp,
    NotEqualOp,
    NotOp,
    ScatterOp,
    SelectBoxesOp,
    SliceOp,
    SubOp,
    TopKOp,
    is_integer,
)
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.node import (
    Constant,
    OnnxNode,
    Operand,
    Value,
    element_type,
    shape,
)
from glow.frontends.onnx.registry import onnx_op


def _slice(
    node: OnnxNode, value: Operand, axis: int, start: int, size: int, step: int = 1
) -> Operand:
    """Every `step`-th element from `start` on along an axis."""
    rank, sizes = len(shape(value)), [*shape(value)]
    starts, steps = [0] * rank, [1] * rank
    sizes[axis], starts[axis], steps[axis] = size, start if size else 0, step
    return node.emit(SliceOp, value, starts=starts, sizes=sizes, steps=steps)


def _places(node: OnnxNode, flags: Operand) -> Operand:
    """Where flags [n] hold, in order."""
    array = flags.array if isinstance(flags, Constant) else node.graph.array_of(flags)
    if array is not None:
        return Constant(np.flatnonzero(array), "places")
    if shape(flags) == (0,):
        return Constant(np.zeros(0, np.int64), "places")
    places, count = node.graph.add(CompactOp, [flags]).results
    return _slice(node, places, 0, 0, int(node.known(count, "result size")))


@onnx_op("NonZero")
def non_zero(node: OnnxNode) -> Value:
    """The coordinates of the elements that are not zero, an axis a row."""
    value, sizes = node.value(0), node.shape(0)
    if isinstance(value, Constant) and sizes:
        return np.stack(np.nonzero(value.array))
    flags = value if element_type(value) == i1 else _differs(node, value)
    places = _places(node, node.reshape(flags, (prod(sizes),)))
    (count,) = shape(places)
    if not sizes:
        return np.zeros((0, count), np.int64)
    rows: list[Operand] = []
    for axis, size in enumerate(sizes):
        stride = prod(sizes[axis + 1 :])
        row = node.emit(DivOp, places, node.number(max(1, stride), places))
        if axis:
            row = node.emit(ModOp, row, node.number(max(1, size), places))
        rows.append(node.reshape(row, (1, count)))
    return node.emit(ConcatOp, *rows, axis=0)


def _differs(node: OnnxNode, value: Operand) -> Operand:
    return node.emit(NotEqualOp, value, node.number(0, value))


@onnx_op("Compress")
def compress(node: OnnxNode) -> Value:
    """The slices along an axis, or elements, at which a condition holds."""
    value, axis = node.value(0), 0
    if node.has_attribute("axis"):
        axis = node.positive(node.attr_int("axis", 0), node.rank(0))
    else:
        value = node.reshape(value, (prod(node.shape(0)),))
    fail_unless(
        node.shape(1)[0] <= shape(value)[axis],
        f"{node.shape(1)[0]} flags for {shape(value)[axis]} elements",
    )
    return node.emit(GatherOp, value, _places(node, node.value(1)), axis=axis)


@dataclass(frozen=True)
class Sorted:
    """Rows [R, m] in order: where their elements were, and which differ from the one before."""

    places: Operand
    starts: Operand


def _sorted(node: OnnxNode, rows: Operand) -> Sorted:
    """Each row sorted; equal elements, NaN among them, keep their order."""
    count, size = shape(rows)
    values, places = node.graph.add(TopKOp, [rows], k=size, smallest=True).results
    before, after = (_slice(node, values, 1, start, size - 1) for start in (0, 1))
    differs: Operand = node.emit(NotEqualOp, before, after)
    if not is_integer(element_type(values)):
        # NaN stands at the end: what is before another one is NaN too if that is.
        number = node.emit(NotEqualOp, before, before)
        differs = node.emit(AndOp, differs, node.emit(NotOp, number))
    first = Constant(np.ones((count, 1), np.bool_), "first")
    return Sorted(places, node.emit(ConcatOp, first, differs, axis=1))


def _ranks(node: OnnxNode, order: Sorted) -> Operand:
    """The number of different elements below each one, [R, m]."""
    numbers = node.convert(order.starts, i64)
    total = node.emit(CumulativeOp, numbers, kind="sum", axis=1)
    ranks = node.emit(SubOp, total, node.number(1, total))
    return _moved(node, order.places, ranks)


def _moved(node: OnnxNode, places: Operand, values: Operand) -> Operand:
    """Values [..., m] at places [..., m], which are all different, along the last axis."""
    rank = len(shape(places))
    nothing = node.broadcast(node.number(0, values), shape(values))
    return node.emit(
        ScatterOp,
        nothing,
        node.reshape(places, (*shape(places), 1)),
        values,
        coordinates=[*range(rank - 1), -1],
    )


def _keys(node: OnnxNode, rows: Operand) -> Operand:
    """One row whose order is that of the columns of rows [R, m], the first row before all.

    Two rows become one of pairs of ranks at a time.
    """
    while (count := shape(rows)[0]) > 1:
        size = shape(rows)[1]
        ranks = _ranks(node, _sorted(node, rows))
        left, right = (_slice(node, ranks, 0, start, count // 2, 2) for start in (0, 1))
        above = node.emit(MulOp, left, node.number(size, left))
        pairs: Operand = node.emit(AddOp, above, right)
        if count % 2:
            last = _slice(node, ranks, 0, count - 1, 1)
            pairs = node.emit(ConcatOp, pairs, last, axis=0)
        rows = pairs
    return rows


@onnx_op("Unique")
def unique(node: OnnxNode) -> Sequence[Value]:
    """Different slices along an axis, or elements: sorted, or in order of appearance.

    With where each one is first, the number of each one, and how often it is there.
    """
    value, axis = node.value(0), 0
    if node.has_attribute("axis"):
        axis = node.positive(node.attr_int("axis", 0), node.rank(0))
    else:
        value = node.reshape(value, (prod(node.shape(0)),))
    sizes = shape(value)
    size, inner = sizes[axis], prod(sizes) // max(1, sizes[axis])
    if size == 0 or inner == 0:
        fail_unless(
            size == 0, f"the slices of {list(sizes)} along axis {axis} are empty"
        )
        nothing = np.zeros(0, np.int64)
        return [value, nothing, nothing, nothing]
    rest = [a for a in range(len(sizes)) if a != axis]
    keys = node.reshape(node.transpose(value, [*rest, axis]), (inner, size))
    if element_type(keys) == i1:
        keys = node.convert(keys, i8)
    order = _sorted(node, _keys(node, keys))
    starts = _places(node, node.reshape(order.starts, (size,)))
    first = node.emit(GatherOp, node.reshape(order.places, (size,)), starts)
    inverse = node.reshape(_ranks(node, order), (size,))
    (count,) = shape(starts)
    end = Constant(np.array([size], np.int64), "end")
    ends = node.emit(ConcatOp, _slice(node, starts, 0, 1, count - 1), end, axis=0)
    counts: Operand = node.emit(SubOp, ends, starts)
    if not node.attr_int("sorted", 1):
        first, numbers = node.graph.add(TopKOp, [first], k=count, smallest=True).results
        counts = node.emit(GatherOp, counts, numbers)
        ranks = _moved(node, numbers, Constant(np.arange(count), "numbers"))
        inverse = node.emit(GatherOp, ranks, inverse)
    return [node.emit(GatherOp, value, first, axis=axis), first, inverse, counts]


@onnx_op("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> Value:
    """The image, class and number of each box that is selected."""
    boxes, scores = (node.convert(node.value(index), f32) for index in (0, 1))
    images, classes, size = shape(scores)
    fail_unless(
        shape(boxes) == (images, size, 4),
        f"boxes of shape {list(shape(boxes))} for scores of shape {list(shape(scores))}",
    )
    most, limit = (
        (Constant(np.array(0), "most") if not node.has(2) else node.value(2)),
        size,
    )
    if isinstance(most, Constant):
        limit = max(0, min(size, int(most.array.item())))
    if images * classes == 1 and node.rows_read is not None:
        limit = min(limit, node.rows_read)
    if limit * images * classes == 0:
        return np.zeros((0, 3), np.int64)
    values, order = node.graph.add(TopKOp, [scores], k=size).results
    valid: Operand = Constant(np.ones(shape(scores), np.bool_), "valid")
    if node.has(4):
        valid = node.emit(LessOp, node.reshape(node.value(4), ()), values)
    threshold: Operand = Constant(np.array(0, dtype_of(f32)), "threshold")
    if node.has(3):
        threshold = node.reshape(node.value(3), ())
    selected, counts = node.graph.add(
        SelectBoxesOp,
        [boxes, order, valid, threshold],
        limit=limit,
        center_point_box=bool(node.attr_int("center_point_box", 0)),
    ).results
    number = Constant(np.arange(limit), "number")
    kept: Operand = node.emit(
        LessOp, number, node.reshape(counts, (images, classes, 1))
    )
    if not isinstance(most, Constant):
        below = node.emit(LessOp, number, node.reshape(node.convert(most, i64), ()))
        kept = node.emit(AndOp, kept, below)
    total = images * classes * limit
    places = _places(node, node.reshape(kept, (total,)))
    row = node.emit(DivOp, places, node.number(limit, places))
    columns = (
        node.emit(DivOp, row, node.number(classes, row)),
        node.emit(ModOp, row, node.number(classes, row)),
        node.emit(GatherOp, node.reshape(selected, (total,)), places),
    )
    (count,) = shape(places)
    return node.emit(
        ConcatOp, *(node.reshape(column, (count, 1)) for column in columns), axis=1
    )
