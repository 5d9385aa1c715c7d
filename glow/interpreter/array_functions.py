"""Element-wise functions of arrays that NumPy does not have in one call.

They compute in their operands' type; those that round on the way are called with
float64 (see `scalar_functions.double`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from glow.interpreter.arrays import Array, DType, is_float, widen

erf = np.vectorize(math.erf, otypes=[np.float64], doc="Gauss error function (float64).")


def divide(lhs: Array, rhs: Array) -> Array:
    """`lhs / rhs`; integers round towards zero, and `x / 0` is 0."""
    if is_float(lhs):
        return np.divide(lhs, rhs)
    floor = np.floor_divide(lhs, rhs)
    inexact = np.not_equal(np.remainder(lhs, rhs), 0)
    return floor + (inexact & ((lhs < 0) != (rhs < 0))).astype(lhs.dtype)


def power(base: Array, exponent: Array) -> Array:
    """`base ** exponent`; integers to negative powers round towards zero."""
    if is_float(base):
        return np.power(widen(base), widen(exponent))
    odd = np.where(np.remainder(exponent, 2) == 0, base * base, base)
    inverse = np.where(np.abs(base) == 1, odd, 0)
    return np.where(exponent < 0, inverse, np.power(base, np.maximum(exponent, 0)))


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))`."""
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    """`log(1 + exp(x))` without overflow."""
    return np.logaddexp(x, 0)


def relu(x: Array) -> Array:
    """`max(x, 0)`; NaN stays NaN."""
    return np.maximum(x, np.zeros((), x.dtype))


def clip(x: Array, low: float, high: float) -> Array:
    """`min(max(x, low), high)`; NaN stays NaN, bounds of integers saturate."""
    if not is_float(x):
        info = np.iinfo(x.dtype)
        low, high = (
            int(min(max(bound, info.min), info.max)) if math.isfinite(bound) else limit
            for bound, limit in ((low, info.min), (high, info.max))
        )
    return np.minimum(
        np.maximum(x, np.asarray(low, x.dtype)), np.asarray(high, x.dtype)
    )


def leaky_relu(x: Array, alpha: float = 0.01) -> Array:
    """`x if x >= 0 else alpha * x`."""
    return np.where(x < 0, alpha * x, x)


def hard_swish(x: Array) -> Array:
    """`x * clip(x / 6 + 1/2, 0, 1)`."""
    return x * clip(x / 6 + 0.5, 0.0, 1.0)


def gelu(x: Array) -> Array:
    """`x / 2 * (1 + erf(x / sqrt 2))`."""
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x: Array) -> Array:
    """GELU's approximation by a hyperbolic tangent."""
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def elu(x: Array, alpha: float, gamma: float) -> Array:
    """`gamma * (x if x >= 0 else alpha * (exp(x) - 1))`."""
    return gamma * np.where(x < 0, alpha * np.expm1(x), x)


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


def rsqrt(x: Array) -> Array:
    """`1 / sqrt(x)`."""
    return 1 / np.sqrt(x)


def reciprocal(x: Array) -> Array:
    """`1 / x` in the element type."""
    return np.ones((), x.dtype) / x


def softsign(x: Array) -> Array:
    """`x / (1 + |x|)`."""
    return x / (1 + np.abs(x))


def mish(x: Array) -> Array:
    """`x * tanh(softplus(x))`."""
    return x * np.tanh(softplus(x))


def hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    """`clip(alpha * x + beta, 0, 1)`."""
    return clip(alpha * x + beta, 0.0, 1.0)


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
