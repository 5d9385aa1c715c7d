"""Element-wise functions of arrays that are no node's, and NumPy does not have in one call.

They compute in their operands' type; those that round on the way are called with
float64 (see `scalar_functions.double`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import f8E8M0FNU

from glow.dialects.glow.activations import clip, hard_swish, leaky_relu, relu
from glow.dialects.glow.functions import sigmoid
from glow.dialects.small_types import SMALL_TYPES
from glow.dialects.weight_table import dtype_of
from glow.interpreter.arrays import Array, DType, is_float, widen

_WIDE = {
    name: np.dtype(np.float32 if name.startswith("float") else np.int32)
    for name in SMALL_TYPES
}
"""Dtypes of storage to those that conversions go through."""


def scales(x: Array, round_mode: str) -> Array:
    """float32 as powers of two from 2^-127 to 2^127; all that has none there is NaN."""
    fraction, exponent = np.frexp(x)  # The fraction is in [0.5, 1).
    limit = {"up": 0.5, "nearest": 0.75, "down": 1.0}[round_mode]
    rounds_up = fraction > limit if round_mode == "up" else fraction >= limit
    code = exponent - 1 + rounds_up + 127
    is_scale = (x >= np.float32(2.0**-127)) & np.isfinite(x)
    codes = np.where(is_scale, np.minimum(code, 0xFF), 0xFF).astype(np.uint8)
    return codes.view(dtype_of(f8E8M0FNU))


def convert(x: Array, dtype: DType, round_mode: str = "nearest") -> Array:
    """The elements in another type: floats truncate and saturate, NaN becomes 0.

    Integers wrap; a conversion to `i1` tests for non-zero. Types of storage are reached
    through float32 or int32; `round_mode` is that of conversions to powers of two.
    """
    if (wide := _WIDE.get(x.dtype.name)) is not None:
        return (
            x.astype(dtype)
            if dtype == x.dtype
            else convert(x.astype(wide), dtype, round_mode)
        )
    if (wide := _WIDE.get(dtype.name)) is not None:
        numbers = convert(x, wide)
        is_scale = dtype.name == "float8_e8m0fnu"
        return scales(numbers, round_mode) if is_scale else numbers.astype(dtype)
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
