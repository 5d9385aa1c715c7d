"""Handlers of operators that pick, join, repeat or pad elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from glow.dialects.glow import (
    ConcatOp,
    EqualOp,
    GatherElementsOp,
    GatherOp,
    OrOp,
    PadOp,
    SelectOp,
    SliceOp,
    TileOp,
)  # fmt: skip
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import Array
from glow.frontends.onnx.graph import BUDGET
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, Value, shape
from glow.frontends.onnx.operators.dynamic_slices import dynamic_slice
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op
from glow.interpreter.shape import check_indices

PAD_INPUTS = 11
"""From this opset on pads and value are inputs, before attributes."""

UNEVEN_SPLIT = 18
"""From this opset on a split into equal parts may have a rest."""


@onnx_op("Concat")
def concat(node: OnnxNode) -> Value:
    """The operands joined along an axis."""
    axis = node.positive(node.attr_int("axis", 0), node.rank(0))
    operands = node.values()
    if len(operands) == 1:
        return operands[0]
    return node.emit(ConcatOp, *operands, axis=axis)


def _python_slice(start: int, size: int, step: int) -> slice:
    """The slice of `size` elements from `start` on."""
    stop = start + size * step
    return slice(start, stop if stop >= 0 else None, step) if size else slice(0)


def slice_value(
    node: OnnxNode,
    value: Operand,
    starts: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int],
) -> Value:
    """A slice; a constant's is a view."""
    if isinstance(value, Constant):
        slices = map(_python_slice, starts, sizes, steps)
        return value.array[tuple(slices)]
    return node.emit(SliceOp, value, starts=starts, sizes=sizes, steps=steps)


@onnx_op("Slice")
def slice_(node: OnnxNode) -> Value:
    """Starts, ends and steps along some axes; ends are clamped as Python's are."""
    shape = node.shape(0)
    if node.opset < 10:
        begins, ends = node.attr_ints("starts") or [], node.attr_ints("ends") or []
        axes, steps = node.attr_ints("axes"), None
    else:
        axes = node.integers(3, "axes") if node.has(3) else None
        steps = node.integers(4, "steps") if node.has(4) else None
        placed = dynamic_slice(node, axes or [0], steps or [1])
        if placed is not None:
            return placed
        begins, ends = node.integers(1, "starts"), node.integers(2, "ends")
    axes = list(range(len(begins))) if axes is None else axes
    steps = [1] * len(begins) if steps is None else steps
    fail_unless(
        len(begins) == len(ends) == len(axes) == len(steps) and 0 not in steps,
        f"starts {begins}, ends {ends}, axes {axes} and steps {steps} do not agree",
    )
    ranges = [range(size) for size in shape]
    for begin, end, axis, step in zip(begins, ends, axes, steps, strict=True):
        axis = node.positive(axis, len(shape))
        ranges[axis] = range(shape[axis])[begin:end:step]
    return slice_value(
        node,
        node.value(0),
        [kept.start if len(kept) else 0 for kept in ranges],
        [len(kept) for kept in ranges],
        [kept.step for kept in ranges],
    )


@onnx_op("Split")
def split(node: OnnxNode) -> Sequence[Value]:
    """One slice for each result."""
    shape, count = node.shape(0), len(node.proto.output)
    axis = node.positive(node.attr_int("axis", 0), len(shape))
    sizes = node.attr_ints("split")
    if sizes is None and node.has(1):
        sizes = node.integers(1, "split")
    if sizes is None:
        sizes = _equal_parts(node, shape[axis], count)
    fail_unless(
        len(sizes) == count and min(sizes) >= 0 and sum(sizes) == shape[axis],
        f"sizes {sizes} do not split axis {axis} of {list(shape)} into {count}",
    )
    results: list[Value] = []
    start = 0
    for size in sizes:
        starts, extents = [0] * len(shape), list(shape)
        starts[axis], extents[axis] = start, size
        results.append(
            slice_value(node, node.value(0), starts, extents, [1] * len(shape))
        )
        start += size
    return results


