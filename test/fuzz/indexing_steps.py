"""The steps that add a node which reads, writes or orders elements, or takes their bits."""

from __future__ import annotations

import numpy as np
from random_graphs import F32, GraphMaker, Step, dtype_in

from glow.dialects import glow
from glow.dialects.glow.indexing import CUMULATIVE, REDUCTIONS
from glow.dialects.node import shape_of

BOOL = np.dtype(np.bool_)
WIDE_AS_F32 = np.dtype(np.int32)


def gather_nd(g: GraphMaker) -> None:
    """Slices at positions of a few coordinates."""
    x = g.tensor(g.integer(1, 3))
    shape = shape_of(x)
    batch = g.integer(0, 1) if len(shape) > 1 else 0
    count = g.integer(1, len(shape) - batch)
    lead = (*shape[:batch], g.integer(1, 3))
    columns = [
        g.random.integers(-extent, extent, lead)
        for extent in shape[batch : batch + count]
    ]
    fixed = g.constant if g.chance(0.5) else g.argument
    indices = fixed(np.stack(columns, -1).astype(np.int64))
    g.node(glow.GatherNDOp, x, indices, batch_dims=batch)


def scatter(g: GraphMaker) -> None:
    """Elements or slices written, or added and so on, at positions that may be the same."""
    x = g.tensor(g.integer(1, 3))
    shape, reduction = shape_of(x), g.one_of(REDUCTIONS)
    count, writes = g.integer(1, len(shape)), g.integer(1, 4)
    columns = [g.random.integers(-size, size, writes) for size in shape[:count]]
    indices = g.constant(np.stack(columns, -1).astype(np.int64))
    updates = g.new((writes, *shape[count:]), dtype_in(x))
    coordinates = [-1 - axis for axis in range(count)]
    coordinates += range(1, len(shape) - count + 1)
    g.node(
        glow.ScatterOp, x, indices, updates,
        coordinates=coordinates, reduction=reduction,
    )  # fmt: skip


def cumulative(g: GraphMaker) -> None:
    """Sums or products along an axis."""
    x = g.tensor(g.integer(1, 3), F32)
    axis = g.integer(0, len(shape_of(x)) - 1)
    flags = {name: g.chance(0.3) for name in ("exclusive", "reverse")}
    g.node(glow.CumulativeOp, x, axis=axis, kind=g.one_of(CUMULATIVE), **flags)


def top_k(g: GraphMaker) -> None:
    """The largest or smallest elements of rows."""
    x = g.tensor(g.integer(1, 3), F32)
    k = g.integer(1, shape_of(x)[-1])
    g.node(glow.TopKOp, x, k=k, smallest=g.chance(0.5))


def lu(g: GraphMaker) -> None:
    """The triangles of small matrices."""
    size = g.integer(1, 3)
    g.node(glow.LuOp, g.new((*g.shape(g.integer(0, 1)), size, size)))


def compact(g: GraphMaker) -> None:
    """Where flags hold."""
    g.node(glow.CompactOp, g.new((g.integer(1, 9),), BOOL))


def select_boxes(g: GraphMaker) -> None:
    """Boxes that do not cover each other."""
    batch, classes, count = g.integer(1, 2), g.integer(1, 2), g.integer(1, 6)
    boxes = g.new((batch, count, 4))
    order = g.random.integers(0, count, (batch, classes, g.integer(1, 6)))
    valid = g.new(order.shape, BOOL)
    threshold = g.constant(np.asarray(g.one_of((0.0, 0.3, 0.6)), F32))
    g.node(
        glow.SelectBoxesOp, boxes, g.argument(order), valid, threshold,
        limit=g.integer(1, 4), center_point_box=g.chance(0.5),
    )  # fmt: skip


def bitcast(g: GraphMaker) -> None:
    """The bits of floats as integers."""
    x = g.tensor(dtype=F32)
    g.node(glow.BitcastOp, x, result=(shape_of(x), WIDE_AS_F32))


INDEXING_STEPS: tuple[Step, ...] = (
    gather_nd,
    scatter,
    cumulative,
    top_k,
    lu,
    compact,
    select_boxes,
    bitcast,
)
