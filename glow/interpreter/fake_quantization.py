"""Quantization in floats, step by step in the type that it is computed in."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array
from glow.interpreter.scalar_functions import Function


def run_fake_quantize(
    op: GlowOp, x: Array, scale: Array, zero_point: Array | None = None
) -> Array:
    """`glow.fake_quantize`; narrow floats are rounded as f32 ones, then to their type."""
    attributes = op.attributes_view()
    dtype = np.promote_types(x.dtype, np.float32)
    shape = [1] * x.ndim
    if attributes.has("axis"):
        shape[attributes.int("axis")] = -1
    scales = scale.astype(dtype).reshape(shape)
    points = np.zeros(1, dtype) if zero_point is None else zero_point.astype(dtype)
    points = np.rint(points).reshape(points.shape and shape)
    steps = np.rint(x.astype(dtype) / scales)
    low, high = attributes.int("low") - points, attributes.int("high") - points
    return np.minimum(np.maximum(steps, low), high) * scales


NODES: dict[type[Operation], Function] = {glow.FakeQuantizeOp: run_fake_quantize}
