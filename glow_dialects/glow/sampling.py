"""Reading between elements: resizing, grids of coordinates, regions of interest.

All are sums of a few elements with weights. Where the elements lie and what their weights are
is a table: a constant one for each axis that is resized, a computed one for coordinates that
the network computes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    IntegerAttr,
    TensorType,
    UnitAttr,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.dialects.attributes import Attributes
from glow.dialects.glow.normalization import check_axis, check_float
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


@irdl_op_definition
class SampleOp(NodeOp):
    """Weighted sums of elements along an axis.

    input [B..., S, I...] float, places and weights [P, K] -> [B..., P, I...]:

        result[b, p, i] = sum over k of weights[p, k] * input[b, places[p, k], i]

    With tables [B..., P, K] each b has its own. A place outside of the axis counts as an
    element 0. With `largest`, the result is the largest product instead of their sum.
    Places are `i32` or `i64`; weights are `f64` for an input of that, else `f32`.

    Source: the loops of ONNX Resize-19, GridSample-22, RoiAlign-22 and DeformConv-22.

        %y = glow.sample %x, %places, %weights axis 2 : tensor<1x8x16x4xf32>
    """

    name = "glow.sample"
    input = operand_def(TensorType)
    places = operand_def(TensorType)
    weights = operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    largest = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The number of places takes the place of the axis."""
        source, places, weights = operands
        check_float(cls, source)
        shape, table = source.get_shape(), places.get_shape()
        axis = check_axis(attributes.int("axis"), len(shape))
        fail_unless(
            places.element_type in (i32, i64),
            lambda: f"places must be i32 or i64, not {places}",
        )
        wanted = f64 if source.element_type == f64 else f32
        fail_unless(
            weights.element_type == wanted and weights.get_shape() == table,
            lambda: (
                f"weights must have elements {wanted} and the shape of the places "
                f"{places}, not {weights}"
            ),
        )
        fail_unless(
            len(table) == 2
            or (len(table) == axis + 2 and table[:axis] == shape[:axis]),
            lambda: (
                f"places {places} are neither a table nor one for each part of {source} "
                f"before axis {axis}"
            ),
        )
        result = (*shape[:axis], table[-2], *shape[axis + 1 :])
        fail_unless(
            table[-1] > 0, lambda: f"each result needs a place at least: {places}"
        )
        return [tensor_type(result, source.element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
