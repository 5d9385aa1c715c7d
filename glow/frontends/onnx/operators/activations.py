"""Handlers of non-linearities."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type

from glow.dialects.glow import (
    ClipOp,
    EluOp,
    GeluOp,
    GeluTanhOp,
    HardSigmoidOp,
    HardSwishOp,
    LeakyReluOp,
    LessOp,
    MaxOp,
    MinOp,
    MishOp,
    MulOp,
    ReluOp,
    SelectOp,
    SigmoidOp,
    SoftplusOp,
    SoftsignOp,
    TanhOp,
)  # fmt: skip
from glow.dialects.node import NodeOp
from glow.frontends.onnx.node import Constant, OnnxNode, Value, element_type
from glow.frontends.onnx.registry import HANDLERS, Handler, onnx_op

SIMPLE: dict[str, type[NodeOp]] = {
    "HardSwish": HardSwishOp,
    "Mish": MishOp,
    "Relu": ReluOp,
    "Sigmoid": SigmoidOp,
    "Softplus": SoftplusOp,
    "Softsign": SoftsignOp,
    "Tanh": TanhOp,
}
"""Operators that are one node without attributes."""

PARAMETERS: dict[str, tuple[type[NodeOp], dict[str, float]]] = {
    "Elu": (EluOp, {"alpha": 1.0}),
    "HardSigmoid": (HardSigmoidOp, {"alpha": 0.2, "beta": 0.5}),
    "LeakyRelu": (LeakyReluOp, {"alpha": 0.01}),
    "Selu": (EluOp, {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232}),
}
"""Operators that are one node with float attributes; ONNX's defaults."""


def _simple(op_class: type[NodeOp]) -> Handler:
    return lambda node: node.emit(op_class, node.value(0))


def _with_parameters(op_class: type[NodeOp], defaults: dict[str, float]) -> Handler:
    def handler(node: OnnxNode) -> Value:
        attributes = {
            name: node.attr_float(name, default) for name, default in defaults.items()
        }
        return node.emit(op_class, node.value(0), types=None, **attributes)

    return handler


HANDLERS.update({name: _simple(op_class) for name, op_class in SIMPLE.items()})
HANDLERS.update({name: _with_parameters(*entry) for name, entry in PARAMETERS.items()})


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