def _equal_parts(node: OnnxNode, size: int, count: int) -> list[int]:
    """The sizes of parts; from opset 18 on the last may be smaller."""
    fail_unless(
        node.opset >= UNEVEN_SPLIT or size % count == 0,
        f"{size} elements do not split into {count} equal parts, as opset "
        f"{node.opset} wants it",
    )
    wanted = node.attr_int("num_outputs", count)
    fail_unless(wanted == count, f"num_outputs {wanted} of a node with {count} results")
    each = -(-size // count)
    return [max(0, min(each, size - each * index)) for index in range(count)]


@onnx_op("Pad")
def pad(node: OnnxNode) -> Value:
    """One node, or pieces put together where its attribute cannot hold the value."""
    pads, mode = _pads(node), node.attr_string("mode", "constant")
    if mode == "constant" and node.opset >= PAD_INPUTS and node.has(2):
        value = node.value(2)
        fail_unless(prod(shape(value)) == 1, "the padding value is not one number")
        if not (isinstance(value, Constant) and _fits_float(value.array)):
            return _pad_by_pieces(node, pads, node.reshape(value, ()))
        number = float(value.array.item())
    else:
        number = node.attr_float("value", 0.0)
    return node.emit(PadOp, node.value(0), pads=pads, value=number, mode=mode)


def _pads(node: OnnxNode) -> list[int]:
    """The pads of all axes: those before the elements, then those behind."""
    rank = node.rank(0)
    if node.opset < PAD_INPUTS:
        pads = node.attr_ints("pads") or []
    else:
        pads = node.integers(1, "pads")
    axes = node.integers(3, "axes") if node.has(3) else list(range(rank))
    fail_unless(len(pads) == 2 * len(axes), f"pads {pads} do not suit {len(axes)} axes")
    full = [0] * (2 * rank)
    for index, axis in enumerate(axes):
        axis = node.positive(axis, rank)
        full[axis], full[axis + rank] = pads[index], pads[index + len(axes)]
    return full


def _fits_float(number: Array) -> bool:
    """Whether an attribute, which is an f32, holds the number."""
    as_float = number.astype(np.float32)
    if number.dtype.kind in "iu":
        return int(as_float.item()) == number.item()
    return bool(np.array_equal(as_float.astype(number.dtype), number, equal_nan=True))


def _pad_by_pieces(node: OnnxNode, pads: Sequence[int], value: Operand) -> Value:
    """The elements, less what negative pads crop, between pieces of the value."""
    crop = [min(size, 0) for size in pads]
    result: Operand = node.value(0)
    if any(crop):
        result = node.emit(PadOp, result, pads=crop)
    rank = node.rank(0)
    for axis in range(rank):
        before, after = (
            _filled(node, value, result, axis, size) for size in pads[axis::rank]
        )
        if before or after:
            result = node.emit(ConcatOp, *before, result, *after, axis=axis)
    return result


def _filled(
    node: OnnxNode, value: Operand, beside: Operand, axis: int, size: int
) -> list[Operand]:
    """A piece of one number beside others along an axis; none where it has no size."""
    extents = [*shape(beside)]
    extents[axis] = size
    return [node.broadcast(value, extents)] if size > 0 else []


@onnx_op("Tile")
def tile(node: OnnxNode) -> Value:
    """The input repeated along each axis."""
    return node.emit(TileOp, node.value(0), repeats=node.integers(1, "repeats"))


@onnx_op("Gather")
def gather(node: OnnxNode) -> Value:
    """Slices at indices."""
    axis = node.positive(node.attr_int("axis", 0), node.rank(0))
    _check_indices(node, axis)
    return node.emit(GatherOp, node.value(0), node.value(1), axis=axis)


@onnx_op("GatherElements")
def gather_elements(node: OnnxNode) -> Value:
    """An element for each index."""
    axis = node.positive(node.attr_int("axis", 0), node.rank(0))
    _check_indices(node, axis)
    return node.emit(GatherElementsOp, node.value(0), node.value(1), axis=axis)


def _check_indices(node: OnnxNode, axis: int) -> None:
    """Refuse constant indices that are outside of the axis, and any of an empty one."""
    indices, size = node.value(1), node.shape(0)[axis]
    fail_unless(
        size > 0 or prod(shape(indices)) == 0,
        f"axis {axis} is empty: no index is inside",
    )
    if isinstance(indices, Constant):
        check_indices(indices.array, axis, size)


def _element(node: OnnxNode, values: Operand, index: int) -> Operand:
    """One number of a list, which may be computed."""
    if isinstance(values, Constant):
        return Constant(values.array[index : index + 1].reshape(()), "value")
    one = node.emit(SliceOp, values, starts=[index], sizes=[1], steps=[1])
    return node.reshape(one, ())


@onnx_op("OneHot")
def one_hot(node: OnnxNode) -> Value:
    """The second value at the index along a new axis, the first elsewhere."""
    depth = int(node.array(1, "depth").item())
    refuse_if(depth > BUDGET, f"depth {depth}")
    values = node.value(2)
    fail_unless(shape(values) == (2,), "the values are not two numbers")
    extents = node.shape(0)
    axis = node.positive(node.attr_int("axis", -1), len(extents) + 1)
    indices = node.convert(node.value(0), i64)
    # Negative indices count from the end, those beyond the depth hit nothing.
    indices = node.reshape(indices, (*extents[:axis], 1, *extents[axis:]))
    count = len(extents) + 1
    positions = np.arange(depth).reshape(
        [depth if a == axis else 1 for a in range(count)]
    )
    hits = [
        node.emit(EqualOp, indices, Constant(positions - offset, "positions"))
        for offset in (0, depth)
    ]
    hit = node.emit(OrOp, *hits)
    off, on = (_element(node, values, index) for index in (0, 1))
    return node.emit(SelectOp, hit, on, off)
