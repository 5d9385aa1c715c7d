"""Random examples of nodes with indices, attention and recurrent layers, for gradient checks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from support.nodes.differential import Array, Example, example
from support.training.gradients import Case

from glow.dialects import glow
from glow.dialects.node import NodeOp


def distinct(c: Case, *shape: int) -> Array:
    """Numbers far enough apart that no difference changes their order."""
    count = int(np.prod(shape))
    return c.random.permutation(count).reshape(shape) / 7.0 - count / 14


def indices(c: Case, extent: int, *shape: int) -> Array:
    """Places in an axis, counted from either end; some are repeated."""
    dtype = c.one_of((np.int32, np.int64))
    return c.random.integers(-extent, extent, shape).astype(dtype)


def gather(c: Case) -> Example:
    """Slices along an axis."""
    shape = c.shape(c.integer(1, 3))
    axis = c.integer(0, len(shape) - 1)
    places = indices(c, shape[axis], *c.shape(c.integer(0, 2)))
    return example(glow.GatherOp, c.numbers(*shape), places, axis=axis)


def gather_elements(c: Case) -> Example:
    """An element for each index."""
    shape = c.shape(c.integer(1, 3))
    axis = c.integer(0, len(shape) - 1)
    sizes = [c.integer(1, 5 if i == axis else size) for i, size in enumerate(shape)]
    places = indices(c, shape[axis], *sizes)
    return example(glow.GatherElementsOp, c.numbers(*shape), places, axis=axis)


def gather_nd(c: Case) -> Example:
    """Slices at positions of several coordinates."""
    shape = c.shape(4)
    batch = c.integer(0, 1)
    count = c.integer(1, 3 - batch)
    walked = (*shape[:batch], *c.shape(c.integer(1 - batch, 2)))
    columns = [indices(c, shape[batch + k], *walked) for k in range(count)]
    places = np.stack([column.astype(np.int64) for column in columns], axis=-1)
    return example(glow.GatherNDOp, c.numbers(*shape), places, batch_dims=batch)


def scatter(reduction: str, c: Case) -> Example:
    """Rows or elements, some of them at one place."""
    shape = c.shape(3)
    if c.flag():
        count = c.integer(1, 5)
        places = indices(c, shape[1], count, 1)
        updates, coordinates = c.numbers(shape[0], count), [0, -1, 2]
        places = np.broadcast_to(places, (shape[0], count, 1))
        updates = c.numbers(shape[0], count, c.integer(1, shape[2]))
    else:
        places = indices(c, shape[0], c.integer(1, 5), 1)
        updates, coordinates = c.numbers(len(places), *shape[1:]), [-1, 1, 2]
    settings = {"coordinates": coordinates, "reduction": reduction}
    data = c.numbers(*shape)
    return example(glow.ScatterOp, data, np.array(places), updates, **settings)


def top_k(c: Case) -> Example:
    """The first of sorted rows."""
    shape = (*c.shape(c.integer(0, 2)), c.integer(1, 7))
    settings = {"k": c.integer(1, shape[-1]), "smallest": c.flag()}
    return example(glow.TopKOp, distinct(c, *shape), **settings)


def max_pool(c: Case) -> Example:
    """Windows in steps, dilated, padded."""
    kernel, dilations = [c.integer(1, 3), c.integer(1, 3)], [c.integer(1, 2), 1]
    reach = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
    pads = [c.integer(0, min(each, 1)) for each in (*reach, *reach)]
    return example(
        glow.MaxPool2dOp,
        distinct(c, *c.shape(2), c.integer(6, 8), c.integer(5, 7)),
        kernel=kernel,
        strides=[c.integer(1, 3), c.integer(1, 2)],
        pads=pads,
        dilations=dilations,
        ceil_mode=c.flag(),
    )


def sample(c: Case) -> Example:
    """Computed tables, one or one for each part, with places outside."""
    shape = c.shape(3)
    batch = shape[:1] if c.flag() else ()
    table = (*batch, c.integer(1, 5), c.integer(1, 3))
    places = c.random.integers(-1, shape[1] + 1, table).astype(c.one_of(("i4", "i8")))
    operands = c.numbers(*shape), places, c.numbers(*table)
    return example(glow.SampleOp, *operands, axis=1, largest=c.flag())


def attention(c: Case) -> Example:
    """With and without a mask, also with repeated keys."""
    batch, queries, keys, size, width = c.shape(5)
    operands = [
        c.numbers(batch, 2, queries, size),
        c.numbers(c.one_of((1, batch)), 2, keys, size),
        c.numbers(batch, 2, keys, width),
    ]
    if c.flag():
        operands.append(c.numbers(queries, keys))
    return example(glow.AttentionOp, *operands, scale=0.5)


def layer(node: type[glow.RecurrentOp], c: Case) -> Example:
    """A recurrent layer in one or both directions."""
    steps, batch, size, units = c.shape(4)
    direction = c.one_of(("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    gates = node.GATES * units
    operands = [
        c.numbers(steps, batch, size),
        c.numbers(count, gates, size),
        c.numbers(count, gates, units),
        c.numbers(count, 2 * gates),
        *(c.numbers(count, batch, units) for _ in range(node.STATES)),
    ]
    settings: dict[str, object] = {"direction": direction}
    if node is glow.GruOp:
        settings["linear_before_reset"] = c.flag()
    if node is glow.RnnOp:
        settings["activation"] = c.one_of(("tanh", "sigmoid", "relu"))
    return example(node, *operands, **settings)


def lu(c: Case) -> Example:
    """Matrices whose largest pivots are far from the others."""
    size = c.integer(1, 4)
    order = c.random.permutation(size)
    return example(glow.LuOp, c.numbers(2, size, size) / 4 + 2 * np.eye(size)[order])


LAYERS: tuple[type[NodeOp], ...] = (glow.LstmOp, glow.GruOp, glow.RnnOp)

INDEXING_CASES: dict[str, Callable[[Case], Example]] = {
    "gather": gather,
    "gather_elements": gather_elements,
    "gather_nd": gather_nd,
    **{
        f"scatter_{reduction}": partial(scatter, reduction)
        for reduction in ("none", "add", "mul", "max", "min")
    },
    "top_k": top_k,
    "max_pool2d": max_pool,
    "sample": sample,
    "attention": attention,
    "lu": lu,
    **{node.name.removeprefix("glow."): partial(layer, node) for node in LAYERS},
}
"""Name to what makes a random example."""
