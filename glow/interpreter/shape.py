"""Nodes that move elements. Indices outside of their axis raise GlowError, as calls of
compiled code do.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import GlowOp, shape_of
from glow.interpreter.arrays import Array
from glow.interpreter.scalar_functions import Function


def result_shape(op: Operation) -> tuple[int, ...]:
    """The shape of an operation's result, or of its @out operand."""
    return shape_of(op.results[0] if op.results else op.operands[0])


def run_reshape(op: GlowOp, x: Array) -> Array:
    """`glow.reshape`."""
    return x.reshape(result_shape(op))


def run_transpose(op: GlowOp, x: Array) -> Array:
    """`glow.transpose`."""
    return np.transpose(x, op.attributes_view().ints("permutation"))


def run_concat(op: GlowOp, *operands: Array) -> Array:
    """`glow.concat`."""
    return np.concatenate(operands, axis=op.attributes_view().int("axis"))


def steps_of(start: int, size: int, step: int) -> slice:
    """The slice of `size` elements from `start` on."""
    stop = start + size * step
    return slice(0, 0) if size == 0 else slice(start, stop if stop >= 0 else None, step)


def run_slice(op: GlowOp, x: Array) -> Array:
    """`glow.slice`."""
    attributes = op.attributes_view()
    parts = zip(*map(attributes.ints, ("starts", "sizes", "steps")), strict=True)
    return x[tuple(steps_of(*part) for part in parts)]


def check_index(index: int, size: int) -> int:
    """The index, which must be in [0, size)."""
    if not 0 <= index < size:
        raise GlowError(f"index {index} is outside of axis 0 of size {size}")
    return index


def run_dynamic_slice(op: GlowOp, x: Array, index: Array) -> Array:
    """`glow.dynamic_slice`."""
    return x[check_index(int(index), x.shape[0])]


def run_dynamic_update(op: GlowOp, x: Array, value: Array, index: Array) -> Array:
    """`glow.dynamic_update`."""
    result = x.copy()
    result[check_index(int(index), x.shape[0])] = value
    return result


def run_pad(op: GlowOp, x: Array) -> Array:
    """`glow.pad`."""
    return pad(op, x, np.asarray(op.attributes_view().float("value")).astype(x.dtype))


def pad(op: GlowOp, x: Array, value: Array) -> Array:
    """The padded array: negative pads crop first, then positive ones are added."""
    attributes = op.attributes_view()
    pads, rank = attributes.ints("pads"), x.ndim
    widths = list(zip(pads[:rank], pads[rank:], strict=True))
    x = x[
        tuple(
            slice(max(0, -begin), size - max(0, -end))
            for (begin, end), size in zip(widths, x.shape, strict=True)
        )
    ]
    positive = [(max(0, begin), max(0, end)) for begin, end in widths]
    mode = attributes.string("mode")
    if not any(map(any, positive)):
        return x  # a number has no axis, which np.pad refuses
    if mode == "constant":
        return np.pad(x, positive, constant_values=value)
    if x.size == 0:
        raise GlowError(f"pad mode '{mode}' needs an element to repeat")
    return np.pad(x, positive, mode=mode)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]


def run_broadcast(op: GlowOp, x: Array) -> Array:
    """`glow.broadcast` (a view)."""
    return np.broadcast_to(x, result_shape(op))


def run_tile(op: GlowOp, x: Array) -> Array:
    """`glow.tile`."""
    return np.tile(x, op.attributes_view().ints("repeats"))


def run_gather(op: GlowOp, x: Array, indices: Array) -> Array:
    """`glow.gather`."""
    return gather(x, indices, op.attributes_view().int("axis"))


def gather(x: Array, indices: Array, axis: int) -> Array:
    """Slices of x along an axis; GlowError for indices outside."""
    check_indices(indices, axis, x.shape[axis])
    return np.take(x, indices, axis=axis)


def run_gather_elements(op: GlowOp, x: Array, indices: Array) -> Array:
    """`glow.gather_elements`."""
    axis = op.attributes_view().int("axis")
    check_indices(indices, axis, x.shape[axis])
    places = np.indices(indices.shape, sparse=True)
    return x[(*places[:axis], indices, *places[axis + 1 :])]


def check_indices(indices: Array, axis: int, size: int) -> None:
    """Raise GlowError for an index that no element of the axis has."""
    outside = (indices < -size) | (indices >= size)
    if outside.any():
        raise GlowError(
            f"index {indices[outside].flat[0]} is outside of axis {axis} of size {size}"
        )


NODES: dict[type[Operation], Function] = {
    glow.ReshapeOp: run_reshape,
    glow.TransposeOp: run_transpose,
    glow.ConcatOp: run_concat,
    glow.SliceOp: run_slice,
    glow.DynamicSliceOp: run_dynamic_slice,
    glow.DynamicUpdateOp: run_dynamic_update,
    glow.PadOp: run_pad,
    glow.BroadcastOp: run_broadcast,
    glow.TileOp: run_tile,
    glow.GatherOp: run_gather,
    glow.GatherElementsOp: run_gather_elements,
}
