"""Examples of nodes of `glow_dialects/glow/indexing.py`, and what they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
from support.nodes.differential import EDGES, Array, Example, example, random_array

from glow.dialects import glow
from glow.dialects.node import NodeOp


def _indices(*sizes: int, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Positions in axes of those sizes, counted from the end as well."""
    parts = [
        random_array(shape, np.int64, seed + axis) % (2 * size) - size
        for axis, size in enumerate(sizes)
    ]
    return np.stack(parts, axis=-1)


def _gather_examples() -> Iterator[Example]:
    x = random_array((3, 4, 5))
    for sizes, shape in (
        ((3,), (6,)),
        ((3, 4), (2, 2)),
        ((3, 4, 5), (7,)),
        ((4,), (0,)),
    ):
        yield example(glow.GatherNDOp, x, _indices(*sizes, shape=shape))
    yield example(glow.GatherNDOp, x, _indices(4, shape=(3, 2)), batch_dims=1)
    yield example(
        glow.GatherNDOp, x, _indices(5, shape=(3, 4)).astype(np.int32), batch_dims=2
    )


def _scatter_examples() -> Iterator[Example]:
    x, rows = random_array((4, 3, 5)), _indices(4, 3, shape=(9,))
    updates = random_array((9, 5), seed=1)
    for reduction in ("none", "add", "mul", "max", "min"):
        yield example(
            glow.ScatterOp, x, rows, updates, coordinates=[-1, -2, 1],
            reduction=reduction,
        )  # fmt: skip
    for axis, shape in ((0, (9, 2, 5)), (1, (4, 7, 4)), (2, (1, 3, 1))):
        coordinates = [-1 if a == axis else a for a in range(3)]
        places = _indices(x.shape[axis], shape=shape)
        updates = random_array(shape, seed=2)
        for reduction in ("none", "add"):
            yield example(
                glow.ScatterOp, x, places, updates, coordinates=coordinates,
                reduction=reduction,
            )  # fmt: skip
    one = np.array([2]), np.array(0.5, np.float32)
    yield example(glow.ScatterOp, x[0, 0], *one, coordinates=[-1], reduction="add")
    flat = _indices(17, shape=(19,))
    for dtype in (np.float16, ml_dtypes.bfloat16, np.int8, np.uint64, np.bool_):
        data, given = (random_array((n,), dtype, n) for n in (17, 19))
        reduction = "none" if dtype is np.bool_ else "mul"
        yield example(
            glow.ScatterOp, data, flat, given, coordinates=[-1], reduction=reduction
        )
    yield example(
        glow.ScatterOp, EDGES[:17], flat, EDGES, coordinates=[-1], reduction="max"
    )


def _cumulative_examples() -> Iterator[Example]:
    for kind, dtype in (("sum", np.float32), ("prod", np.float32), ("sum", np.int8)):
        for shape, axis in (((7,), 0), ((3, 5), 1), ((2, 9, 37), 1)):
            yield example(
                glow.CumulativeOp, random_array(shape, dtype), kind=kind, axis=axis
            )
    x = random_array((4, 6))
    for settings in ({"exclusive": True}, {"reverse": True}):
        yield example(glow.CumulativeOp, x, kind="sum", axis=1, **settings)
    settings = {"exclusive": True, "reverse": True}
    yield example(glow.CumulativeOp, x, kind="prod", axis=0, **settings)
    wide = random_array((40, 3), ml_dtypes.bfloat16)
    yield example(glow.CumulativeOp, wide, kind="sum", axis=0)
    yield example(glow.CumulativeOp, random_array((0, 3)), kind="sum", axis=0)


def _top_k_examples() -> Iterator[Example]:
    for shape, k in (((1,), 1), ((2, 5), 5), ((3, 200), 3), ((2, 200), 90), ((4,), 0)):
        for smallest in (False, True):
            ties = random_array(shape, np.int64, k).astype(np.float32)
            yield example(glow.TopKOp, ties, k=k, smallest=smallest)
    edges = np.concatenate([EDGES, -EDGES, [-np.float32(np.nan)]]).astype(np.float32)
    for k in (1, 12, edges.size):
        yield example(glow.TopKOp, edges, k=k)
        yield example(glow.TopKOp, edges, k=k, smallest=True)
    for dtype in (
        np.float16,
        ml_dtypes.bfloat16,
        np.float64,
        np.int8,
        np.uint8,
        np.int64,
    ):
        x = random_array((2, 300), dtype)
        yield example(glow.TopKOp, x, k=4)
        yield example(glow.TopKOp, x, k=300, smallest=True)


