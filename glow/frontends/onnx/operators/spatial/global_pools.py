"""Handlers of pools whose window is all that a channel has."""

from __future__ import annotations

from glow.dialects.glow import (
    AbsOp,
    AvgPool2dOp,
    MaxPool2dOp,
    MulOp,
    Pool2dOp,
    PowOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceOp,
    ReduceSumOp,
    SqrtOp,
)
from glow.dialects.node import fail_unless
from glow.frontends.onnx.node import OnnxNode, Operand, Value
from glow.frontends.onnx.registry import onnx_op


def _global_pool(
    node: OnnxNode, op_class: type[Pool2dOp], reduction: type[ReduceOp]
) -> Value:
    """A pool whose window is the plane, which keeps blocked layouts; else a reduction."""
    rank = node.rank(0)
    if rank == 4:
        return node.emit(op_class, node.value(0), kernel=node.shape(0)[2:])
    return node.emit(reduction, node.value(0), axes=range(2, rank), keepdims=True)


@onnx_op("GlobalAveragePool")
def global_average_pool(node: OnnxNode) -> Value:
    """The mean of each channel."""
    return _global_pool(node, AvgPool2dOp, ReduceMeanOp)


@onnx_op("GlobalMaxPool")
def global_max_pool(node: OnnxNode) -> Value:
    """The largest element of each channel."""
    return _global_pool(node, MaxPool2dOp, ReduceMaxOp)


@onnx_op("GlobalLpPool")
def global_lp_pool(node: OnnxNode) -> Value:
    """The p-norm of each channel."""
    p = norm_of(node)
    terms = powers(node, node.value(0), p)
    axes = range(2, node.rank(0))
    return root(node, node.emit(ReduceSumOp, terms, axes=axes, keepdims=True), p)


def norm_of(node: OnnxNode) -> float:
    """The p of a p-norm, which opset 1 allows to be a fraction."""
    by_float = node.opset < WHOLE_NORMS
    p = node.attr_float("p", 2.0) if by_float else node.attr_int("p", 2)
    fail_unless(p > 0, f"p is {p}, not positive")
    return p


WHOLE_NORMS = 2


def powers(node: OnnxNode, value: Operand, p: float) -> Operand:
    """|x|^p."""
    if p == SQUARE:
        return node.emit(MulOp, value, value)
    size = node.emit(AbsOp, value)
    return size if p == 1 else node.emit(PowOp, size, node.number(p, value))


def root(node: OnnxNode, value: Operand, p: float) -> Operand:
    """x^(1 / p)."""
    if p == SQUARE:
        return node.emit(SqrtOp, value)
    return value if p == 1 else node.emit(PowOp, value, node.number(1 / p, value))


SQUARE = 2
