"""What formats share about reductions and windows: where they begin, how far they reach."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute

from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import dtype_of


def neutral(name: str, element: Attribute) -> float:
    """The number that changes nothing where a reduction begins with it."""
    if name in ("add", "multiply"):
        return int(name == "multiply")
    dtype = dtype_of(element)
    if dtype.kind in "iu":
        info = np.iinfo(dtype.str)
        return info.min if name == "maximum" else info.max
    return -np.inf if name == "maximum" else np.inf


def reach_of(pool: NodeOp) -> list[int]:
    """How far the windows of a pool reach beyond its input, at the ends of both axes.

    With `ceil_mode` that is more than the padding; less than 0 is what no window reads.
    """
    view = pool.attributes_view()
    shape, result = shape_of(pool.operands[0]), shape_of(pool.results[0])
    kernel, strides = view.ints("kernel"), view.ints("strides")
    dilations, pads = view.ints("dilations"), view.ints("pads")
    return [
        (result[2 + axis] - 1) * strides[axis]
        + (kernel[axis] - 1) * dilations[axis]
        + 1
        - shape[2 + axis]
        - pads[axis]
        for axis in (0, 1)
    ]
