"""Handlers of operators that ONNX had for trial before 1.5, which models of that time still hold.

ONNX has no definition of them any more; ONNX Runtime's are followed.
"""

from __future__ import annotations

import numpy as np

from glow.dialects.glow import SliceOp, SoftplusOp, TanhOp
from glow.dialects.node import fail_unless
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Value
from glow.frontends.onnx.registry import onnx_op


@onnx_op("Affine")
def affine(node: OnnxNode) -> Value:
    """alpha * x + beta."""
    x = Expression(node, node.value(0))
    return (x * node.attr_float("alpha", 1.0) + node.attr_float("beta", 0.0)).value


@onnx_op("Scale")
def scale(node: OnnxNode) -> Value:
    """x * scale."""
    x = Expression(node, node.value(0))
    return (x * node.attr_float("scale", 1.0)).value


@onnx_op("ScaledTanh")
def scaled_tanh(node: OnnxNode) -> Value:
    """alpha * tanh(beta * x)."""
    x = Expression(node, node.value(0)) * node.attr_float("beta", 1.0)
    return (x.apply(TanhOp) * node.attr_float("alpha", 1.0)).value


@onnx_op("ParametricSoftplus")
def parametric_softplus(node: OnnxNode) -> Value:
    """alpha * log(1 + exp(beta * x))."""
    x = Expression(node, node.value(0)) * node.attr_float("beta", 1.0)
    return (x.apply(SoftplusOp) * node.attr_float("alpha", 1.0)).value


@onnx_op("ImageScaler")
def image_scaler(node: OnnxNode) -> Value:
    """scale * x + bias, a bias for each channel of [N, C, H, W]."""
    x = Expression(node, node.value(0))
    bias = np.asarray(node.attr_floats("bias") or [0.0], np.float32)
    scaled = x * node.attr_float("scale", 1.0)
    return (scaled + x.constant(bias.reshape(-1, 1, 1))).value


@onnx_op("Crop")
def crop(node: OnnxNode) -> Value:
    """[N, C, H, W] without `border` (left, top, right, bottom), or a `scale` (height, width)."""
    x, border = Expression(node, node.value(0)), node.attr_ints("border") or []
    fail_unless(len(border) == 4, f"border needs 4 numbers, not {len(border)}")
    left, top, right, bottom = border
    *outer, height, width = x.shape
    sizes = node.attr_ints("scale") or [height - top - bottom, width - left - right]
    fail_unless(min(sizes) >= 0, f"border {border} leaves nothing of {list(x.shape)}")
    return x.apply(
        SliceOp,
        starts=[0, 0, top, left],
        sizes=[*outer, *sizes],
        steps=[1, 1, 1, 1],
    ).value
