"""Handlers of matrix products."""

from __future__ import annotations

from glow.dialects.glow import GemmOp, MatmulOp
from glow.frontends.onnx.node import OnnxNode, Value, shape
from glow.frontends.onnx.registry import onnx_op


@onnx_op("MatMul")
def matmul(node: OnnxNode) -> Value:
    """A product; a vector is a matrix of one row (left) or one column (right)."""
    lhs, rhs = node.value(0), node.value(1)
    left_vector, right_vector = len(shape(lhs)) == 1, len(shape(rhs)) == 1
    if left_vector:
        lhs = node.reshape(lhs, (1, *shape(lhs)))
    if right_vector:
        rhs = node.reshape(rhs, (*shape(rhs), 1))
    result = node.emit(MatmulOp, lhs, rhs)
    *batch, rows, columns = shape(result)
    rows_kept = [] if left_vector else [rows]
    columns_kept = [] if right_vector else [columns]
    return node.reshape(result, (*batch, *rows_kept, *columns_kept))


@onnx_op("Gemm")
def gemm(node: OnnxNode) -> Value:
    """`alpha * A' x B' + beta * C`."""
    operands = [node.value(index) for index in range(3 if node.has(2) else 2)]
    return node.emit(
        GemmOp,
        *operands,
        alpha=node.attr_float("alpha", 1.0),
        beta=node.attr_float("beta", 1.0),
        transpose_lhs=bool(node.attr_int("transA", 0)),
        transpose_rhs=bool(node.attr_int("transB", 0)),
    )
