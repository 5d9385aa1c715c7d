"""Products of rows with one of several matrices each, which indices name."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.backends.cpu.dialect.matmul import check_block_format
from glow.dialects.attributes import Attributes
from glow.dialects.glow.convolution import check_rank
from glow.dialects.glow.elementwise import is_integer
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type

WORD_BITS = 32


def check_named_rows(
    rows: TensorType[Attribute], indices: TensorType[Attribute]
) -> None:
    """Fail unless there is an index for each row."""
    fail_unless(
        is_integer(indices.element_type)
        and indices.get_shape() == rows.get_shape()[:1],
        f"there is an integer for each row of {rows}, not {indices}",
    )


@irdl_op_definition
class IndexedMatmulOp(NodeOp):
    """Products of rows with one of several constant matrices each, which indices name.

    input [M, K], weights [E, panels, K, width], indices [M] of integers -> [M, columns]: row m
    is that of the input times matrix `indices[m]`, the columns of which are those of its panels
    one after the other. Indices that are outside are as in `glow.gather`.

    %y = cpu.indexed_matmul %x, %w, %i columns 200 : tensor<256x200xf32>
    """

    name = "cpu.indexed_matmul"
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """A row of columns for each row of the input."""
        rows, weights, indices = operands
        columns = attributes.int("columns")
        check_rank(rows, 2, "the input")
        check_rank(weights, 4, "the weights")
        _, panels, depth, width = weights.get_shape()
        check_named_rows(rows, indices)
        fail_unless(
            rows.get_shape()[1] == depth
            and 0 <= panels * width - columns < max(width, 1),
            f"there is no product of {rows} and {columns} columns of {weights}",
        )
        shape = (rows.get_shape()[0], columns)
        return [tensor_type(shape, rows.element_type)]


@irdl_op_definition
class IndexedBlockMatmulOp(NodeOp):
    """`cpu.indexed_matmul` with weights of a few bits, which stay so in memory.

    input [M, K], weights i32 [E, panels, K / block_size, record, width], indices [M] of integers
    -> [M, columns]. A record is a scale, with `points` a zero point, and the words of codes.

    %y = cpu.indexed_block_matmul %x, %w, %i columns 200 bits 4 block_size 32 : tensor<256x200xf32>
    """

    name = "cpu.indexed_block_matmul"
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))
    bits = prop_def(IntegerAttr.constr(i64))
    block_size = prop_def(IntegerAttr.constr(i64))
    points = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """A row of columns for each row of the input."""
        rows, weights, indices = operands
        columns = attributes.int("columns")
        check_rank(rows, 2, "the input")
        check_rank(weights, 5, "the weights")
        check_block_format(weights, attributes)
        _, panels, blocks, record, width = weights.get_shape()
        check_named_rows(rows, indices)
        size = attributes.int("block_size")
        words = size * attributes.int("bits") // WORD_BITS
        fail_unless(
            blocks == -(-rows.get_shape()[1] // size)
            and record == 1 + attributes.has("points") + words
            and 0 <= panels * width - columns < max(width, 1),
            f"there is no product of {rows} and {columns} columns of {weights}",
        )
        return [tensor_type((rows.get_shape()[0], columns), rows.element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
