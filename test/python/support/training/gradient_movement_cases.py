"""Random examples of nodes that move elements, for gradient checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from support.nodes.differential import Example, example
from support.training.gradients import Case

from glow.dialects import glow

F64 = np.dtype(np.float64)


def reshape(c: Case) -> Example:
    """Another shape."""
    shape = c.shape(3)
    target = c.one_of(((-1,), (shape[0], -1), (1, -1, shape[2])))
    x = c.numbers(*shape)
    return example(glow.ReshapeOp, x, result=(x.reshape(target).shape, F64))


def transpose(c: Case) -> Example:
    """Another order of axes."""
    shape = c.shape(c.integer(1, 4))
    permutation = [int(axis) for axis in c.random.permutation(len(shape))]
    return example(glow.TransposeOp, c.numbers(*shape), permutation=permutation)


def concat(c: Case) -> Example:
    """A few tensors, one after the other."""
    shape = c.shape(c.integer(1, 3))
    axis = c.integer(0, len(shape) - 1)
    parts = [
        c.numbers(*shape[:axis], c.integer(1, 3), *shape[axis + 1 :])
        for _ in range(c.integer(1, 3))
    ]
    return example(glow.ConcatOp, *parts, axis=axis)


def slice_(c: Case) -> Example:
    """A part, also in steps and backwards."""
    shape = tuple(c.integer(1, 7) for _ in range(c.integer(1, 3)))
    starts, sizes, steps = list[int](), list[int](), list[int]()
    for extent in shape:
        step, start = c.one_of((1, 1, 2, 3, -1, -2)), c.integer(0, extent - 1)
        room = (start if step < 0 else extent - 1 - start) // abs(step) + 1
        starts.append(start)
        sizes.append(c.integer(1, room))
        steps.append(step)
    return example(
        glow.SliceOp, c.numbers(*shape), starts=starts, sizes=sizes, steps=steps
    )


def pad(c: Case) -> Example:
    """Padding and cropping in each mode."""
    shape = tuple(c.integer(2, 5) for _ in range(c.integer(1, 2)))
    pads = [c.integer(-1, 4) for _ in range(2 * len(shape))]
    for axis, size in enumerate(shape):
        if pads[axis] + pads[axis + len(shape)] + size < 1 or size < 3:
            pads[axis] = max(pads[axis], 0)
    mode = c.one_of(("constant", "edge", "reflect", "wrap"))
    return example(glow.PadOp, c.numbers(*shape), pads=pads, mode=mode, value=1.0)


def broadcast(c: Case) -> Example:
    """Repetition along axes of size 1 and new ones."""
    shape = c.shape(c.integer(0, 2))
    target = tuple(c.integer(1, 3) if size == 1 else size for size in shape)
    target = (*c.shape(c.integer(0, 2)), *target)
    return example(glow.BroadcastOp, c.numbers(*shape), result=(target, F64))


def tile(c: Case) -> Example:
    """Repetition as a whole."""
    shape = c.shape(c.integer(0, 3))
    return example(
        glow.TileOp, c.numbers(*shape), repeats=[c.integer(1, 3) for _ in shape]
    )


MOVEMENT_CASES: dict[str, Callable[[Case], Example]] = {
    "reshape": reshape,
    "transpose": transpose,
    "concat": concat,
    "slice": slice_,
    "pad": pad,
    "broadcast": broadcast,
    "tile": tile,
}
"""Name of a node to what makes a random example of it."""
