"""Bags of embeddings, which ONNX has no operator for: those of Caffe2 and of PyTorch.

`SparseLengthsSum` and `SparseLengthsWeightedSum` are Caffe2's, in the default domain, as Glow's
own loader takes them, and so are their forms for tables of fused rows: numbers of 8 or 4 bits,
and behind them the row's scale and bias, `value = number * scale + bias`. PyTorch writes `ATen`
nodes of the domain `org.pytorch.aten` with `operator="embedding_bag"` (`torch.onnx` with
operator_export_type=ONNX_ATEN_FALLBACK). A bag is a gather, and sums of its rows: so tables are
quantized by row as those of gathers are.

A bias is seldom a whole number of scales, which a zero point is. So a table of fused rows becomes
one that is quantized by row with zero point 0, which keeps its size, and a table of biases:
  %0 = glow.gather %table, %indices : tensor<9x64xf32>
  %1 = glow.gather %biases, %indices : tensor<9xf32>
  %2 = glow.reshape %1 : tensor<9x1xf32>
  %3 = glow.add %0, %2 : tensor<9x64xf32>
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, f32

from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    AddOp,
    ConcatOp,
    DivOp,
    GatherOp,
    LengthsMaxOp,
    LengthsSumOp,
    LessOp,
    MaxOp,
    MulOp,
    NotEqualOp,
    SelectOp,
    SliceOp,
    SubOp,
)
from glow.dialects.node import tensor_type
from glow.dialects.quant import Quantization
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.operators.quantization.quantized_types import quantized_tensor
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import aten_op, onnx_op

Bytes, Floats = npt.NDArray[np.uint8], npt.NDArray[np.float32]

SUM, MEAN, LARGEST = 0, 1, 2


def _rows(
    node: OnnxNode, table: Operand, indices: Operand, weights: Operand | None
) -> Operand:
    """The rows of a table [R, D] at indices [N], each times its weight."""
    refuse_if(len(shape(table)) == 0, "a table without rows")
    _check_indices(indices)
    rows = node.emit(GatherOp, table, indices, axis=0)
    return _weighted(node, rows, weights)


def _check_indices(indices: Operand) -> None:
    refuse_if(len(shape(indices)) != 1, "indices of more than one axis")
    integer = isinstance(element_type(indices), IntegerType)
    refuse_if(not integer, "indices that are no integers")


def _weighted(node: OnnxNode, rows: Operand, weights: Operand | None) -> Operand:
    """Rows [N, ...], each times its weight of [N]."""
    if weights is None:
        return rows
    refuse_if(shape(weights) != shape(rows)[:1], "weights that are not one an index")
    return node.emit(MulOp, rows, _beside(node, weights, rows))


def _beside(node: OnnxNode, numbers: Operand, rows: Operand) -> Operand:
    """Numbers [N] in a shape that broadcasts to rows [N, ...]."""
    ones = [1] * (len(shape(rows)) - 1)
    return node.reshape(numbers, (*shape(numbers), *ones))


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


@dataclass(frozen=True)
class FusedRows:
    """How a row lies in bytes: numbers of `bits`, the first one in the lower bits of a byte,
    then scale and bias as `parameter`, little endian.
    """

    bits: int
    parameter: str

    def split(self, table: Array) -> tuple[Bytes, Floats, Floats]:
        """The numbers [R, D], scales [R] and biases [R] of a table of bytes.

        Raises GlowError for rows that are no such bytes.
        """
        dtype = np.dtype(self.parameter)
        if table.dtype != np.uint8 or table.ndim != 2:
            raise GlowError(
                "a table of fused rows must be a matrix of uint8, not "
                f"{table.dtype} {list(table.shape)}"
            )
        width = table.shape[1] - 2 * dtype.itemsize
        if width < 1 or not len(table):
            raise GlowError(
                f"a table of fused rows must have rows of more than {2 * dtype.itemsize} "
                f"bytes, scale and bias, not {list(table.shape)}"
            )
        rows = table.astype(np.uint8, copy=False)
        pairs = np.ascontiguousarray(rows[:, width:]).view(dtype).astype(np.float32)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        numbers: Bytes = rows[:, :width, None] >> shifts & np.uint8(2**self.bits - 1)
        return numbers.reshape(len(table), -1), pairs[:, 0], pairs[:, 1]


BYTES, NIBBLES = FusedRows(8, "<f4"), FusedRows(4, "<f2")
FUSED_ROWS = {
    "SparseLengthsSumFused8BitRowwise": BYTES,
    "SparseLengthsWeightedSumFused8BitRowwise": BYTES,
    "SparseLengthsSumFused4BitRowwise": NIBBLES,
    "SparseLengthsWeightedSumFused4BitRowwise": NIBBLES,
}
"""The rows of Caffe2's operators. Its 4 bits are of an even number of columns always."""


