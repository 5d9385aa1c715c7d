"""Weighted sums of elements at places that tables name."""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np
from xdsl.ir import Operation

from glow.dialects.glow import SampleOp
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact
from glow.interpreter.scalar_functions import Function


def run_sample(op: GlowOp, x: Array, places: Array, weights: Array) -> Array:
    """`glow.sample`: one tap of all results after the other."""
    attributes = op.attributes_view()
    axis = attributes.int("axis")
    outer, extent, inner = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    count, taps = places.shape[-2:]
    source = exact(x).reshape(prod(outer), extent, prod(inner))
    if extent == 0:  # no place is inside, but `take_along_axis` wants an element
        source = np.zeros((prod(outer), 1, prod(inner)))
    tables = (prod(outer), count, taps)
    given = (prod(places.shape[:-2]), count, taps)
    places, weights = (
        np.broadcast_to(table.reshape(given), tables)
        for table in (places, weights.astype(np.float64))
    )
    inside = (places >= 0) & (places < extent)
    places = np.where(inside, places, 0)

    def product(tap: int) -> Array:
        found = np.take_along_axis(source, places[:, :, tap, None], axis=1)
        return weights[:, :, tap, None] * np.where(inside[:, :, tap, None], found, 0)

    fold = np.maximum if attributes.has("largest") else np.add
    total = reduce(fold, map(product, range(taps)))
    return total.reshape(*outer, count, *inner)


NODES: dict[type[Operation], Function] = {SampleOp: run_sample}
