"""Handlers of hyperbolic functions and their inverses.

The formulas of textbooks overflow long before their results do, and cancel near zero.
These take half the argument or a logarithm first, and `log(1 + x)` through `softplus`:
results are finite wherever the function's value is, and exact to some units in the last
place near zero too.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from glow.dialects.glow import (
    AbsOp,
    AddOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    NegOp,
    ReciprocalOp,
    SignOp,
    SoftplusOp,
    SqrtOp,
    SubOp,
    TanhOp,
)  # fmt: skip
from glow.frontends.onnx.node import OnnxNode, Operand, Value
from glow.frontends.onnx.registry import onnx_op


def _half_square(node: OnnxNode, value: Operand) -> SSAValue:
    """`exp(2 * value) / 2`, which is finite where `exp(2 * value)` overflows."""
    power = node.emit(ExpOp, value)
    return node.emit(MulOp, power, node.emit(MulOp, power, node.number(0.5, value)))


@onnx_op("Cosh")
def cosh(node: OnnxNode) -> SSAValue:
    """`exp(x) / 2 + exp(-x) / 2`."""
    half = node.emit(MulOp, node.value(0), node.number(0.5, node.value(0)))
    falling = _half_square(node, node.emit(NegOp, half))
    return node.emit(AddOp, _half_square(node, half), falling)


@onnx_op("Sinh")
def sinh(node: OnnxNode) -> Value:
    """`tanh(x / 2) * (cosh(x) + 1)`."""
    value = node.value(0)
    half = node.emit(MulOp, value, node.number(0.5, value))
    factor = node.emit(AddOp, cosh(node), node.number(1, value))
    return node.emit(MulOp, node.emit(TanhOp, half), factor)


def _with_sign_of(node: OnnxNode, value: Operand, magnitude: SSAValue) -> SSAValue:
    return node.emit(MulOp, node.emit(SignOp, value), magnitude)


@onnx_op("Asinh")
def asinh(node: OnnxNode) -> Value:
    """`sign(x) * log(1 + u)`, u = |x| * (1 + 1 / (r + sqrt(1 + r * r))), r = 1 / |x|."""
    value = node.value(0)
    one, size = node.number(1, value), node.emit(AbsOp, value)
    inverse = node.emit(ReciprocalOp, size)
    square = node.emit(MulOp, inverse, inverse)
    root = node.emit(SqrtOp, node.emit(AddOp, square, one))
    share = node.emit(ReciprocalOp, node.emit(AddOp, inverse, root))
    factor = node.emit(LogOp, node.emit(AddOp, share, one))
    logarithm = node.emit(AddOp, node.emit(LogOp, size), factor)
    return _with_sign_of(node, value, node.emit(SoftplusOp, logarithm))


@onnx_op("Acosh")
def acosh(node: OnnxNode) -> Value:
    """`log(1 + u)`, u = sqrt(t) * (sqrt(t) + sqrt(t + 2)), t = x - 1."""
    value = node.value(0)
    above = node.emit(SubOp, value, node.number(1, value))
    root = node.emit(SqrtOp, above)
    other = node.emit(SqrtOp, node.emit(AddOp, above, node.number(2, value)))
    factor = node.emit(LogOp, node.emit(AddOp, root, other))
    logarithm = node.emit(AddOp, node.emit(LogOp, root), factor)
    return node.emit(SoftplusOp, logarithm)


@onnx_op("Atanh")
def atanh(node: OnnxNode) -> Value:
    """`sign(x) * log(1 + u) / 2`, u = 2 * |x| / (1 - |x|)."""
    value = node.value(0)
    size = node.emit(AbsOp, value)
    rest = node.emit(SubOp, node.number(1, value), size)
    ratio = node.emit(DivOp, node.emit(AddOp, size, size), rest)
    logarithm = node.emit(SoftplusOp, node.emit(LogOp, ratio))
    half = node.emit(MulOp, logarithm, node.number(0.5, value))
    return _with_sign_of(node, value, half)
