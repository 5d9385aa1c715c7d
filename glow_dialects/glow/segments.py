"""Nodes on bags: runs of rows that belong together, each as long as a number says."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, TensorType, f32
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


def wrong_lengths(rows: int) -> str:
    """The error for lengths that do not take the rows, each once."""
    return (
        f"the lengths of the bags are negative or do not add up to the {rows} rows "
        "(offsets must start at 0 and never decrease)"
    )


class BagsOp(NodeOp):
    """A reduction of consecutive rows: of embeddings with `glow.gather` before it.

    rows [N, ...] f32, lengths [M] integers -> [M, ...]: bag m has the `lengths[m]` rows behind
    those of the bags before it, in order. A negative length, and lengths that are not N in
    all, are an error of the call that computes them (`wrong_lengths`), and nothing outside of
    the rows is read.
    """

    rows = operand_def(TensorType)
    lengths = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """A row for each length."""
        rows, lengths = operands
        fail_unless(
            rows.element_type == f32 and rows.get_num_dims() > 0,
            f"rows must be f32 with at least one axis, not {rows}",
        )
        fail_unless(
            isinstance(lengths.element_type, IntegerType)
            and lengths.get_num_dims() == 1,
            f"lengths must be integers along one axis, not {lengths}",
        )
        count, *inner = rows.get_shape()
        (bags,) = lengths.get_shape()
        fail_unless(bags > 0 or count == 0, f"no bag takes the {count} rows")
        return [tensor_type((bags, *inner), f32)]


@irdl_op_definition
class LengthsSumOp(BagsOp):
    """Sums of bags (Glow's LengthsSum, in SparseLengthsSum and EmbeddingBag); empty ones are zero.

    %y = glow.lengths_sum %rows, %lengths : tensor<4x64xf32>
    """

    name = "glow.lengths_sum"


@irdl_op_definition
class LengthsMaxOp(BagsOp):
    """The largest elements of bags (PyTorch's EmbeddingBag); empty ones are -infinity, NaN wins.

    %y = glow.lengths_max %rows, %lengths : tensor<4x64xf32>
    """

    name = "glow.lengths_max"


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
