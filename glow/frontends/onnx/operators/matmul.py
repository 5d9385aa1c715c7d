"""Handlers of matrix products and determinants."""

from __future__ import annotations

from glow.dialects.glow import (
    GemmOp,
    LuOp,
    MatmulOp,
    MulOp,
    ReduceProdOp,
    SliceOp,
)
from glow.frontends.onnx.node import OnnxNode, Operand, Value, shape
from glow.frontends.onnx.registry import onnx_op


@onnx_op("MatMul")
def matmul(node: OnnxNode) -> Value:
    """A product; a vector is a matrix of one row (left) or one column (right)."""
    operands = node.value(0), node.value(1)
    product = node.emit(MatmulOp, *to_matrices(node, *operands))
    return from_matrices(node, product, *operands)


def to_matrices(node: OnnxNode, lhs: Operand, rhs: Operand) -> tuple[Operand, Operand]:
    """Both operands of a product with two axes or more."""
    if len(shape(lhs)) == 1:
        lhs = node.reshape(lhs, (1, *shape(lhs)))
    if len(shape(rhs)) == 1:
        rhs = node.reshape(rhs, (*shape(rhs), 1))
    return lhs, rhs


def from_matrices(
    node: OnnxNode, product: Operand, lhs: Operand, rhs: Operand
) -> Operand:
    """The product without the axes that its operands, vectors, did not have."""
    *batch, rows, columns = shape(product)
    rows_kept = [] if len(shape(lhs)) == 1 else [rows]
    columns_kept = [] if len(shape(rhs)) == 1 else [columns]
    return node.reshape(product, (*batch, *rows_kept, *columns_kept))


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


@onnx_op("Det")
def determinant(node: OnnxNode) -> Value:
    """The product of the diagonal of LU factors, with the sign of their swaps."""
    factors, sign = node.graph.add(LuOp, [node.value(0)]).results
    *batch, size, _ = node.shape(0)
    diagonal = node.emit(
        SliceOp,
        node.reshape(factors, (*batch, size * size)),
        starts=[0] * (len(batch) + 1),
        sizes=[*batch, size],
        steps=[*[1] * len(batch), size + 1],
    )
    product = node.emit(ReduceProdOp, diagonal, axes=[len(batch)])
    return node.emit(MulOp, product, sign)
