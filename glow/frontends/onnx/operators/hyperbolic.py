"""Handlers of hyperbolic functions and their inverses (`glow.frontends.formulas.hyperbolic`)."""

from __future__ import annotations

from glow.frontends.formulas.hyperbolic import FORMULAS
from glow.frontends.onnx.node import OnnxNode, Value
from glow.frontends.onnx.registry import onnx_op


@onnx_op("Acosh", "Asinh", "Atanh", "Cosh", "Sinh")
def hyperbolic(node: OnnxNode) -> Value:
    """The formula of that name."""
    value = node.value(0)
    formula = FORMULAS[node.proto.op_type.lower()]
    return formula(node.emit, lambda number: node.number(number, value), value)
