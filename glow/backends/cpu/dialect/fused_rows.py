"""Sums over rows together with the element-wise work before, between and behind them.

%g = cpu.fused_rows %p, %d {
^bb0(%share: f32, %gradient: f32):
  %product = arith.mulf %share, %gradient : f32
  %sum = cpu.row_sum %product : f32
  %difference = arith.subf %gradient, %sum : f32
  %result = arith.mulf %difference, %share : f32
  glow.yield %result
} : tensor<8x6x128x128xf32>
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects.builtin import TensorType, f32
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from glow.dialects.attributes import Attributes
from glow.dialects.glow.fused import verify_scalar_region
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, shape_of

Shape = tuple[int, ...]


def rows_of_operand(shape: Shape, space: Shape) -> int | None:
    """How many rows an operand has, the last axis of which is that of the space or 1: the
    trailing ones of the space's, over and over. None for an operand that repeats otherwise.
    """
    kept = shape[next((k for k, size in enumerate(shape) if size != 1), len(shape)) :]
    if not kept or shape[-1] not in (1, space[-1]):
        return 1 if not kept else None
    outer = kept[:-1]
    if outer != space[len(space) - 1 - len(outer) : -1]:
        return None
    return prod(outer)


def space_of(shapes: Iterable[Shape]) -> Shape:
    """The shape that operands broadcast to: the largest, or that of most axes of those."""
    return max(shapes, key=lambda shape: (prod(shape), len(shape)))


@irdl_op_definition
class FusedRowsOp(NodeOp):
    """A scalar function of rows, in which `cpu.row_sum` stands for the sum over a row.

    Operands broadcast to the largest one, [..., N], and repeat at most as a whole along
    leading axes; they may have one number a row, [..., 1]. So may results.
    """

    name = "cpu.fused_rows"
    arguments = var_operand_def(TensorType)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """Every operand has rows of the space, and results have all of them."""
        shapes = [operand.get_shape() for operand in operands]
        fail_unless(bool(shapes), "there are no rows")
        space = space_of(shapes)
        for shape in shapes:
            fail_unless(
                rows_of_operand(shape, space) is not None,
                f"{list(shape)} are no rows of {list(space)}",
            )
        for result in results:
            fail_unless(
                result.get_shape() in (space, (*space[:-1], 1)),
                f"the result {result} must have all rows of {list(space)}",
            )

    @property
    def space(self) -> Shape:
        """The shape of all elements of the rows."""
        return space_of(map(shape_of, self.arguments))

    def verify_(self) -> None:
        """The region takes and yields the element types of operands and results."""
        super().verify_()
        verify_scalar_region(
            self.body.block,
            [operand.type for operand in self.inputs],
            self.result_types,
        )


@irdl_op_definition
class RowSumOp(IRDLOperation):
    """The sum over the row of what is computed for each of its elements."""

    name = "cpu.row_sum"
    value = operand_def(f32)
    result = result_def(f32)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