def _selection_examples() -> Iterator[Example]:
    for extent in (0, 1, 50):
        yield example(glow.CompactOp, random_array((extent,), np.bool_))
    generator = np.random.default_rng(0)
    boxes = generator.random((2, 20, 4)).astype(np.float32)
    order = np.stack([generator.permutation(20) for _ in range(6)]).reshape(2, 3, 20)
    valid, threshold = generator.random((2, 3, 20)) < 0.8, np.array(0.2, np.float32)
    for limit, center in ((1, False), (5, True), (20, False)):
        yield example(
            glow.SelectBoxesOp, boxes, order, valid, threshold, limit=limit,
            center_point_box=center,
        )  # fmt: skip


def indexing_examples() -> Iterator[Example]:
    """All of them."""
    yield from _gather_examples()
    yield from _scatter_examples()
    yield from _cumulative_examples()
    yield from _top_k_examples()
    yield from _selection_examples()


STEPS: dict[str, Callable[[Array, Array], Array]] = {
    "none": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def scatter(example: Example) -> Array:
    """One update after the other."""
    data, indices, updates = example.inputs
    result, step = data.copy(), STEPS[example.attributes["reduction"]]
    for where in np.ndindex(updates.shape):
        index = indices[where[: indices.ndim - 1]]
        place = tuple(
            where[axis] if axis >= 0 else index[-1 - axis]
            for axis in example.attributes["coordinates"]
        )
        result[place] = step(result[place], updates[where])
    return result


def cumulative(example: Example) -> Array:
    """One element after the other, in double precision."""
    (x,), settings = example.inputs, example.attributes
    is_sum = settings["kind"] == "sum"
    wide = x if x.dtype.kind in "iu" else x.astype(np.float64)
    rows = list(np.moveaxis(wide, settings["axis"], 0))
    rows = rows[::-1] if settings.get("reverse") else rows
    total = np.full(
        np.delete(x.shape, settings["axis"]), 0 if is_sum else 1, wide.dtype
    )
    results: list[Array] = []
    for row in rows:
        new = total + row if is_sum else total * row
        results.append(total if settings.get("exclusive") else new)
        total = new
    results = results[::-1] if settings.get("reverse") else results
    return np.stack(results, settings["axis"]).astype(x.dtype) if results else x


def top_k(example: Example) -> list[Array]:
    """Python's sort by number and place."""
    (x,), k = example.inputs, example.attributes["k"]
    sign = 1 if example.attributes.get("smallest") else -1
    rows: list[list[int]] = []
    for row in x.reshape(-1, x.shape[-1]).astype(object):

        def key(place: int, row: Array = row) -> tuple[bool | int, float, int]:
            number = row[place]
            is_nan = number != number
            return sign * is_nan, 0 if is_nan else sign * number, place

        rows.append(sorted(range(len(row)), key=key)[:k])
    places = np.array(rows, np.int64).reshape(*x.shape[:-1], k)
    return [np.take_along_axis(x, places, -1), places]


def compact(example: Example) -> list[Array]:
    """The places that a loop finds."""
    (flags,) = example.inputs
    found = [place for place, flag in enumerate(flags) if flag]
    places = np.array(found + [0] * (len(flags) - len(found)), np.int64)
    return [places, np.array(len(found), np.int64)]


def shared_part(one: Array, other: Array) -> float:
    """The area that two boxes share, of that of both: corners, or center and size."""
    sides = [
        min(one[axis + 2], other[axis + 2]) - max(one[axis], other[axis])
        for axis in range(2)
    ]
    if min(sides) <= 0:
        return 0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    common = sides[0] * sides[1]
    return common / (sum(areas) - common)


def select_boxes(example: Example) -> list[Array]:
    """Candidate by candidate."""
    boxes, order, valid, threshold = example.inputs
    limit = example.attributes["limit"]
    if example.attributes["center_point_box"]:
        half = boxes[..., 2:] / 2
        ends = boxes[..., :2] - half, boxes[..., :2] + half
    else:
        pair = boxes[..., :2], boxes[..., 2:]
        ends = np.minimum(*pair), np.maximum(*pair)
    whole = np.concatenate(ends, axis=-1)
    selected = np.zeros((*order.shape[:2], limit), np.int64)
    count = np.zeros(order.shape[:2], np.int64)
    for where in np.ndindex(count.shape):
        kept: list[int] = []
        for place, counts in zip(order[where], valid[where], strict=True):
            box = whole[where[0], place]
            others = (shared_part(box, whole[where[0], k]) for k in kept)
            if counts and len(kept) < limit and all(x <= threshold for x in others):
                kept.append(int(place))
        selected[where][: len(kept)], count[where] = kept, len(kept)
    return [selected, count]


INDEXING: dict[type[NodeOp], Callable[[Example], Array | list[Array]]] = {
    glow.ScatterOp: scatter,
    glow.CumulativeOp: cumulative,
    glow.TopKOp: top_k,
    glow.CompactOp: compact,
    glow.SelectBoxesOp: select_boxes,
}
"""What nodes that are no operator of ONNX give."""
