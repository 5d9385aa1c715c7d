"""Quantized convolutions and matmuls, as int8 kernels accumulate and store them."""

from __future__ import annotations

import numpy as np

from glow.dialects.attributes import Attributes
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array
from glow.interpreter.convolution import convolve

SIGN = 128
"""How much lower bytes are as signed ones."""


def lowered_by(attributes: Attributes) -> int:
    """How much lower than they are a node reads unsigned bytes."""
    return SIGN if attributes.has("signed_input") else 0


def convolve_bytes(
    attributes: Attributes, image: Array, weights: Array, bias: Array, group: int
) -> Array:
    """As `convolve`; the image is padded with the zero point."""
    point, lower = attributes.int("zero_point"), lowered_by(attributes)
    # Less the zero point the padding is zero, which gives each sum less this constant.
    constant = (point - lower) * weights.astype(np.int64).sum(axis=(1, 2, 3))
    less = image.astype(np.float64) - point
    return convolve(attributes, less, weights, constant + bias, group)


def run_requantize(op: GlowOp, numbers: Array, *operands: Array) -> Array:
    """`cpu.requantize`, which has a multiplier, a multiplier and an addend, or neither."""
    attributes, scaled = op.attributes_view(), numbers.astype(np.float32)
    scaled = scaled - np.float32(attributes.int("input_zero_point"))
    for step, operand in zip((np.multiply, np.add), operands, strict=False):
        scaled = step(scaled, operand)
    low, high = attributes.float("low"), attributes.float("high")
    whole = np.rint(np.clip(scaled, low, high))
    return np.nan_to_num(whole, nan=0.0) + attributes.int("zero_point")
