"""Rounds the weights of a convolution so that the errors of each kernel cancel.

The pixels under a kernel are much alike, so what its rounding adds to the result is their
common part times the sum of the errors. Rounding to the nearest leaves a sum of up to half
a step a tap; rounding the taps that are nearest to a tie the other way leaves at most half
a step a kernel. It needs no data and adds 1 dB and more on trained networks.

Source: Guo et al., SQuant (2022), the kernel-wise part.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glow.dialects.quant import Quantization
from glow.interpreter.integer_arithmetic import quantize

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.generic]


def round_kernels(weights: Array, data: Quantization) -> Array:
    """The stored integers of a convolution's [outputs, inputs, height, width]."""
    nearest = quantize(weights, data)
    rows = (*weights.shape[:2], -1)
    exact = weights.astype(np.float64) / _scales(data)
    stored = nearest.astype(np.float64).reshape(rows)
    balanced = balance_errors(exact.reshape(rows), stored, data.limits)
    return balanced.reshape(weights.shape).astype(nearest.dtype)


def _scales(data: Quantization) -> Floats:
    """The scales, to divide kernels by (axis 0, or one for the tensor)."""
    return np.array(data.scales).reshape(-1, 1, 1, 1)


def balance_errors(exact: Floats, stored: Floats, limits: tuple[int, int]) -> Floats:
    """Whole numbers whose sum along the last axis is that of the exact ones, rounded."""
    errors = stored - exact
    excess = errors.sum(axis=-1, keepdims=True)
    moved = stored - np.sign(excess)
    inside = (moved >= limits[0]) & (moved <= limits[1])
    eager = np.where(inside, errors * np.sign(excess), 0.0)
    order = np.argsort(-eager, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    return np.where((rank < np.rint(np.abs(excess))) & (eager > 0), moved, stored)
