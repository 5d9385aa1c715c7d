"""What is quantized at run time, and products of integers with computed zero points."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import GlowOp
from glow.dialects.quantized import parameters_of
from glow.interpreter import convolution
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import centred, wrapped
from glow.interpreter.scalar_functions import Function


def to_bytes(numbers: Array) -> Array:
    """Whole numbers as `ui8`, saturated; NaN becomes 0."""
    return np.fmin(np.fmax(numbers, np.float32(0)), np.float32(255)).astype(np.uint8)


def dynamic_parameters(x: Array, axes: int | None) -> tuple[Array, Array]:
    """Scale and `ui8` zero point of a tensor or of each row; the range includes 0."""
    keep = axes is not None
    low = np.minimum(x.min(axis=axes, keepdims=keep, initial=0), np.float32(0))
    high = np.maximum(x.max(axis=axes, keepdims=keep, initial=0), np.float32(0))
    span = (high - low).astype(np.float32)
    scale = np.where(span == 0, np.float32(1), span / np.float32(255))
    return scale.astype(np.float32), to_bytes(np.rint(-low / scale))


def quantize_dynamic(x: Array, axes: int | None) -> tuple[Array, Array, Array]:
    """Stored values, scale and zero point."""
    scale, zero_point = dynamic_parameters(x, axes)
    stored = to_bytes(np.rint(x / scale) + zero_point.astype(np.float32))
    return stored, scale, zero_point


def per_row_quantize(op: GlowOp, x: Array) -> tuple[Array, Array, Array]:
    """`cpu.per_row_quantize`."""
    stored, scale, zero_point = quantize_dynamic(x, -1)
    columns = op.attributes_view().int("columns")
    padded = np.zeros((*x.shape[:-1], columns), np.uint8)
    padded[..., : x.shape[-1]] = stored
    scale = np.where(np.isfinite(x).all(-1, keepdims=True), scale, np.float32("nan"))
    return padded, scale, zero_point


def row_range(op: GlowOp, x: Array) -> tuple[Array, Array]:
    """`cpu.row_range`."""
    zero = np.float32(0)
    low, high = (f(axis=-1, keepdims=True, initial=0) for f in (x.min, x.max))
    return np.minimum(low, zero), np.maximum(high, zero)


def run_dynamic_quantize(op: Operation, x: Array) -> tuple[Array, Array, Array]:
    """`glow.dynamic_quantize`."""
    return quantize_dynamic(x, None)


def run_dynamic_matmul(
    op: GlowOp, x: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.dynamic_matmul`."""
    by_row = op.attributes_view().string("granularity") == "row"
    stored, scale, zero_point = quantize_dynamic(
        x.astype(np.float32), -1 if by_row else None
    )
    data = parameters_of(op.operands[1].type)
    rows = stored.astype(np.float64) - zero_point.astype(np.float64)
    total = wrapped(rows @ centred(weights, data).astype(np.float64))
    units = scale * np.array(data.scales, np.float32)
    result = total.astype(np.float32) * units
    return result if bias is None else result + bias.astype(np.float32)


def less_zero_point(x: Array, zero_point: Array | None) -> Array:
    """Integers less a zero point that broadcasts, exactly."""
    wide = x.astype(np.float64)
    return wide if zero_point is None else wide - zero_point.astype(np.float64)


def run_matmul_integer(
    op: Operation, lhs: Array, rhs: Array, *zero_points: Array
) -> Array:
    """`glow.matmul_integer`."""
    left, right = zero_points or (None, None)
    if left is not None and left.ndim == 1 and left.size > 1:
        left = left[:, None]
    return wrapped(less_zero_point(lhs, left) @ less_zero_point(rhs, right))


def run_conv2d_integer(
    op: GlowOp, image: Array, weights: Array, *zero_points: Array
) -> Array:
    """`glow.conv2d_integer`."""
    of_image, of_weights = zero_points or (None, None)
    if of_weights is not None and of_weights.ndim == 1:
        of_weights = of_weights.reshape(-1, 1, 1, 1)
    attributes = op.attributes_view()
    total = convolution.convolve(
        attributes,
        less_zero_point(image, of_image),
        less_zero_point(weights, of_weights),
        None,
        attributes.int("group"),
    )
    return wrapped(total)


NODES: dict[type[Operation], Function] = {
    glow.DynamicQuantizeOp: run_dynamic_quantize,
    glow.DynamicMatmulOp: run_dynamic_matmul,
    glow.MatmulIntegerOp: run_matmul_integer,
    glow.Conv2dIntegerOp: run_conv2d_integer,
}
