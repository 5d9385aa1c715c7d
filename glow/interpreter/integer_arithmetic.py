"""The arithmetic of quantized elements, bit for bit; `docs/quantization.md` in NumPy.

Every floating-point step is one IEEE operation in float32, rounded to nearest even and
never contracted, so that any CPU computes the same. Accumulators are 32-bit integers
modulo 2^32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from glow.dialects.quant import Quantization
from glow.dialects.quantized import storage_of
from glow.dialects.weight_table import dtype_of
from glow.interpreter.arrays import Array

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

FACTOR_BITS = 31
NARROW_BITS = 16
MAX_SHIFT = 62


def along_axis(values: Sequence[float] | Array, data: Quantization, rank: int) -> Array:
    """Parameters as an array that broadcasts against a tensor of the given rank."""
    shape = [1] * rank
    if data.axis is not None:
        shape[data.axis] = -1
    return np.asarray(values).reshape(shape)


def scales_of(data: Quantization, rank: int = 0) -> Floats:
    """The scales as float32; a scalar, or along the quantized axis."""
    return along_axis(data.scales, data, rank).astype(np.float32)


def zero_points_of(data: Quantization, rank: int = 0) -> Integers:
    """The zero points; a scalar, or along the quantized axis."""
    return along_axis(data.zero_points, data, rank).astype(np.int64)


def saturate(values: Array, zero_points: Array | int, data: Quantization) -> Array:
    """Whole numbers plus zero point, clamped to the stored range; NaN is the smallest.

    float32 holds all sums inside of the range of narrow types, and rounds none into it.
    """
    low, high = data.limits
    is_narrow = values.dtype == np.float32 and data.bits <= NARROW_BITS
    dtype = np.float32 if is_narrow else np.float64
    shifted = np.asarray(values, dtype)
    if np.any(zero_points):
        shifted = shifted + np.asarray(zero_points, dtype)
    shifted = np.asarray(np.fmax(shifted, dtype(low)))
    np.fmin(shifted, dtype(high), out=shifted)
    return shifted.astype(dtype_of(storage_of(data)))


def quantize(x: Array, data: Quantization) -> Array:
    """`saturate(round_half_even(x / scale) + zero_point)` (ONNX QuantizeLinear)."""
    return quantize_by(scales_of(data, x.ndim), zero_points_of(data, x.ndim), x, data)


def quantize_by(
    scales: Array, zero_points: Array, x: Array, data: Quantization
) -> Array:
    """The same of a part, by the scales and zero points that it has."""
    wide = data.bits > np.finfo(np.float32).nmant
    dtype = np.float64 if wide else np.float32
    scales = scales.astype(dtype)
    with np.errstate(over="ignore"):  # Infinities are saturated as all numbers are.
        quotients = np.asarray(x.astype(dtype, copy=False) / scales)
    return saturate(np.rint(quotients, out=quotients), zero_points, data)


def centred(stored: Array, data: Quantization) -> Integers:
    """The stored values less their zero points."""
    return stored.astype(np.int64) - zero_points_of(data, stored.ndim)


def dequantize(stored: Array, data: Quantization) -> Floats:
    """`(stored - zero_point) * scale` in float32."""
    return centred(stored, data).astype(np.float32) * scales_of(data, stored.ndim)


def wrapped(accumulators: Array) -> Array:
    """Sums modulo 2^32 as 32-bit integers."""
    return accumulators.astype(np.int64).astype(np.int32)


def scaled(accumulators: Array, multiplier: Array, fixed: bool) -> Array:
    """Integers times a float32 multiplier: unrounded, or by fixed-point arithmetic."""
    multiplier = np.asarray(multiplier, np.float32)
    if not fixed:
        return accumulators.astype(np.float32) * multiplier
    return shifted(accumulators, *fixed_points(multiplier))


def shifted(accumulators: Array, factor: Integers, shift: Integers) -> Integers:
    """Integers times a factor, shifted to the right, where halves are rounded up.

    TOSA 1.0 calls it `apply_scale_32` without double rounding.
    """
    half = np.int64(1) << (shift - 1)
    return (accumulators.astype(np.int64) * factor + half) >> shift


def fixed_points(multipliers: Array) -> tuple[Integers, Integers]:
    """The factor and the shift of each multiplier."""
    numbers = np.asarray(multipliers, np.float32)
    pairs = [fixed_point(float(number)) for number in numbers.reshape(-1)]
    factors, shifts = np.array(pairs, np.int64).T.reshape(2, *numbers.shape)
    return factors, shifts


def fixed_point(multiplier: float) -> tuple[int, int]:
    """`(factor, shift)`: x * multiplier is about (x * factor + 2^(shift-1)) >> shift.

    The factor has 31 bits, so its error is far below a step of the result (Glow's has 8,
    which costs a decibel); multipliers of 2^30 and more do not occur.
    """
    fraction, exponent = math.frexp(multiplier)
    factor, shift = round(fraction * (1 << FACTOR_BITS)), FACTOR_BITS - exponent
    if factor == 1 << FACTOR_BITS:
        factor, shift = factor // 2, shift - 1
    return (factor, shift) if 0 < shift <= MAX_SHIFT else (0, 1)