def _of_fused_rows(node: OnnxNode, indices: Operand) -> Operand:
    """The values of the rows at indices [N] of a constant table of fused rows.

    Where a scale is 0, the row is its bias: so Caffe2 stores equal values in bytes.
    """
    _check_indices(indices)
    layout = FUSED_ROWS[node.proto.op_type]
    numbers, scales, biases = layout.split(node.constant(0, "a table of fused rows"))
    wrong = scales[~(np.isfinite(scales) & (scales >= 0))]
    if wrong.size:
        raise GlowError(f"scales of rows must be finite and at least 0, not {wrong[0]}")
    flat = scales == 0
    stored = Constant(np.where(flat[:, None], np.uint8(0), numbers), "rows")
    units = tuple(np.where(flat, np.float32(1), scales).tolist())
    data = Quantization(layout.bits, False, units, (0,) * len(units), 0)
    table = node.graph.quantized_constant(stored, quantized_tensor(numbers.shape, data))
    types = [tensor_type((*shape(indices), numbers.shape[1]), f32)]
    rows = node.emit(GatherOp, table, indices, types=types, axis=0)
    found = node.emit(GatherOp, Constant(biases, "biases"), indices, axis=0)
    return node.emit(AddOp, rows, _beside(node, found, rows))


@onnx_op("SparseLengthsSumFused8BitRowwise", "SparseLengthsSumFused4BitRowwise")
def sparse_lengths_sum_fused(node: OnnxNode) -> Value:
    """`SparseLengthsSum` of `DATA` [R, bytes] uint8, a table of fused rows."""
    rows = _of_fused_rows(node, node.value(1))
    return node.emit(LengthsSumOp, rows, node.value(2))


@onnx_op(
    "SparseLengthsWeightedSumFused8BitRowwise",
    "SparseLengthsWeightedSumFused4BitRowwise",
)
def sparse_lengths_weighted_sum_fused(node: OnnxNode) -> Value:
    """`SparseLengthsWeightedSum` of the same; inputs `DATA`, `WEIGHTS`, `INDICES`, `LENGTHS`."""
    rows = _weighted(node, _of_fused_rows(node, node.value(2)), node.value(1))
    return node.emit(LengthsSumOp, rows, node.value(3))


@aten_op("embedding_bag")
def embedding_bag(node: OnnxNode) -> Value:
    """Sums, means or largest elements (modes 0 to 2) of bags that start at offsets.

    Rows at the index `padding_idx`, unless that is negative, are of no bag. A bag without
    rows is zero. NaN wins over other elements; PyTorch defines no order of it.
    Source: `torch.nn.functional.embedding_bag`.
    """
    mode = node.attr_int("mode", SUM)
    refuse_if(mode not in (SUM, MEAN, LARGEST), f"mode {mode}")
    refuse_if(mode != SUM and node.has(3), "weights of what is no sum")
    node.refuse_outputs_from(1, "more than the bags")
    weights = node.value(3) if node.has(3) else None
    rows = _rows(node, node.value(0), node.value(1), weights)
    lengths = _lengths(node, node.value(2), shape(rows)[0])
    kept = _kept(node)
    if kept is not None:
        nothing = node.number(-np.inf if mode == LARGEST else 0.0, rows)
        rows = node.emit(SelectOp, _beside(node, kept, rows), rows, nothing)
    if mode == SUM:
        return node.emit(LengthsSumOp, rows, lengths)
    counts = node.convert(lengths, f32)
    if kept is not None:
        counts = node.emit(LengthsSumOp, node.convert(kept, f32), lengths)
    return (_mean if mode == MEAN else _largest)(node, rows, lengths, counts)


def _kept(node: OnnxNode) -> Operand | None:
    """Which of the indices [N] are not `padding_idx`; None where there is none."""
    padding, indices = node.attr_int("padding_idx", -1), node.value(1)
    if padding < 0:
        return None
    count = node.shape(0)[0]
    if padding >= count:
        raise GlowError(f"padding_idx {padding} is none of the {count} rows")
    return node.emit(NotEqualOp, indices, node.number(padding, indices))


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


def _mean(node: OnnxNode, rows: Operand, lengths: Operand, counts: Operand) -> Operand:
    """Sums over the number of their rows; an empty bag stays zero."""
    sums = node.emit(LengthsSumOp, rows, lengths)
    most = node.emit(MaxOp, counts, node.number(1.0, counts))
    return node.emit(DivOp, sums, _beside(node, most, sums))


def _largest(
    node: OnnxNode, rows: Operand, lengths: Operand, counts: Operand
) -> Operand:
    """The largest elements of bags; an empty bag is zero."""
    largest = node.emit(LengthsMaxOp, rows, lengths)
    zero = node.number(0.0, counts)
    filled = _beside(node, node.emit(LessOp, zero, counts), largest)
    return node.emit(SelectOp, filled, largest, zero)
