"""Examples of nodes of `glow_dialects/glow/indexing.py`, and what they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
from differential import EDGES, Array, Example, example, random_array

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


def indexing_examples() -> Iterator[Example]:
    """All of them."""
    yield from _gather_examples()
    yield from _scatter_examples()


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


INDEXING: dict[type[NodeOp], Callable[[Example], Array]] = {glow.ScatterOp: scatter}
"""What nodes that are no operator of ONNX give."""
