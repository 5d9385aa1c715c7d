"""Quantization of rows, and their ranges, while a network runs."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type

BYTE = IntegerType(8, Signedness.UNSIGNED)

LARGEST_INT8 = 127
"""What the largest number of a block becomes, with its sign."""


def _check_rows(rows: TensorType[Attribute]) -> None:
    is_rows = rows.element_type == f32 and rows.get_num_dims() > 0
    fail_unless(is_rows, f"the rows must be f32, not {rows}")


@irdl_op_definition
class PerRowQuantizeOp(NodeOp):
    """Stored values, scale and zero point of each row, as `glow.dynamic_matmul` takes them.

    input [..., K] f32 -> ([..., columns] ui8, [..., 1] f32, [..., 1] i32). The stored values
    beyond K are 0. A row with an infinity or NaN has the scale NaN, and zeros.

    %q, %s, %z = cpu.per_row_quantize %x columns 8 : tensor<9x8xui8>, tensor<9x1xf32>,
        tensor<9x1xi32>
    """

    name = "cpu.per_row_quantize"
    input = operand_def(TensorType)
    stored = result_def(TensorType)
    scale = result_def(TensorType)
    zero_point = result_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The types follow from the rows."""
        (rows,) = operands
        shape, columns = rows.get_shape(), attributes.int("columns")
        _check_rows(rows)
        fail_unless(
            columns >= shape[-1], f"{columns} columns do not hold rows of {shape[-1]}"
        )
        return [
            tensor_type((*shape[:-1], columns), BYTE),
            tensor_type((*shape[:-1], 1), f32),
            tensor_type((*shape[:-1], 1), i32),
        ]


@irdl_op_definition
class BlockQuantizeOp(NodeOp):
    """Bytes with a sign, a scale and the sum of the bytes for each block of a row.

    input [..., K] f32 -> ([..., K] i8, [..., B] f32, [..., B] f32), of B = ceil(K / block_size).
    A block's largest number is 127. One with an infinity or NaN has the scale NaN, and zeros.

    %q, %s, %t = cpu.block_quantize %x block_size 32 : tensor<9x64xi8>, tensor<9x2xf32>,
        tensor<9x2xf32>
    """

    name = "cpu.block_quantize"
    input = operand_def(TensorType)
    stored = result_def(TensorType)
    scales = result_def(TensorType)
    sums = result_def(TensorType)
    block_size = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The types follow from the rows."""
        (rows,) = operands
        shape, size = rows.get_shape(), attributes.int("block_size")
        _check_rows(rows)
        fail_unless(size > 0, f"blocks have at least one element, not {size}")
        blocks = tensor_type((*shape[:-1], -(-shape[-1] // size)), f32)
        return [tensor_type(shape, i8), blocks, blocks]


@irdl_op_definition
class RowRangeOp(NodeOp):
    """The range of each row, which includes 0.

    input [..., K] f32 -> ([..., 1], [..., 1]) f32: the smaller of 0 and the smallest element,
    the larger of 0 and the largest. Both are NaN where a row has one.

    %low, %high = cpu.row_range %x : tensor<9x1xf32>, tensor<9x1xf32>
    """

    name = "cpu.row_range"
    input = operand_def(TensorType)
    low = result_def(TensorType)
    high = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """One number of each row."""
        (rows,) = operands
        _check_rows(rows)
        return [tensor_type((*rows.get_shape()[:-1], 1), f32)] * 2


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
