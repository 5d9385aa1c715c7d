"""Element-wise functions of arrays that are no node's, and NumPy does not have in one call.

They compute in their operands' type; those that round on the way are called with
float64 (see `scalar_functions.double`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glow.dialects.glow.activations import clip, hard_swish, leaky_relu, relu, sigmoid
from glow.interpreter.arrays import Array, DType, is_float, widen


def convert(x: Array, dtype: DType) -> Array:
    """The elements in another type: floats truncate and saturate, NaN becomes 0.

    Integers wrap; a conversion to `i1` tests for non-zero.
    """
    if dtype.kind not in "iu" or not is_float(x):
        return x.astype(dtype)
    info = np.iinfo(dtype)
    wide = np.trunc(np.nan_to_num(widen(x), nan=0.0, posinf=2.0**64, neginf=-(2.0**64)))
    # float64 cannot hold the largest 64-bit integers: saturate by comparison instead.
    inside = np.where((wide >= info.max) | (wide <= info.min), 0, wide).astype(dtype)
    return np.where(
        wide >= info.max, info.max, np.where(wide <= info.min, info.min, inside)
    )


def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """`a * b + c`; float64 holds the product of two float32 exactly, so it rounds once."""
    return a * b + c


def round_half_away(x: Array) -> Array:
    """The nearest integer, ties away from zero."""
    floor = np.floor(np.abs(x))
    return np.copysign(floor + (np.abs(x) - floor >= 0.5), x)


def ceil_divide(lhs: Array, rhs: Array) -> Array:
    """`lhs / rhs` rounded up; `x / 0` is 0."""
    floor = np.floor_divide(lhs, rhs)
    return floor + np.not_equal(np.remainder(lhs, rhs), 0).astype(lhs.dtype)


ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "relu": relu,
    "clip": clip,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "leaky_relu": leaky_relu,
    "hard_swish": hard_swish,
}
"""Activations that convolutions and matrix products absorb: `function(x, *args)`."""
