"""Repetition and padding as concatenation; padding by repeated elements as gathers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, like

MAX_JOINED = 64
"""Operands of a concatenation that repeats its input: each is a copy in the program."""


def tile(op: Operation) -> None:
    """Each repeated axis becomes a concatenation; the innermost axis comes first,
    so that the later, larger copies are of contiguous runs.
    """
    assert isinstance(op, glow.TileOp)
    repeats = op.attributes_view().ints("repeats")
    builder, value = NodeBuilder(op), op.input
    if 0 in repeats:
        assert isinstance(op.result.type, TensorType)
        value = builder.insert(glow.SplatOp.from_number(0, op.result.type)).results[0]
        repeats = ()
    for axis in reversed(range(len(repeats))):
        value = _repeated(builder, value, repeats[axis], axis)
    builder.replace(value)


def _repeated(builder: NodeBuilder, value: SSAValue, count: int, axis: int) -> SSAValue:
    """Copies joined along an axis: of many, most are copies of joined copies."""
    whole, rest = divmod(count, MAX_JOINED)
    parts = [value] * rest if whole else [value] * count
    if whole:
        joined = builder.node(glow.ConcatOp, *[value] * MAX_JOINED, axis=axis)
        parts.insert(0, _repeated(builder, joined, whole, axis))
    return (
        builder.node(glow.ConcatOp, *parts, axis=axis) if len(parts) > 1 else parts[0]
    )


def pad(op: Operation) -> None:
    """Each padded axis is read through the indices that the padding repeats.

    NumPy pads the indices, so its modes are ours, paddings longer than the axis
    included. Padding with a constant is a concatenation with splats.
    """
    assert isinstance(op, glow.PadOp)
    attributes, builder, value = op.attributes_view(), NodeBuilder(op), op.input
    mode = attributes.string("mode")
    if mode == "constant":
        _pad_with_constant(op, builder)
        return
    pads, shape = attributes.ints("pads"), shape_of(op.input)
    for axis, size in enumerate(shape):
        before, after = pads[axis], pads[axis + len(shape)]
        if before == after == 0:
            continue
        kept = np.arange(size, dtype=np.int64)[max(-before, 0) : size - max(-after, 0)]
        indices = _repeat(kept, (max(before, 0), max(after, 0)), mode)
        constant = builder.constant(indices, "indices")
        value = builder.node(glow.GatherOp, value, constant, axis=axis)
    builder.replace(value)


def _pad_with_constant(op: glow.PadOp, builder: NodeBuilder) -> None:
    """Crop each axis by a slice, and lengthen it by splats before and after."""
    attributes, value, rank = op.attributes_view(), op.input, len(shape_of(op.input))
    pads = attributes.ints("pads")
    value = _cropped(builder, value, [min(pad, 0) for pad in pads])
    for axis in range(rank):
        before, after = (
            [_splat_along(builder, value, axis, pad, attributes.float("value"))]
            if pad > 0
            else []
            for pad in (pads[axis], pads[axis + rank])
        )
        if before or after:
            value = builder.node(glow.ConcatOp, *before, value, *after, axis=axis)
    builder.replace(value)


def _cropped(builder: NodeBuilder, value: SSAValue, pads: list[int]) -> SSAValue:
    """The value without as many elements as negative pads say."""
    shape, rank = shape_of(value), len(shape_of(value))
    if not any(pads):
        return value
    sizes = [size + pads[axis] + pads[axis + rank] for axis, size in enumerate(shape)]
    starts = [-pad for pad in pads[:rank]]
    return builder.node(
        glow.SliceOp, value, starts=starts, sizes=sizes, steps=[1] * rank
    )


def _splat_along(
    builder: NodeBuilder, value: SSAValue, axis: int, size: int, number: float
) -> SSAValue:
    """A splat that can be joined to a value along an axis."""
    shape = list(shape_of(value))
    shape[axis] = size
    splat = glow.SplatOp.from_number(number, like(value, shape))
    return builder.insert(splat).results[0]


def broadcast(op: Operation) -> None:
    """A reshape that adds axes of size 1, then a repetition."""
    assert isinstance(op, glow.BroadcastOp)
    builder, target = NodeBuilder(op), shape_of(op.result)
    shape = (1,) * (len(target) - len(shape_of(op.input))) + shape_of(op.input)
    repeats = [
        1 if size == wanted else wanted
        for size, wanted in zip(shape, target, strict=True)
    ]
    value = builder.reshape(op.input, shape)
    if set(repeats) != {1}:
        value = builder.node(glow.TileOp, value, repeats=repeats)
    builder.replace(value)


def _repeat(
    indices: npt.NDArray[np.int64], pads: tuple[int, int], mode: str
) -> npt.NDArray[np.int64]:
    """The indices with those before and after them that a mode repeats."""
    if mode == "edge":
        return np.pad(indices, pads, mode="edge")
    if mode == "reflect":
        return np.pad(indices, pads, mode="reflect")
    return np.pad(indices, pads, mode="wrap")


LOWERINGS = {glow.PadOp: pad, glow.TileOp: tile, glow.BroadcastOp: broadcast}
