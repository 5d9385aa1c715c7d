"""What is padded of constants, which may depend on the padded size."""

from __future__ import annotations

from collections.abc import Mapping

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weights import Array, constant_value
from glow.passes.graph.padding.element_range import MODERATE, Range, range_of
from glow.passes.graph.padding.padded_value import (
    MarkedAxis,
    PaddedValue,
    marked_forms,
)
from glow.passes.graph.padding.placing import marked_axes

MAX_ELEMENTS = 1 << 20
"""Constants of no more elements are read; larger ones are weights of moderate size."""


def stored(op: glow.ConstantOp | glow.SplatOp) -> PaddedValue:
    """A constant; one that depends on the padded size has elements of it for a shorter one."""
    shape, axes = shape_of(op.result), marked_axes(op.attributes)
    padded = marked_forms(shape, axes)
    if isinstance(op, glow.SplatOp):
        same = Range(float(op.number), float(op.number))
        return PaddedValue(padded, same, dict.fromkeys(axes, same), same)
    table = None if is_quantized(op.result.type) else _small_value(op)
    if table is None:
        return PaddedValue(padded, MODERATE, dict.fromkeys(axes, MODERATE), MODERATE)
    whole = range_of(table)
    if any(mark.around for mark in axes.values()):
        return PaddedValue(padded, MODERATE, dict.fromkeys(axes, whole), whole)
    beyond = {axis: range_of(_beyond(table, axis, axes)) for axis in axes}
    return PaddedValue(padded, whole if not axes else MODERATE, beyond, whole)


def _small_value(op: glow.ConstantOp) -> Array | None:
    size = 1
    for each in shape_of(op.result):
        size *= each
    return constant_value(op.result) if size <= MAX_ELEMENTS else None


def _beyond(table: Array, axis: int, axes: Mapping[int, MarkedAxis]) -> Array:
    """What stands beyond the end of an axis and inside of others, at any length."""
    import numpy as np

    places = np.indices(table.shape, sparse=True)
    depths = {  # How many elements are between each and the padded end.
        one: places[one] if mark.at_front else table.shape[one] - 1 - places[one]
        for one, mark in axes.items()
    }
    inside = np.full((1,) * table.ndim, table.shape[axis] - 1)
    for one, depth in depths.items():
        inside = inside if one == axis else np.minimum(inside, depth)
    return table[np.broadcast_to(depths[axis] < inside, table.shape)]
