"""Handlers of non-linearities that are more than one plain node."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type

from glow.dialects.glow import (
    ClipOp,
    GeluOp,
    GeluTanhOp,
    LessOp,
    MaxOp,
    MinOp,
    MulOp,
    SelectOp,
)  # fmt: skip
from glow.frontends.onnx.node import Constant, OnnxNode, Value, element_type
from glow.frontends.onnx.registry import onnx_op


@onnx_op("Gelu")
def gelu(node: OnnxNode) -> Value:
    """GELU, exact or by tanh."""
    exact = node.attr_string("approximate", "none") == "none"
    return node.emit(GeluOp if exact else GeluTanhOp, node.value(0))


@onnx_op("PRelu")
def parametric_relu(node: OnnxNode) -> Value:
    """`x < 0 ? slope * x : x`."""
    value, slope = node.value(0), node.value(1)
    negative = node.emit(LessOp, value, node.number(0, value))
    return node.emit(SelectOp, negative, node.emit(MulOp, value, slope), value)


@onnx_op("Clip")
def clip(node: OnnxNode) -> Value:
    """One node where the bounds are known and exact, else a maximum and a minimum."""
    if node.opset < 11:
        low, high = node.attr_float("min", -inf), node.attr_float("max", inf)
        return node.emit(ClipOp, node.value(0), low=low, high=high)
    value = node.value(0)
    bounds = [node.value(i) if node.has(i) else None for i in (1, 2)]
    known = all(isinstance(bound, Constant | None) for bound in bounds)
    if known and isinstance(
        element_type(value), Float32Type | Float16Type | BFloat16Type
    ):
        low, high = (
            float(bound.array.item()) if isinstance(bound, Constant) else default
            for bound, default in zip(bounds, (-inf, inf), strict=True)
        )
        return node.emit(ClipOp, value, low=low, high=high)
    for bound, op_class in zip(bounds, (MaxOp, MinOp), strict=True):
        if bound is not None:
            value = node.emit(op_class, value, bound)
    return value
