"""Bags of embeddings, which ONNX has no operator for: those of Caffe2 and of PyTorch.

`SparseLengthsSum` and `SparseLengthsWeightedSum` are Caffe2's, in the default domain, as Glow's
own loader takes them. PyTorch writes `ATen` nodes of the domain `org.pytorch.aten` with
`operator="embedding_bag"` (`torch.onnx` with operator_export_type=ONNX_ATEN_FALLBACK). A bag is
a gather, and sums of its rows: so tables are quantized by row as those of gathers are.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32

from glow.dialects.glow import (
    ConcatOp,
    DivOp,
    GatherOp,
    LengthsSumOp,
    MaxOp,
    MulOp,
    SliceOp,
    SubOp,
)
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.registry import aten_op, onnx_op, refuse_if

SUM, MEAN = 0, 1


def _rows(
    node: OnnxNode, table: Operand, indices: Operand, weights: Operand | None
) -> Operand:
    """The rows of a table [R, D] at indices [N], each times its weight."""
    refuse_if(len(shape(table)) == 0, "a table without rows")
    refuse_if(len(shape(indices)) != 1, "indices of more than one axis")
    integer = isinstance(element_type(indices), IntegerType)
    refuse_if(not integer, "indices that are no integers")
    rows = node.emit(GatherOp, table, indices, axis=0)
    if weights is None:
        return rows
    refuse_if(shape(weights) != shape(indices), "weights that are not one an index")
    ones = [1] * (len(shape(rows)) - 1)
    return node.emit(MulOp, rows, node.reshape(weights, (*shape(weights), *ones)))


@onnx_op("SparseLengthsSum")
def sparse_lengths_sum(node: OnnxNode) -> Value:
    """Sums of the rows of `DATA` at `INDICES`, `LENGTHS[m]` of them for each m."""
    rows = _rows(node, node.value(0), node.value(1), None)
    return node.emit(LengthsSumOp, rows, node.value(2))


@onnx_op("SparseLengthsWeightedSum")
def sparse_lengths_weighted_sum(node: OnnxNode) -> Value:
    """The same of `DATA`, `WEIGHTS`, `INDICES` and `LENGTHS`, each row times its weight."""
    rows = _rows(node, node.value(0), node.value(2), node.value(1))
    return node.emit(LengthsSumOp, rows, node.value(3))


@aten_op("embedding_bag")
def embedding_bag(node: OnnxNode) -> Value:
    """Sums or means of bags that start at offsets (`torch.nn.functional.embedding_bag`)."""
    mode = node.attr_int("mode", SUM)
    refuse_if(mode not in (SUM, MEAN), "the largest element of a bag (mode 2)")
    refuse_if(node.attr_int("padding_idx", -1) != -1, "padding_idx")
    node.refuse_outputs_from(1, "more than the bags")
    weights = node.value(3) if node.has(3) else None
    rows = _rows(node, node.value(0), node.value(1), weights)
    lengths = _lengths(node, node.value(2), shape(rows)[0])
    sums = node.emit(LengthsSumOp, rows, lengths)
    return sums if mode == SUM else _mean(node, sums, lengths)


def _lengths(node: OnnxNode, offsets: Operand, count: int) -> Operand:
    """From one offset to the next, the last one to the end of the rows."""
    refuse_if(len(shape(offsets)) != 1, "offsets of more than one axis")
    (size,) = shape(offsets)
    last = bool(node.attr_int("include_last_offset", 0))
    refuse_if(size <= last, "no bag")
    if not last:
        end = np.array([count], dtype_of(element_type(offsets)))
        offsets = node.emit(ConcatOp, offsets, Constant(end, "end"), axis=0)
        size += 1
    starts, ends = (
        node.emit(SliceOp, offsets, starts=[k], sizes=[size - 1], steps=[1])
        for k in (0, 1)
    )
    return node.emit(SubOp, ends, starts)


def _mean(node: OnnxNode, sums: Operand, lengths: Operand) -> Operand:
    """Sums over the number of their rows; an empty bag stays zero."""
    counts = node.convert(lengths, f32)
    most = node.emit(MaxOp, counts, node.number(1.0, counts))
    ones = [1] * (len(shape(sums)) - 1)
    return node.emit(DivOp, sums, node.reshape(most, (*shape(most), *ones)))
