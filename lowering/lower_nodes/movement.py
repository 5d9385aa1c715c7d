"""Repetition as concatenation; padding by repeated elements as gathers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.node_builder import NodeBuilder


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
        if repeats[axis] > 1:
            value = builder.node(glow.ConcatOp, *[value] * repeats[axis], axis=axis)
    builder.replace(value)


def pad(op: Operation) -> None:
    """Each padded axis is read through the indices that the padding repeats.

    NumPy pads the indices, so its modes are ours, paddings longer than the axis
    included. Padding with a constant stays.
    """
    assert isinstance(op, glow.PadOp)
    attributes, builder, value = op.attributes_view(), NodeBuilder(op), op.input
    mode = attributes.string("mode")
    if mode == "constant":
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


def _repeat(
    indices: npt.NDArray[np.int64], pads: tuple[int, int], mode: str
) -> npt.NDArray[np.int64]:
    """The indices with those before and after them that a mode repeats."""
    if mode == "edge":
        return np.pad(indices, pads, mode="edge")
    if mode == "reflect":
        return np.pad(indices, pads, mode="reflect")
    return np.pad(indices, pads, mode="wrap")


LOWERINGS = {glow.PadOp: pad, glow.TileOp: tile}
