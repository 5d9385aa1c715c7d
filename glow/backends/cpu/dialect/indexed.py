"""Products of rows with one of several matrices each, which indices name."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i64
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


class NamedMatricesOp(NodeOp):
    """Rows times matrices of some columns, in panels, which indices name."""

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def product(cls, operands: Types, columns: int, *, fits: bool) -> Types:
        """A row of columns for each row of the input, if weights fit and each row has an index."""
        rows, weights, indices = operands
        fail_unless(
            is_integer(indices.element_type)
            and indices.get_shape() == rows.get_shape()[:1],
            f"there is an integer for each row of {rows}, not {indices}",
        )
        _, panels, *_, width = weights.get_shape()
        fail_unless(
            fits and 0 <= panels * width - columns < max(width, 1),
            f"there is no product of {rows} and {columns} columns of {weights}",
        )
        return [tensor_type((rows.get_shape()[0], columns), rows.element_type)]


@irdl_op_definition
class IndexedMatmulOp(NamedMatricesOp):
    """Products of rows with one of several constant matrices each, which indices name.

    input [M, K], weights [E, panels, K, width], indices [M] of integers -> [M, columns]: row m
    is that of the input times matrix `indices[m]`, the columns of which are those of its panels
    one after the other. Indices that are outside are as in `glow.gather`.

    %y = cpu.indexed_matmul %x, %w, %i columns 200 : tensor<256x200xf32>
    """

    name = "cpu.indexed_matmul"

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """A row of columns for each row of the input."""
        rows, weights, _ = operands
        check_rank(rows, 2, "the input")
        check_rank(weights, 4, "the weights")
        fits = rows.get_shape()[1] == weights.get_shape()[2]
        return cls.product(operands, attributes.int("columns"), fits=fits)


@irdl_op_definition
class IndexedBlockMatmulOp(NamedMatricesOp):
    """`cpu.indexed_matmul` with weights of a few bits, which stay so in memory.

    input [M, K], weights i32 [E, panels, K / block_size, record, width], indices [M] of integers
    -> [M, columns]. A record is a scale, with `points` a zero point, and the words of codes.

    %y = cpu.indexed_block_matmul %x, %w, %i bits 4 block_size 32 columns 200 : tensor<256x200xf32>
    """

    name = "cpu.indexed_block_matmul"
    bits = prop_def(IntegerAttr.constr(i64))
    block_size = prop_def(IntegerAttr.constr(i64))
    points = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """A row of columns for each row of the input."""
        rows, weights, _ = operands
        check_rank(rows, 2, "the input")
        check_rank(weights, 5, "the weights")
        check_block_format(weights, attributes)
        size, (_, _, blocks, record, _) = (
            attributes.int("block_size"),
            weights.get_shape(),
        )
        words = size * attributes.int("bits") // WORD_BITS
        is_whole = blocks == -(-rows.get_shape()[1] // size)
        fits = is_whole and record == 1 + attributes.has("points") + words
        return cls.product(operands, attributes.int("columns"), fits=fits)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
